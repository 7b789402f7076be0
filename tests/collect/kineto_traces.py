"""Kineto traces made for tests, and the rows that reading them gives."""

import json
from pathlib import Path
from typing import Any

from tracelode.collect.ingest import read
from tracelode.store import Archive, Trace


def read_bytes(folder: Path, content: bytes) -> Trace:
    """Reads a file of that content into a new archive."""
    folder.mkdir(exist_ok=True)
    path = folder / f"trace-{len(list(folder.iterdir()))}.json"
    path.write_bytes(content)
    return read(path, Archive(folder / f"{path.stem}.archive"))[0]


def read_events(folder: Path, *events: Any, **members: Any) -> Trace:
    """Reads a trace of those events, elements given as text being written as they are."""
    texts = [event if isinstance(event, str) else json.dumps(event) for event in events]
    around = json.dumps({"schemaVersion": 1, **members})
    return read_bytes(folder, f'{around[:-1]}, "traceEvents": [{", ".join(texts)}]}}'.encode())


def rows_of(trace: Trace, table: str) -> list[dict[str, Any]]:
    """The rows of a table (none when it is absent) without their nulls; JSON columns are loaded."""
    if not trace.has(table):
        return []
    rows = trace.arrow(table).to_pylist()
    for row in rows:
        row |= {key: json.loads(row[key]) for key in ("args", "shapes", "types", "json") if row.get(key) is not None}
    return [{key: value for key, value in row.items() if value is not None} for row in rows]


def notes_of(trace: Trace) -> dict[str, int]:
    """How often each kind of note was made, but for the linker's own."""
    return {note.kind: note.count for note in trace.notes if note.kind != "no-launch"}


def duration(cat: str, name: str, pid: Any, tid: Any, ts: Any, dur: Any, **args: Any) -> dict[str, Any]:
    """A duration event."""
    return {"ph": "X", "cat": cat, "name": name, "pid": pid, "tid": tid, "ts": ts, "dur": dur, "args": args}


HOST = duration("cuda_runtime", "cudaLaunchKernel", 10, 11, 105, 3, cbid=211, correlation=7)
"""A call, which makes 10 a process."""
