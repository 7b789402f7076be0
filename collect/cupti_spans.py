"""Activities of CUPTI that are not device work: managed memory, NVTX, the overhead of recording.

Moves of managed pages are rows of `migration` (kind UVM_HtoD, ...), not of `copy`: CUPTI gives them no stream.
"""

from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute

from .cupti_activities import Activities
from .database_columns import BINARY, INT, Rows
from .nsys_columns import arguments, as_json, filled, translated

__all__ = ["later", "read_managed", "read_markers", "read_overhead"]

pc: Any = pyarrow.compute  # its functions are made at import, so its types say nothing

MOVES = {1: "UVM_HtoD", 2: "UVM_DtoH", 8: "UVM_DtoD"}
FAULTS = {3: "cpu", 4: "gpu"}
ACTS = {5: "thrash", 6: "throttle", 7: "remote_map"}
FROM_DEVICE = (2, 4, 6)
"""Kinds of counters whose source is the device concerned: a move to the host, a fault of a GPU, throttling."""

THRASHING, THROTTLING = 5, 6
ACCESSES = {1: "read", 2: "write", 3: "atomic", 4: "prefetch"}
CAUSES = {1: "user", 2: "coherence", 3: "prefetch", 4: "eviction", 5: "access_counters"}
OVERHEADS = {
    1: "driver compiler",
    1 << 16: "CUPTI buffer flush",
    2 << 16: "CUPTI instrumentation",
    3 << 16: "CUPTI resource",
    4 << 16: "module loading",
    5 << 16: "lazy function loading",
    6 << 16: "command buffer full",
    7 << 16: "activity buffer request",
    8 << 16: "UVM activity init",
}
BEGINS, ENDS = 2, 4


def read_managed(activities: Activities) -> None:
    """Writes what the driver tells of managed memory: moves of pages, faults, thrashing, throttling, remote maps."""
    wanted = ("start", "end", "counterKind", "value", "address", "srcId", "dstId", "processId", "flags")
    left_out = frozenset({"streamId"})  # never valid
    for rows in activities.events("UNIFIED_MEMORY_COUNTER", dict.fromkeys(wanted, INT), left_out):
        _moves(activities, _of_kind(rows, MOVES), MOVES)
        _moves(activities, _of_kind(rows, ACTS), ACTS)
        _faults(activities, _of_kind(rows, FAULTS))
        unknown = rows.filter(pc.invert(pc.is_in(rows["counterKind"], pa.array([*MOVES, *ACTS, *FAULTS]))))
        if unknown.count:
            args = arguments({**unknown.columns, **unknown.rest})
            columns = {"process": unknown["processId"], "time_ns": unknown["start"], "json": filled(args, "{}")}
            activities.sink.write("other", {**columns, "kind": "UNIFIED_MEMORY_COUNTER"})


def _moves(activities: Activities, rows: Rows, kinds: dict[int, str]) -> None:
    if not rows.count:
        return
    throttled = pc.equal(rows["counterKind"], THROTTLING)
    activities.sink.write(
        "migration",
        {
            "process": pc.fill_null(rows["processId"], activities.main),
            "device": _device(activities, rows),
            "kind": translated(rows["counterKind"], kinds.get),
            "start_ns": rows["start"],
            "end_ns": later(rows),
            "address": rows["address"],
            "bytes": pc.if_else(throttled, None, rows["value"]),  # throttling gives its value no meaning
            "cause": translated(rows["flags"], CAUSES.get) if kinds is MOVES else None,
        },
    )


def _faults(activities: Activities, rows: Rows) -> None:
    """Faults: the value of one of a GPU counts pages, that of one of a processor is the program counter."""
    if not rows.count:
        return
    processor = translated(rows["counterKind"], FAULTS.get)
    on_device = pc.equal(rows["counterKind"], 4)
    activities.sink.write(
        "fault",
        {
            "process": pc.fill_null(rows["processId"], activities.main),
            "device": pc.if_else(on_device, _device(activities, rows), None),
            "processor": processor,
            "start_ns": rows["start"],
            "end_ns": later(rows),
            "address": rows["address"],
            "pages": pc.if_else(on_device, rows["value"], 1),
            "kind": translated(rows["flags"], ACCESSES.get),
            "args": arguments({**rows.rest, "program_counter": pc.if_else(on_device, None, rows["value"])}),
        },
    )


