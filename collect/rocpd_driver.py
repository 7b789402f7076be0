"""What AMD's kernel driver told of managed memory, from a rocpd database: regions whose category is one of KFD's.

rocprofv3 writes the members of a record into the JSON of its event, nested by their type; rocprofiler-systems writes
them as arguments of the region, agents as numbers of nodes. Both write a counter beside it, which says nothing more.
"""

import json
from collections.abc import Mapping
from typing import Any

import pyarrow as pa
import pyarrow.compute

from .amd_database import Lookup
from .database_columns import TEXT, Rows
from .kfd_records import Driver, is_of_driver
from .rocpd_recording import Node, agent_number
from .rocprof_rows import End, integer
from .rocprof_rows import Rows as Made

__all__ = ["BLOCK", "without_driver"]

pc: Any = pyarrow.compute  # its functions are made at import, so its types say nothing

BLOCK = "KFD"
"""The block of the counters that stand beside the records."""

TELLING = frozenset({"address", "start_address", "agent_id", "agent", "count"})
"""Members of which each record has one."""

AGENTS = ("src_agent", "dst_agent", "prefetch_agent", "preferred_agent")
DEEPEST = 6


def without_driver(node: Node, rows: Rows, passed: Lookup) -> Rows:
    """Writes what the kernel driver told; the other regions. `passed` holds the arguments of each event as JSON."""
    categories = node.category(rows)
    of_driver = [is_of_driver(name or "") for name in categories.dictionary.to_pylist()]
    if not any(of_driver):
        return rows
    mask = pc.fill_null(pa.array(of_driver).take(categories.indices), False)
    _write(node, rows.filter(mask), passed)
    return rows.filter(pc.invert(mask))


def _write(node: Node, rows: Rows, passed: Lookup) -> None:
    made = Made(node.sink)
    columns = {
        **node.on_thread(rows),
        "category": node.category(rows).cast(TEXT),
        "name": node.text(rows["name_id"]).cast(TEXT),
        "inner": passed.take(rows["event_id"], "text"),
        "extdata": node.details(rows)["event_extdata"],
    }
    gpus = {agent_number(row): row.get("type") == "GPU" for row in node.agents.values()}
    for row in pa.table(columns).to_pylist():  # rare rows, each of a form of its own
        process, kind, operation = row["process"], row["category"], row["name"] or ""
        record = {**_record(row["inner"]), **_record(row["extdata"])}
        record |= {name: record.pop(f"{name}_id") for name in AGENTS if f"{name}_id" in record}
        record |= {"start_timestamp": row["start_ns"], "end_timestamp": row["end_ns"]}

        def end(value: Any, process: int = process) -> End:
            number = integer(value)
            if number is None or number < 0:
                return End(None)
            if gpus.get(number):
                node.busy.add((process, number))
            return End(number, gpus.get(number))

        if not Driver(made, process, end).add(kind, operation, record):
            meaning = "records of a kind that tracelode does not know: kept in `other`"
            node.sink.note("unread-record", meaning, example=kind[:120])
            made.other(kind, record | {"name": operation}, row["start_ns"])
    made.finish()


def _record(text: str | None) -> Mapping[str, Any]:
    """The members of a record somewhere in the JSON; none where there are none."""
    try:
        found = json.loads(text or "null")
    except (ValueError, RecursionError):
        return {}
    for _ in range(DEEPEST):
        if not isinstance(found, dict) or TELLING & found.keys():
            break
        found = next((value for value in found.values() if isinstance(value, dict)), None)  # pyright: ignore[reportUnknownVariableType, reportUnknownMemberType] - JSON from outside
    return found if isinstance(found, dict) and TELLING & found.keys() else {}
