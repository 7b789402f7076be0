"""rocprof (the first; AMD): results.json, results.csv and results.db with their events, and the statistics beside them.

Times are nanoseconds of the system's clock. A device has the number of its node, which counts the processors too. The
JSON links calls to device work only by arrows, the others not at all, so no call is named as the cause of a kernel.
Work sizes are products over the axes: they stay in `args`. Statistics are sums, not events: they go to `other`.
"""

import re
from collections.abc import Iterable, Iterator, Mapping
from typing import Any

from ...store.errors import UnreadableFile
from ...store.trace import Facts
from ..chrome_heads import METADATA, SPAN
from ..files import TraceFile
from ..rocprof_csv import header_of, read_table
from ..rocprof_elements import Timeline
from ..rocprof_rows import Rows, arguments, copy_kind, integer, label, nanoseconds, text
from ..sink import Sink
from ..sqlite import MAGIC, Database, open_database, schema

__all__ = ["VERSION", "read", "recognises"]

VERSION = 3

LANE_NAME = (
    rb'\{\s*"args"\s*:\s*\{\s*"name"\s*:\s*"[^"]*"\s*\}\s*,\s*"ph"\s*:\s*"M"\s*,\s*"pid"\s*:\s*\d+\s*,'
    rb'\s*"name"\s*:\s*"process_name"\s*,\s*"sort_index"\s*:'
)
JSON = re.compile(rb'\s*(\{\s*"traceEvents"\s*:\s*\[\s*\{\s*\}\s*)?,\s*' + LANE_NAME)
KERNELS = frozenset({"Index", "KernelName", "gpu-id", "queue-id"})
STATISTICS = ("Name", "Calls", "TotalDurationNs", "AverageNs", "Percentage")
LANE = re.compile(r"(GPU Barriers|GPU)\s*([0-9]{1,9})")
AGENT = re.compile(r"Agent(\d+)\.(.+)", re.DOTALL)
POOL = "PoolInfo.Pool1.Size"
TIMED = frozenset({"BeginNs", "EndNs", "DurationNs", "Name", "pid", "tid", "dev-id", "queue-id"})
LANES = {0: "ROCTX", 1: "COPY", 2: "HIP", 3: "OPS", 4: "HSA", 5: "KFD"}
"""The tables of the database that hold events, as lanes."""

COLUMNS = frozenset({"Index", "KernelName", "gpu-id", "queue-id", "pid", "BeginNs", "EndNs", "DurationNs", "lds"})


def recognises(file: TraceFile) -> bool:
    """Whether it is rocprof's JSON, by its first lane, one of its CSV files, by their columns, or its database."""
    if file.head.startswith(MAGIC):
        columns = (schema(file) or {}).get("KERN", {})
        return {"Index", "KernelName"} <= columns.keys()
    if JSON.match(file.head):
        return True
    header = header_of(file.head)
    return header == STATISTICS or set(header) >= KERNELS


def read(file: TraceFile, sink: Sink) -> Facts:
    """Hands every event to the sink and returns the facts; `UnreadableFile` for damage before the first event."""
    rows = Rows(sink)
    labels: dict[str, str] = {}
    if file.head.startswith(MAGIC):
        _read_database(file, rows)
    elif JSON.match(file.head):
        labels = _read_json(Timeline(file, rows), rows)
    else:
        _read_kernels(read_table(file.blocks(), rows), rows)
    rows.close()
    return Facts(format="rocprof_v1", producer="rocprof v1", labels=labels)


def _read_json(timeline: Timeline, rows: Rows) -> dict[str, str]:
    """Writes all events and the devices; what the file says of the system, as labels."""
    reading = _Reading(rows)
    reading.name_lanes(timeline.events(lambda heads: heads.phase == METADATA))
    reading.write_spans(timeline.events(lambda heads: heads.phase == SPAN))
    reading.write_others(timeline.events(lambda heads: heads.phase != SPAN))
    return reading.describe(timeline.members)


def _read_database(file: TraceFile, rows: Rows) -> None:
    """Reads the tables of the database: the rows of those that have lanes in the JSON are made into its events."""
    if not file.packing:
        file.digest()
    with open_database(file) as database:
        timed: list[str] = []
        for table, columns in database.tables.items():
            if damage := database.damage(table):
                raise UnreadableFile(f"{file.path}: table {table} is damaged: {damage}", "copy the file again")
            if table == "KERN":
                _read_kernels(_rows_of(database, table), rows)
            elif "BeginNs" in columns:
                timed.append(table)
            else:
                for row in _rows_of(database, table):
                    rows.other(table, row)
        reading = _Reading(rows, LANES)
        for table in timed:
            lane = next((n for n, name in LANES.items() if name.startswith(table)), table)
            reading.write_spans({"ph": "X", "pid": lane, "args": row} for row in _rows_of(database, table))
        database.report(rows.sink.note)
    reading.describe({})