def read_overhead(activities: Activities) -> None:
    """Writes the time that recording itself took, as ranges."""
    wanted = dict.fromkeys(("start", "end", "overheadKind", "objectKind"), INT) | {"objectId": BINARY}
    for rows in activities.events("OVERHEAD", wanted):
        process, thread = activities.threads(rows)
        activities.sink.write(
            "range",
            {
                "process": process,
                "thread": thread,
                "start_ns": rows["start"],
                "end_ns": rows["end"],
                "name": translated(rows["overheadKind"], lambda kind: OVERHEADS.get(kind, f"overhead {kind}")),
                "kind": "overhead",
                "args": arguments(rows.rest),
            },
        )


def read_markers(activities: Activities) -> None:
    """Writes NVTX: instants as they are; a begin and the end of its id that comes next make a range.

    Ends without a begin are counted, not kept; a range that never ended has no end. Ids may be given again.
    """
    found = _marks(activities)
    if found is None:
        return
    found = found.take(pc.sort_indices(found, [("id", "ascending"), ("timestamp", "ascending")])).combine_chunks()
    flags, id = (pc.fill_null(found[name], 0).to_numpy() for name in ("flags", "id"))
    time: npt.NDArray[np.int64] = found["timestamp"].to_numpy()
    begins, ends = (flags & BEGINS) != 0, (flags & ENDS) != 0
    closed = np.append(begins[:-1] & ends[1:] & (id[1:] == id[:-1]), False)
    lone = ends & ~np.insert(closed[:-1], 0, False)
    if lone.any():
        activities.sink.note("lone-end", "ends of ranges that have no begin: left out", count=int(lone.sum()))
    row = np.flatnonzero(~ends)
    kept = found.take(pa.array(row))
    activities.sink.write(
        "range",
        {
            **{name: kept[name] for name in ("process", "thread", "name", "domain", "id")},
            "start_ns": time[row],
            "end_ns": pa.array(np.where(closed, np.append(time[1:], 0), time)[row], mask=(begins & ~closed)[row]),
            "kind": _kinds(begins[row]),
            "args": _about(activities, kept["id"]),
        },
    )


def _marks(activities: Activities) -> pa.Table | None:
    """All begins, ends and instants; None where there are none."""
    wanted = dict.fromkeys(("timestamp", "flags", "id", "objectKind", "name", "domain"), INT) | {"objectId": BINARY}
    found: list[pa.Table] = []
    for rows in activities.events("MARKER", wanted):
        process, thread = activities.threads(rows)
        texts = {name: activities.text(rows[name]) for name in ("name", "domain")}
        plain = {name: rows[name] for name in ("timestamp", "flags", "id")}
        found.append(pa.table({**plain, **texts, "process": process, "thread": thread}))
    return pa.concat_tables(found).unify_dictionaries() if found else None


def _kinds(begins: npt.NDArray[np.bool_]) -> pa.DictionaryArray:
    return pa.DictionaryArray.from_arrays(pa.array((~begins).astype(np.int32)), pa.array(["nvtx", "mark"]))


def _about(activities: Activities, ids: pa.ChunkedArray) -> pa.DictionaryArray | None:
    """What else was said of the ranges, by their ids."""
    data = {row.get("id"): row for row in activities.rows("MARKER_DATA")}
    if not data:
        return None

    def about(id: int) -> str | None:
        said = data.get(id, {})
        payload = said.get("payload") if said.get("payloadKind") else None
        return as_json({"category": said.get("category") or None, "payload": payload})

    return translated(ids.combine_chunks(), about)


def _of_kind(rows: Rows, kinds: dict[int, str]) -> Rows:
    return rows.filter(pc.fill_null(pc.is_in(rows["counterKind"], pa.array([*kinds])), False))


def _device(activities: Activities, rows: Rows) -> pa.Array:
    """The device concerned: where pages go, or the source of the kinds in `FROM_DEVICE`; none of thrashing.

    The devices that contend when pages thrash are a set of bits in the source, as CUPTI writes it.
    """
    source = pc.is_in(rows["counterKind"], pa.array(FROM_DEVICE))
    device = pc.if_else(source, rows["srcId"], rows["dstId"])
    fits = pc.and_(pc.greater_equal(device, 0), pc.less(device, 2**31))
    return pc.if_else(pc.and_(fits, pc.not_equal(rows["counterKind"], THRASHING)), device, None)


def later(rows: Rows) -> pa.Array:
    """The ends, null where they are none."""
    return pc.if_else(pc.less(rows["end"], rows["start"]), None, rows["end"])
