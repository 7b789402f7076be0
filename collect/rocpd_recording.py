"""One recording of a rocpd database: where and when its events were, in any version of the schema.

Version 3 writes process, thread, agent, queue and times into each event; from version 4 on the places stand in
`rocpd_track`, and in 4.0 the times in `rocpd_timestamp` (ROCm/rocm-systems, rocprofiler-sdk-rocpd/rocpd_tables.sql).
Which of them a file does is told by its columns, not by its version. A file merged from several holds several such
recordings, each with tables of its own suffix.
"""

import json
from typing import Any

import pyarrow as pa
import pyarrow.compute

from .amd_database import Lookup, Recording, told
from .database_columns import INT, TEXT, Rows
from .nsys_columns import dictionary
from .sink import Sink
from .sqlite import Database

__all__ = ["EVENT", "Node", "agent_number", "suffixes"]

pc: Any = pyarrow.compute  # its functions are made at import, so its types say nothing

METADATA = "rocpd_metadata"
NEEDED = frozenset(
    {
        *("rocpd_string", "rocpd_kernel_dispatch", "rocpd_memory_copy", "rocpd_region", "rocpd_event"),
        *("rocpd_info_kernel_symbol", "rocpd_info_process", "rocpd_info_agent", "rocpd_track", "rocpd_timestamp"),
    }
)
PLACES = ("pid", "tid", "agent_id", "queue_id", "stream_id")
EVENT = dict.fromkeys(
    ("track_id", "start", "end", "start_id", "end_id", "timestamp", "timestamp_id", "event_id", *PLACES), INT
)
"""Columns that say where and when, of which each version has some; read with every event."""

DETAILS = {
    **dict.fromkeys(("id", "category_id", "stack_id", "parent_stack_id", "correlation_id"), INT),
    **dict.fromkeys(("extdata", "call_stack", "line_info"), TEXT),
}
NOT_TOLD = frozenset({"id", "guid", "nid", "ppid"})
MESSAGE = ("message", "name")


def suffixes(tables: dict[str, Any]) -> list[str]:
    """The suffixes of the recordings in a database, by its tables: one per `rocpd_metadata` that has company."""
    found = sorted(name.removeprefix(METADATA) for name in tables if name.startswith(METADATA))
    company = ("rocpd_info_process", "rocpd_info_agent", "rocpd_info_kernel_symbol")
    return [suffix for suffix in found if any(base + suffix in tables for base in company)]