def _rows_of(database: Database, table: str) -> Iterator[dict[str, Any]]:
    return (row for batch in database.batches(table, database.tables[table]) for row in batch.to_pylist())


def _read_kernels(table: Iterable[dict[str, Any]], rows: Rows) -> None:
    devices: set[tuple[int, int]] = set()
    for row in table:
        if "KernelName" not in row:
            rows.other("statistics", row)
            continue
        process, device = integer(row.get("pid")) or 0, integer(row.get("gpu-id"))
        registers = "arch_vgpr" if "arch_vgpr" in row else "vgpr"
        rows.add(
            "kernel",
            row,
            process=process,
            device=device,
            stream=integer(row.get("queue-id")),
            start_ns=integer(row.get("BeginNs")),
            end_ns=integer(row.get("EndNs")),
            name=row["KernelName"],
            registers=integer(row.get(registers)),
            shared_bytes=integer(row.get("lds")),
            args=arguments({n: v for n, v in row.items() if n not in COLUMNS and n != registers}),
        )
        if device is not None and 0 <= device < 2**31:
            devices.add((process, device))
    for process, device in sorted(devices):
        rows.describe("device", process=process, device=device, vendor="amd")


class _Reading:
    """Events on their way to the sink: the spans first, since they name the process of the others."""

    def __init__(self, rows: Rows, lanes: Mapping[int, str] | None = None) -> None:
        self._rows, self._lanes = rows, dict(lanes or {})
        self._used: dict[int, int] = {}

    def name_lanes(self, events: Iterable[Mapping[str, Any]]) -> None:
        """Takes the names of lanes from the events that give one."""
        for event in events:
            lane, said = integer(event.get("pid")), event.get("args")
            if event.get("ph") == "M" and event.get("name") == "process_name" and lane is not None:
                self._lanes[lane] = str(said.get("name")) if isinstance(said, dict) else ""

    def write_spans(self, events: Iterable[Mapping[str, Any]]) -> None:
        """Writes the spans among the events."""
        for event in events:
            if event.get("ph") == "X":
                self._span(event)

    def write_others(self, events: Iterable[Mapping[str, Any]]) -> None:
        """Writes the events that are no spans."""
        process = self._rows.only_process()
        for event in events:
            phase = event.get("ph")
            if phase in ("s", "t", "f"):
                self._flow(event, process)
            elif phase == "M" and event.get("name") == "process_name":
                self._lane(event, process)
            elif phase != "X":
                meaning = "events of a kind that is not known: kept in `other`"
                self._rows.sink.note("unknown-event", meaning, example=f"ph {phase}"[:120])
                self._rows.other(str(phase), event, nanoseconds(event.get("ts")))

    def _span(self, event: Mapping[str, Any]) -> None:
        said = event.get("args")
        said = said if isinstance(said, dict) else {}
        number = integer(event.get("pid"))
        lane = self._lanes.get(-1 if number is None else number, "")
        name = text(event.get("name")) or text(said.get("Name"))
        start, end = integer(said.get("BeginNs")), integer(said.get("EndNs"))
        if start is None or end is None:
            meaning = "events whose exact times are missing or no numbers: their whole microseconds count"
            self._rows.sink.note("coarse-times", meaning, example=name)
            start, duration = nanoseconds(event.get("ts")), nanoseconds(event.get("dur"))
            end = None if start is None or duration is None else start + duration
        process = integer(said.get("pid"))
        if process is None:
            self._rows.tell("no-process", name)
        shared = {"process": 0 if process is None else process, "start_ns": start, "end_ns": end}
        rest = {n: v for n, v in said.items() if n not in TIMED}
        if lane in ("COPY", "OPS") or LANE.fullmatch(lane) or "dev-id" in said:
            self._work(event, said, shared, rest, name, lane)
            return
        thread = integer(said.get("tid"))
        shared |= {"thread": integer(event.get("tid")) if thread is None else thread, "name": name}
        if "marker" in lane.lower() or "roctx" in lane.lower():
            self._rows.add("range", event, **shared, kind="annotation", domain=lane, args=arguments(rest))
        elif "HIP" in lane or (name or "").startswith(("hip", "__hip")):
            self._rows.add("api", event, **shared, kind="runtime", args=arguments(rest))
        elif "HSA" in lane or "KFD" in lane or (name or "").startswith("hsa_"):
            self._rows.add("api", event, **shared, kind="driver", args=arguments(rest))
        else:
            self._rows.other(lane or "X", event, start)

    def _work(
        self,
        event: Mapping[str, Any],
        said: Mapping[str, Any],
        shared: dict[str, Any],
        rest: dict[str, Any],
        name: str | None,
        lane: str,
    ) -> None:
        found = LANE.fullmatch(lane)
        device, stream = integer(said.get("dev-id")), integer(said.get("queue-id"))
        if device is None and found:
            device = int(found[2])
        stream = integer(event.get("tid")) if stream is None else stream
        shared |= {"device": device, "stream": stream}
        args = arguments({**rest, "tid": said.get("tid")})
        if device is not None and 0 <= device < 2**31:
            self._used.setdefault(device, shared["process"])
        kind = copy_kind(name or "")
        if found and found[1] != "GPU":
            self._rows.add("range", event, **shared, name=name, kind="barrier", args=args)
        elif name == "FillBuffer":
            self._rows.add("fill", event, **shared, args=args)
        elif lane == "COPY" or (kind and (name or "").startswith("Copy")):
            self._rows.add("copy", event, **shared, kind=kind, args=args if kind else arguments({**rest, "name": name}))
        else:
            self._rows.add("kernel", event, **shared, name=name, args=args)

    def _flow(self, event: Mapping[str, Any], process: int) -> None:
        self._rows.add(
            "flow",
            event,
            process=process,
            track=integer(event.get("tid")),
            time_ns=nanoseconds(event.get("ts")),
            kind=text(event.get("cat")) or "flow",
            id=integer(event.get("id")),
            phase=event.get("ph"),
            args=arguments({"name": event.get("name"), "lane": self._lanes.get(integer(event.get("pid")) or 0)}),
        )

    def _lane(self, event: Mapping[str, Any], process: int) -> None:
        lane = integer(event.get("pid"))
        said = arguments({"lane": lane, "sort_index": event.get("sort_index")})
        name = self._lanes.get(-1 if lane is None else lane)
        if not name:
            self._rows.tell("damaged-track", (arguments(event) or "")[:120])
        self._rows.describe("track", process=process, name=name, kind="process", args=said)

    def describe(self, members: Mapping[str, Any]) -> dict[str, str]:
        """Writes the devices; the other lines of rocminfo, and what else stands around the events, as labels."""
        process, told = self._rows.only_process(), members.get("otherData")
        agents: dict[str, dict[str, str]] = {}
        labels: dict[str, str] = {}
        for name, value in (told if isinstance(told, dict) else {}).items():
            found = AGENT.fullmatch(name)
            if found:
                agents.setdefault(found[1], {})[found[2].removeprefix("MemoryProperties.")] = str(value)
            else:
                labels[name] = str(value)
        described: set[int] = set()
        for number, agent in agents.items():
            node = integer(agent.get("Node"))
            if agent.get("DeviceType") != "GPU" or node is None or not 0 <= node < 2**31 or node in described:
                labels[f"Agent{number}"] = label(agent)
                continue
            described.add(node)
            self._rows.describe("device", process=self._used.get(node, process), device=node, **_device(agent))
        for device in sorted(self._used.keys() - described):
            self._rows.describe("device", process=self._used[device], device=device, vendor="amd")
        labels |= {n: label(v) for n, v in members.items() if n != "otherData"}
        return labels


def _device(agent: dict[str, str]) -> dict[str, Any]:
    """A device as rocminfo tells of it, with all blanks gone: sizes as `98650232(0x5e14878)KB`, the clock in MHz."""
    left = dict(agent)
    memory = integer(re.sub(r"\(.*", "", left.pop(POOL, "")))
    clock = integer(left.pop("MaxClockFreq.(MHz)", ""))
    return {
        "name": left.pop("MarketingName", None),
        "vendor": "amd",
        "architecture": left.pop("Name", None),
        "compute_units": integer(left.pop("ComputeUnit", "")),
        "memory_bytes": None if memory is None else memory * 1024,
        "clock_hz": None if clock is None else clock * 10**6,
        "args": arguments(left),
    }
