"""Chrome trace-event JSON (.json): for chrome://tracing, TensorBoard, HTA and others that read PyTorch's profiles."""

from collections.abc import Collection, Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

from ...collect.jsonrepair import loads, text_of
from ...store.trace import Trace
from ..export_file import opened

if TYPE_CHECKING:
    import duckdb

__all__ = ["FOLDER", "NEEDS", "SUFFIXES", "write"]

SUFFIXES = (".json", ".json.gz")
FOLDER = False
NEEDS: tuple[str, ...] = ()

BATCH = 1 << 15
"""Rows held at a time."""
GENERIC = "chrome-trace"
"""Traces of this format have no words of PyTorch's profiler: with them their spans would be read as others."""
LANES = "select track, name, process from track where kind = 'lane' and track is not null and name is not null"


def write(trace: Trace, path: Path, tables: Collection[str]) -> tuple[str, ...]:
    """Writes the events of one table after the other, each on a line."""
    import polars as pl

    from ...store.query import connect, damage_told
    from ..chrome_events import EVENTS, as_events

    wanted = [name for name in EVENTS if trace.has(name) and (not tables or name in tables)]
    words = f"category track {' '.join(wanted)}"  # views are made of the tables that these name
    with connect({trace.id: trace.files}, words) as connection, damage_told("export"), opened(path) as out:
        out.write(_head(trace).encode("utf-8", "replace"))
        lanes = {int(row[0]): str(row[1]) for row in _rows(connection, LANES)} if trace.has("track") else {}
        before = "\n"
        for name in wanted:
            for batch in connection.sql(f'from "{name}"').to_arrow_reader(BATCH):
                rows = pl.DataFrame(batch)
                if len(rows):
                    out.write((before + ",\n".join(as_events(name, rows, lanes))).encode("utf-8", "replace"))
                    before = ",\n"
        for event in _metadata(trace, connection):
            out.write((before + text_of(event)).encode("utf-8", "replace"))
            before = ",\n"
        out.write(b"\n]}\n")
    return ()


def _rows(connection: "duckdb.DuckDBPyConnection", query: str) -> list[tuple[Any, ...]]:
    return connection.execute(query).fetchall()


def _head(trace: Trace) -> str:
    """Everything before the first event: what the trace says of itself."""
    facts = trace.facts
    members: dict[str, Any] = {key: _value(text) for key, text in sorted(facts.labels.items())}
    if facts.format != GENERIC:
        members = {"schemaVersion": 1} | members
        if trace.has("device"):
            members["deviceProperties"] = list(_devices(trace))
    if facts.host and not any(key in members for key in ("host_name", "hostname", "host")):
        members["host_name"] = facts.host
    if trace.has("process") and "distributedInfo" not in members:
        ranks = trace.sql("select rank, world_size from process where rank is not null").rows()
        if len(ranks) == 1:
            members["distributedInfo"] = {"rank": ranks[0][0], "world_size": ranks[0][1]}
    if facts.base_unix_ns:
        members["baseTimeNanoseconds"] = facts.base_unix_ns
    members.pop("traceEvents", None)
    inner = text_of(members)[1:-1]
    return "{" + inner + ("," if inner else "") + '"traceEvents":['


def _value(text: str) -> Any:
    """A label's value as it stood in JSON: what is not JSON was a text."""
    try:
        return loads(text)
    except (ValueError, RecursionError):
        return text


def _devices(trace: Trace) -> Iterator[dict[str, Any]]:
    rows = trace.sql("select * from device order by process, device").to_dicts()
    seen: set[int] = set()
    for row in rows:
        if row["device"] in seen:
            continue
        seen.add(row["device"])
        device = {"id": row["device"], "name": row["name"] or ""}
        device |= {"totalGlobalMem": row["memory_bytes"]} if row["memory_bytes"] is not None else {}
        device |= {"numSms": row["compute_units"]} if row["compute_units"] is not None else {}
        major, dot, minor = (row["architecture"] or "").partition(".")
        if dot and major.isdecimal() and minor.isdecimal():
            device |= {"computeMajor": int(major), "computeMinor": int(minor)}
        yield device | (loads(row["args"]) if row["args"] else {})


def _metadata(trace: Trace, connection: "duckdb.DuckDBPyConnection") -> Iterator[dict[str, Any]]:
    """The names of processes, threads and streams."""
    if not trace.has("track"):
        return
    for process, track, name, kind, args in _rows(connection, "select process, track, name, kind, args from track"):
        said: dict[str, Any] = loads(args) if args else {}
        place = {"pid": said.pop("pid", process), "tid": 0 if track is None else track}
        what = {"thread": "thread_name", "stream": "thread_name", "process": "process_name"}.get(str(kind), str(kind))
        if kind != "lane" and not (kind == "stream" and "pid" not in str(args)):
            label = "labels" if what.endswith("_labels") else "name"
            yield {"ph": "M", "name": what, **place, "args": ({label: name} if name != kind else {}) | said}