class Node(Recording):
    """The tables with one suffix.

    `processes` and `threads` map the ids of the file to the process we call it and to the thread of the operating
    system; `agents` are the rows of the processors by id; `busy` collects the pairs (process, device) of the events
    read, `active` their processes.
    """

    def __init__(self, database: Database, sink: Sink, suffix: str, others: list[str], taken: set[int]) -> None:
        longer = [other for other in others if len(other) > len(suffix)]
        every = sorted(database.tables.keys() | database.views)
        names = {
            name[: len(name) - len(suffix)]: name
            for name in every
            if name.startswith("rocpd_") and name.endswith(suffix) and not name.endswith(tuple(longer))
        }
        super().__init__(database, sink, names, NEEDED)
        self.busy: set[tuple[int, int]] = set()
        self.active: set[int] = set()
        self.processes: dict[int, int] = {}
        self.process_rows: dict[int, dict[str, Any]] = {}
        for row in self.rows("rocpd_info_process"):
            self._add_process(row, taken)
        for process, row in self.process_rows.items():  # tracks of schema 4 may give the pid itself
            self.processes.setdefault(row["pid"], process)
        self.threads = _numbers(self.rows("rocpd_info_thread"), "tid")
        self.agents = {row["id"]: row for row in self.rows("rocpd_info_agent") if isinstance(row.get("id"), int)}
        self._tracks = Lookup(self.whole("rocpd_track", dict.fromkeys(("id", "name_id", *PLACES), INT)))
        self._times = Lookup(self.whole("rocpd_timestamp", {"id": INT, "value": INT}))
        events = self.whole("rocpd_event", DETAILS)
        said = {name: told(events[name].combine_chunks()) for name in DETAILS if name not in ("id", "category_id")}
        self._events = Lookup(pa.table({"id": events["id"], "category_id": events["category_id"], **said}))
        self._categories = Lookup(self.whole("rocpd_info_category", {"id": INT, "name": TEXT}))

    def located(self, base: str, rows: Rows) -> Rows:
        """The rows with their places and times filled in from where the version of the schema keeps them."""
        columns = dict(rows.columns)
        for name in PLACES:
            columns[name] = pc.coalesce(rows[name], self._tracks.take(rows["track_id"], name))
        point = pc.coalesce(rows["timestamp"], self._times.take(rows["timestamp_id"], "value"))
        columns["start"] = pc.coalesce(rows["start"], self._times.take(rows["start_id"], "value"), point)
        columns["end"] = pc.coalesce(rows["end"], self._times.take(rows["end_id"], "value"), point)
        return self.timed(base, Rows(columns, rows.rest, rows.count))

    def on_thread(self, rows: Rows) -> dict[str, pa.Array]:
        """Process, thread, start and end of located rows."""
        return {
            "process": self.process(rows["pid"]),
            "thread": self.thread(rows["tid"]),
            "start_ns": rows["start"],
            "end_ns": rows["end"],
        }

    def thread(self, ids: pa.Array) -> pa.Array:
        """The threads of the operating system."""
        return _translated(ids, self.threads)

    def process(self, ids: pa.Array) -> pa.Array:
        """The processes of the ids; the only one of the recording where none is said."""
        processes = _translated(ids, self.processes)
        if processes.null_count:
            known = set(self.processes.values())
            if len(known) != 1:
                meaning = "records of no stated process: counted as process 0"
                self.sink.note("no-process", meaning, count=processes.null_count)
            processes = pc.fill_null(processes, next(iter(known)) if len(known) == 1 else 0)
        self.active.update(pc.unique(processes).to_pylist())
        return processes

    def device(self, ids: pa.Array) -> pa.Array:
        """The number of each agent among all processors of its node, as the profiler's own tools show it."""
        numbers = {id: agent_number(row) for id, row in self.agents.items()}
        return self.fitting(_translated(ids, numbers), "agent_id")

    def agent_type(self, ids: pa.Array) -> pa.Array:
        """GPU, CPU or NIC; null where the agent is not described."""
        types = {id: str(row.get("type")) for id, row in self.agents.items() if row.get("type")}
        encoded = ids.dictionary_encode()
        found = pa.array([types.get(id) for id in encoded.dictionary.to_pylist()], TEXT)
        return found.take(encoded.indices)

    def track_name(self, ids: pa.Array) -> pa.Array:
        """The names of the tracks, where they have one."""
        return self.text(self._tracks.take(ids, "name_id")).cast(TEXT)

    def correlation(self, rows: Rows) -> pa.Array:
        """The id a call and its device work share: `stack_id` (`correlation_id` is what the user pushed); 0 is none."""
        return self._events.take(rows["event_id"], "stack_id")

    def details(self, rows: Rows) -> dict[str, pa.Array]:
        """What else the events of the rows say, for `args`."""
        stack, parent = (self._events.take(rows["event_id"], name) for name in ("stack_id", "parent_stack_id"))
        said = {name: self._events.take(rows["event_id"], name) for name in ("extdata", "call_stack", "line_info")}
        return {
            "parent_correlation": pc.if_else(pc.fill_null(pc.equal(parent, stack), False), None, parent),
            "external_correlation": self._events.take(rows["event_id"], "correlation_id"),
            **{f"event_{name}": values for name, values in said.items()},
        }

    def category(self, rows: Rows) -> pa.DictionaryArray:
        """What kind of event it is to the profiler, such as HIP_RUNTIME_API_EXT."""
        ids = self._events.take(rows["event_id"], "category_id")
        if not len(self._categories):
            return self.text(ids)
        encoded = ids.dictionary_encode()
        return dictionary(encoded.indices, self._categories.take(encoded.dictionary, "name"))

    def message(self, rows: Rows) -> pa.Array:
        """The text a user gave a marker, which stands in the JSON of its event; null where there is none."""
        encoded = self._events.take(rows["event_id"], "extdata").dictionary_encode()
        found = pa.array([_message(text) for text in encoded.dictionary.to_pylist()], TEXT)
        return found.take(encoded.indices)

    def _add_process(self, row: dict[str, Any], taken: set[int]) -> None:
        id, pid = row.get("id"), row.get("pid")
        if not isinstance(id, int) or not isinstance(pid, int) or not 0 <= pid < 1 << 32:
            return
        process = pid
        while process in taken:  # another node's process has the same id: ends, since each step leaves a taken one
            process += 1 << 32
        if process != pid:
            meaning = "two processes share one process id: the second is renamed"
            self.sink.note("process-id", meaning, example=str(pid))
        taken.add(process)
        self.processes[id] = process
        self.process_rows[process] = row


def _numbers(rows: list[dict[str, Any]], column: str) -> dict[int, int]:
    numbers = ((row.get("id"), row.get(column)) for row in rows)
    return {id: value for id, value in numbers if isinstance(id, int) and isinstance(value, int)}


def agent_number(agent: dict[str, Any]) -> int:
    """The number of a processor among all of its node; its id in the file where that is not told."""
    index = agent.get("absolute_index")
    return index if isinstance(index, int) else agent["id"]


def _translated(ids: pa.Array, numbers: dict[int, int]) -> pa.Array:
    """The number of each id; one that is not described stands for itself: the profiler takes its own ids from them."""
    encoded = ids.dictionary_encode()
    return pa.array([numbers.get(id, id) for id in encoded.dictionary.to_pylist()], INT).take(encoded.indices)


def _message(text: str | None) -> str | None:
    try:
        said = json.loads(text or "null")
    except (ValueError, RecursionError):
        return None
    if not isinstance(said, dict):
        return None
    return next((value for name in MESSAGE if isinstance(value := said.get(name), str) and value), None)  # pyright: ignore[reportUnknownMemberType, reportUnknownVariableType] - JSON from outside
