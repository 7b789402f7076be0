"""NVTX in an Nsight Systems export: ranges, marks, and the names given to domains, categories and threads."""

import re
from typing import Any

import pyarrow as pa
import pyarrow.compute

from .database_columns import BINARY, INT, REAL, TEXT, Rows
from .nsys_columns import arguments, combinations, dictionary, filled, nonzero
from .nsys_export import Export

__all__ = ["read_nvtx"]

pc: Any = pyarrow.compute  # its functions are made at import, so its types say nothing

NVTX = "NVTX_EVENTS"
CATEGORY, MARK, THREAD_NAME, DOMAIN, DOMAIN_END, FOREIGN_MARK = 33, 34, 39, 75, 76, 65
"""Event types that are no ranges (https://docs.nvidia.com/nsight-systems, SQLite schema reference)."""

NAMINGS = (CATEGORY, THREAD_NAME, DOMAIN, DOMAIN_END)
PAYLOADS = ("uint64Value", "int64Value", "uint32Value", "int32Value")
REAL_PAYLOADS = ("doubleValue", "floatValue")
NUMBERS = (
    *("start", "end", "eventType", "rangeId", "category", "globalTid", "endGlobalTid"),
    *("textId", "domainId", "jsonTextId"),
    *PAYLOADS,
)
COLUMNS = {
    **dict.fromkeys(NUMBERS, INT),
    **dict.fromkeys(REAL_PAYLOADS, REAL),
    "text": TEXT,
    "jsonText": TEXT,
    "binaryData": BINARY,
}
LEFT_OUT = frozenset({"color"})
RANKED = re.compile(r"MPI Rank (\d{1,9})")

Titles = dict[tuple[Any, ...], str]


def read_nvtx(export: Export) -> None:
    """Writes NVTX ranges and marks. A range that never ended is given the end of the recording, and counted.

    To be called last: only then is the end of the recording known.
    """
    namings = export.rows(NVTX, "eventType", NAMINGS)
    _write_thread_names(export, [row for row in namings if row["eventType"] == THREAD_NAME])
    domains = _titles(export, [row for row in namings if row["eventType"] == DOMAIN], ("domainId",))
    categories = _titles(export, [row for row in namings if row["eventType"] == CATEGORY], ("domainId", "category"))
    open_ranges: list[dict[str, pa.Array]] = []
    for rows in export.events(NVTX, COLUMNS, LEFT_OUT):
        naming = pc.is_in(rows["eventType"], pa.array(NAMINGS))
        found = _spans(export, rows.filter(pc.invert(naming)), domains, categories)
        never = pc.less(found["end_ns"], found["start_ns"])
        if pc.any(never).as_py():
            open_ranges.append({name: array.filter(never) for name, array in found.items()})
            found = {name: array.filter(pc.invert(never)) for name, array in found.items()}
        export.sink.write("range", found)
    for found in open_ranges:
        starts, example = found["start_ns"], found["name"][0].as_py()
        meaning = "ranges that never ended: given the end of the recording"
        export.sink.note("open-range", meaning, count=len(starts), example=example)
        export.sink.write("range", {**found, "end_ns": pc.max_element_wise(starts, export.last_ns)})


def _spans(export: Export, rows: Rows, domains: Titles, categories: Titles) -> dict[str, pa.Array]:
    """The rows as ranges; one that never ended ends before it starts (the oldest exports write its end as 0)."""
    mark = pc.fill_null(pc.is_in(rows["eventType"], pa.array([MARK, FOREIGN_MARK])), False)
    ends = pc.coalesce(rows["end"], pc.subtract(rows["start"], 1))
    columns = {
        **export.on_thread(rows, pc.if_else(mark, rows["start"], ends)),
        "name": filled(nonzero(rows["text"]), filled(export.text(rows["textId"]), "")),
        "kind": pc.if_else(mark, "mark", "nvtx"),
        "domain": _looked_up(rows, ("domainId",), domains),
        "id": rows["rangeId"],
        "args": _details(export, rows, categories),
    }
    return {name: array for name, array in columns.items() if array is not None}


def _write_thread_names(export: Export, rows: list[dict[str, Any]]) -> None:
    for row in rows:
        name, serial = _title(export, row), row.get("globalTid")
        if name and isinstance(serial, int):
            process = export.process_of(serial >> 24)
            export.sink.write(
                "track", {"process": [process], "track": serial & 0xFFFFFF, "name": name, "kind": "thread"}
            )
            if ranked := RANKED.fullmatch(name):
                export.ranks[process] = int(ranked[1])


def _titles(export: Export, rows: list[dict[str, Any]], keys: tuple[str, ...]) -> Titles:
    """The registered names by process and key."""
    found: Titles = {}
    for row in rows:
        name, serial = _title(export, row), row.get("globalTid")
        if name and isinstance(serial, int):
            found[(serial >> 24, *(row.get(key) for key in keys))] = name
    return found


def _title(export: Export, row: dict[str, Any]) -> str | None:
    text = row.get("text")
    return text if isinstance(text, str) and text else export.string(row.get("textId"))


def _looked_up(rows: Rows, keys: tuple[str, ...], titles: Titles) -> pa.Array | None:
    if not titles:
        return None
    indices, found = combinations([pc.shift_right(rows["globalTid"], 24), *(rows[key] for key in keys)])
    return dictionary(indices, pa.array([titles.get(one) for one in found], TEXT))


def _details(export: Export, rows: Rows, categories: Titles) -> pa.Array | None:
    """The payload and the rest of a range as JSON."""
    said: dict[str, pa.Array] = {name: nonzero(rows[name]) for name in (*PAYLOADS, *REAL_PAYLOADS)}
    named = _looked_up(rows, ("domainId", "category"), categories)
    numbers = nonzero(rows["category"]).cast(TEXT)
    said["category"] = numbers if named is None else filled(named, numbers)
    said["json"] = filled(nonzero(rows["jsonText"]), export.text(rows["jsonTextId"]).cast(TEXT))
    other = pc.not_equal(rows["endGlobalTid"], rows["globalTid"])
    said["end_thread"] = pc.if_else(other, export.thread(rows["endGlobalTid"]), None)
    said["binary"] = rows["binaryData"]
    return arguments(said | dict(rows.rest))
