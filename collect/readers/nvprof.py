"""nvprof and Visual Profiler databases (SQLite: nvprof -o, .nvvp, .nvprof), from CUDA 7 to 12.

What is not copied row by row, only counted in a note: samples and source-level results, code of modules, and tables
of other kinds where those hold more than 10,000 rows together.
"""

import re
from typing import Any

from ...store.trace import Facts
from ..cupti_work import read_calls, read_work
from ..files import TraceFile
from ..nsys_columns import as_json
from ..nvprof_database import NEEDED, PREFIX, STRINGS, Activities
from ..nvprof_identity import facts, name_main, write_identities
from ..nvprof_spans import read_spans
from ..sink import Sink
from ..sqlite import open_database, schema

__all__ = ["VERSION", "read", "recognises"]

VERSION = 2

BULK = re.compile(
    r"MODULE|FUNCTION|SOURCE_LOCATOR|PC_SAMPLING\w*|INSTRUCTION_\w+|BRANCH|GLOBAL_ACCESS|SHARED_ACCESS|SOURCE_\w+"
)
DESCRIPTIONS = frozenset({"CONTEXT", "DEVICE_ATTRIBUTE", "PCIE", "NVLINK"})
"""Tables that describe the machine: not read."""

MOST_OTHER_ROWS = 10_000


def recognises(file: TraceFile) -> bool:
    """Whether the content is of this format, by its tables. Raises as `open_database` does."""
    tables = schema(file) or {}
    return any(name.startswith(PREFIX) and "_id_" in columns for name, columns in tables.items()) and (
        "_id_" in tables.get(STRINGS, {})
    )


def read(file: TraceFile, sink: Sink) -> Facts:
    """Hands every event to the sink and returns the facts; `UnreadableFile` for a damaged database."""
    if not file.packing:
        file.digest()
    with open_database(file, NEEDED) as database:
        activities = Activities(database, sink)
        read_calls(activities)
        name_main(activities)
        read_work(activities)
        read_spans(activities)
        write_identities(activities)
        _write_others(activities)
        database.report(sink.note)
        return facts(activities)


def _write_others(activities: Activities) -> None:
    """Copies what no table holds as JSON while it is little, and counts the rest."""
    counted: dict[str, int] = {}
    room = MOST_OTHER_ROWS
    for kind in activities.kinds():
        table = PREFIX + kind
        if kind in activities.read or kind in DESCRIPTIONS or not activities.holds(table):
            continue
        rows = activities.database.count(table)
        if BULK.fullmatch(kind) or rows > room:
            counted[table] = rows
            continue
        room -= rows
        found = [_resolved(activities, row) for row in activities.rows(kind)]
        times = [next((row[n] for n in ("start", "timestamp") if isinstance(row.get(n), int)), None) for row in found]
        texts = [as_json(row) or "{}" for row in found]
        activities.sink.write("other", {"process": activities.main, "time_ns": times, "kind": kind, "json": texts})
    if counted:
        activities.sink.note(
            "unread-table",
            "tables that no table here holds: their rows are counted, not copied",
            count=sum(counted.values()),
            example=", ".join(f"{table} {rows:,}" for table, rows in sorted(counted.items())),
        )


def _resolved(activities: Activities, row: dict[str, Any]) -> dict[str, Any]:
    """The row with its name as text."""
    name = row.get("name")
    return row | {"name": activities.string(name)} if isinstance(name, int) else row
