"""Runs built by hand for tests: iterations of a few operations, committed to an archive as a reader's would be."""

from collections.abc import Mapping, Sequence
from typing import Any

from tests.building import DEFAULTS
from tracelode.collect.sink import Sink
from tracelode.mining.rank_run import Member
from tracelode.store import Archive, Facts, Source, Trace

__all__ = ["BODY", "LENGTH", "add", "after", "members", "operations"]

BODY = ("copy", "a", "nccl_all_reduce", "b", "c")
"""The operations of an iteration, in order."""
LENGTH: Mapping[str, int] = {"copy": 4, "a": 10, "nccl_all_reduce": 20, "b": 30, "c": 6}
"""The duration of each in ns; others take 10."""
GAP = 6
"""Idle time before each operation, in ns."""


def operations(
    iterations: int,
    body: Sequence[str] = BODY,
    length: Mapping[str, int] | None = None,
    gaps: Mapping[str, int] | None = None,
) -> dict[str, list[dict[str, Any]]]:
    """The tables of a process that does `body` so often; `copy` is a copy of 128 bytes to the device.

    `length` and `gaps` are the durations and the idle times before operations that are not as usual.
    """
    tables: dict[str, list[dict[str, Any]]] = {"kernel": [], "copy": [], "api": []}
    start = 1_000
    for at, name in enumerate([*body] * iterations):
        start += (gaps or {}).get(name, GAP)
        end = start + (length or {}).get(name, LENGTH.get(name, 10))
        row = {"start_ns": start, "end_ns": end, "correlation": at}
        tables["copy" if name == "copy" else "kernel"].append(
            row | ({"bytes": 128} if name == "copy" else {"name": name})
        )
        tables["api"].append({"start_ns": at, "end_ns": at + 1, "correlation": at})
        start = end
    return {name: rows for name, rows in tables.items() if rows}


def after(early: Mapping[str, list[dict[str, Any]]], later: Mapping[str, list[dict[str, Any]]]) -> dict[str, Any]:
    """The tables of a process that does what the one has first, and then what the other has."""
    work = [row for name, rows in early.items() if name != "api" for row in rows]
    moved = {name: max(row["end_ns"] for row in work) - 1_000 for name in later} | {"api": len(work)}
    rows = {
        name: [
            row
            | {key: row[key] + moved[name] for key in ("start_ns", "end_ns")}
            | {"correlation": row["correlation"] + len(work)}
            for row in own
        ]
        for name, own in later.items()
    }
    return {name: [*early[name], *own] for name, own in rows.items()}


def add(
    archive: Archive,
    name: str,
    tables: Mapping[str, list[dict[str, Any]]],
    *,
    facts: Facts | None = None,
    notes: Sequence[str] = (),
    device: str | None = "Made GPU",
) -> Trace:
    """Commits a trace, whose id is made of its name, as a run of that name; `notes` are kinds of remarks on it."""
    tables = dict(tables) | ({"device": [{"process": 1, "device": 0, "name": device}]} if device else {})
    with archive.stage() as staging:
        sink = Sink(staging)
        for table, rows in tables.items():
            full = [DEFAULTS.get(table, {}) | row for row in rows]
            columns = {column for row in full for column in row}
            sink.write(table, {column: [row.get(column) for row in full] for column in columns})
        for kind in notes:
            sink.note(kind, "made for a test")
        id = name.encode().hex().ljust(64, "0")[:64]
        source = Source(f"/data/{name}.json", 1, 1, "kineto", 1)
        return archive.commit(
            staging, id=id, source=source, facts=facts or Facts("kineto"), notes=sink.finish(), run=name
        )


def members(*traces: Trace) -> list[Member]:
    """The traces as the ranks of a run, in their order."""
    return [Member(trace, rank, "file") for rank, trace in enumerate(traces)]
