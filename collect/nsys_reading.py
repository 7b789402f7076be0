"""The whole of an Nsight Systems export, from whatever holds its tables into a sink."""

import re
from typing import Any

from ..store.trace import Facts
from .nsys_calls import read_calls, read_spans
from .nsys_columns import as_json
from .nsys_export import Export
from .nsys_identity import facts, write_identities, write_warnings
from .nsys_memory import read_memory
from .nsys_nvtx import read_nvtx
from .nsys_source import Source
from .nsys_work import read_work
from .sink import Sink

__all__ = ["read_export"]

BULK = re.compile(
    r"SCHED_EVENTS|COMPOSITE_EVENTS|\w+_CALLCHAINS|GENERIC_EVENTS?(_\w+)?|FTRACE\w*|NIC_\w+|(\w+_)?METRICS"
)
DESCRIPTIONS = re.compile(
    r"ENUM_\w+|TARGET_INFO_\w+|META_DATA_\w+|EXPORT_META_DATA|ANALYSIS_\w+|\w*_ENV(IRONMENT)?\w*"
    r"|ProcessStreams|UnwindMethodType|sqlite_\w+"
)
"""Tables that describe the recording: read elsewhere, or holding the program's environment and output, never copied."""

MOST_OTHER_ROWS = 10_000
WORK = frozenset({"start", "end", "deviceId", "streamId"})
"""Columns that the tables of device work have."""

CORE = tuple(f"CUPTI_ACTIVITY_KIND_{kind}" for kind in ("KERNEL", "MEMCPY", "MEMSET", "RUNTIME"))


def read_export(source: Source, sink: Sink, form: str) -> Facts:
    """Hands every event to the sink and returns the facts; `UnreadableFile` where a table that matters is damaged."""
    export = Export(source, sink)
    read_calls(export)
    read_work(export)
    read_memory(export)
    read_spans(export)
    read_nvtx(export)
    found = facts(export, form)
    write_identities(export, found.host)
    write_warnings(export)
    _tell_empty(export)
    _write_others(export)
    source.report(sink.note)
    return found


def _tell_empty(export: Export) -> None:
    """Says which of the main tables the export has but left empty: recorded, yet nothing there."""
    empty = [base for base in CORE if base in export.names() and export.table(base) is None]
    if empty:
        export.sink.note(
            "empty-table",
            "the export has the table but no row in it: nothing of that kind happened, or it was not recorded",
            count=len(empty),
            example=", ".join(empty),
        )


def _write_others(export: Export) -> None:
    """Copies what no table holds as JSON while it is little, and counts the rest."""
    counted: dict[str, int] = {}
    room = MOST_OTHER_ROWS
    for base in export.names():
        if base in export.read or DESCRIPTIONS.fullmatch(base) or (table := export.table(base)) is None:
            continue
        rows = export.source.count(table)
        if BULK.fullmatch(base) or rows > room:
            counted[table] = rows
            continue
        room -= rows
        found = [_resolved(export, row) for row in export.source.rows(table)]
        times = [next((row[n] for n in ("start", "timestamp") if isinstance(row.get(n), int)), None) for row in found]
        if export.layout(base) >= WORK:
            meaning = "tables of device work that are called as none that is known: in `other`, in no count or time"
            export.sink.note("unknown-work", meaning, count=rows, example=base)
        export.sink.write("other", {"time_ns": times, "kind": base, "json": [as_json(row) or "{}" for row in found]})
    if counted:
        export.sink.note(
            "unread-table",
            "tables of the export that no table here holds: their rows are counted, not copied",
            count=sum(counted.values()),
            example=", ".join(f"{table} {rows:,}" for table, rows in sorted(counted.items())),
        )


def _resolved(export: Export, row: dict[str, Any]) -> dict[str, Any]:
    """The row with its names as text."""
    return {n: export.string(v) if n in ("nameId", "textId") and isinstance(v, int) else v for n, v in row.items()}
