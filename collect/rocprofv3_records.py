"""The records of a process in rocprofv3's JSON, as rows: kernels, copies, calls, markers, memory, counters.

A kernel's stream is its hardware queue (the HIP stream is in `args`), a copy belongs to the GPU of its two agents, a
device has the number of its node. Kernels that ran one at a time to have their counters read are ranges, not kernels.
"""

from collections.abc import Callable, Mapping
from decimal import Decimal
from typing import Any

from .kfd_records import Driver, is_of_driver
from .rocprof_json import elements, members, records
from .rocprof_memory import Blocks
from .rocprof_rows import End, Rows, arguments, copy_kind, handle, integer, label, text

__all__ = ["COUNTED", "NAMES", "Recording"]

GPU = 2
MOST = 2**62
"""No process has an id beyond this."""

SHARED = frozenset({"size", "kind", "operation", "thread_id", "correlation_id", "start_timestamp", "end_timestamp"})
CALLS = {"hip_api": "runtime", "hsa_api": "driver"}
SPANS = ("marker_api", "rccl_api", "rocdecode_api", "rocjpeg_api", "scratch_memory")
PRIVATE = frozenset({"node", "pid", "env", "environment"})
"""What is told elsewhere, and the environment of the program, which may hold secrets."""

COUNTED = ("code_objects", "kernel_symbols", "host_functions")
"""Descriptions of which the labels tell how many there were."""

NAMES = ("formatted_kernel_name", "demangled_kernel_name", "kernel_name")
"""Names of a kernel, the best first."""

Record = Mapping[str, Any]


class Recording:
    """What one process recorded, on its way to the sink."""

    def __init__(self, rows: Rows, tool: Record) -> None:
        self._rows, self._tool = rows, tool
        self._blocks = Blocks(rows)
        pid = integer(members(tool, "metadata").get("pid"))
        if pid is None or not 0 <= pid < MOST:
            rows.sink.note("no-process", "recordings of no stated process: counted as process 0")
        self._process = pid if pid is not None and 0 <= pid < MOST else 0
        self._agents = {one: a for a in records(tool, "agents") if (one := handle(a.get("id"))) is not None}
        symbols = records(tool, "kernel_symbols")
        self._kernels = {number: s for s in symbols if (number := integer(s.get("kernel_id"))) is not None}
        strings = members(tool, "strings")
        self._kinds = records(strings, "buffer_records")
        self._messages: Mapping[Any, str | None] = members(strings, "marker_api")
        self._counters = {handle(c.get("id")): text(c.get("name")) for c in records(tool, "counters")}
        self._driver = Driver(rows, self._process, self._processor)
        self._readers: dict[str, Callable[[str, Record], None]] = {
            "kernel_dispatch": self._kernel,
            "memory_copy": self._copy,
            "memory_allocation": self._allocation,
            **dict.fromkeys(CALLS, self._call),
            **dict.fromkeys(SPANS, self._span),
        }

    def lists(self, group: str) -> list[int]:
        """The numbers of the lists of records of the group."""
        return [number for number in members(self._tool, group).values() if number is not None]

    def read(self, group: str, section: str, batch: list[Any]) -> None:
        """Writes some of the records of a section."""
        for record in batch:
            if not isinstance(record, dict):
                self._unknown(section, record)
            elif group == "callback_records" and section == "counter_collection":
                self._counted(record)
            elif group == "buffer_records" and section in self._readers:
                self._readers[section](section, record)
            elif group == "buffer_records" and section.startswith("kfd"):
                self._told_by_driver(section, record)
            else:
                self._unknown(section, record)

    def finish(self) -> dict[str, str]:
        """Writes what waits for the end; what the process says of itself, as labels."""
        self._blocks.finish()
        return self._describe()

    def _unknown(self, section: str, record: Any) -> None:
        meaning = "records of a kind that tracelode does not know: kept in `other`"
        self._rows.sink.note("unread-record", meaning, example=section[:120])
        start = integer(record.get("start_timestamp")) if isinstance(record, dict) else None
        self._rows.other(section, record, start)

    def _kernel(self, _: str, record: Record) -> None:
        dispatch = members(record, "dispatch_info")
        self._rows.add("kernel", record, **self._placed(record, dispatch), **self._work(dispatch, record))

    def _placed(self, record: Record, dispatch: Record) -> dict[str, Any]:
        return {
            **self._times(record),
            "device": self._device(dispatch.get("agent_id")),
            "stream": handle(dispatch.get("queue_id")),
        }

    def _work(self, dispatch: Record, record: Record) -> dict[str, Any]:
        symbol = self._kernels.get(integer(dispatch.get("kernel_id")) or -1, {})
        name = next(filter(None, (text(symbol.get(n)) for n in NAMES)), None)
        used = {"size", "agent_id", "queue_id", "group_segment_size", "workgroup_size", "grid_size"}
        said = {n: v for n, v in dispatch.items() if n not in used}
        said |= {n: handle(v) for n, v in record.items() if n == "stream_id"}
        said |= {n: symbol.get(n) for n in ("accum_vgpr_count", "sgpr_count")}
        said |= {"thread_id": record.get("thread_id"), "external": members(record, "correlation_id").get("external")}
        said |= {n: v for n, v in record.items() if n not in SHARED | {"dispatch_info", "stream_id"}}
        return {
            "name": name,
            **self._shape(dispatch),
            "registers": integer(symbol.get("arch_vgpr_count")),
            "shared_bytes": self._rows.number(dispatch.get("group_segment_size")),
            "correlation": self._correlation(record),
            "args": arguments(said),
        }

    def _shape(self, dispatch: Record) -> dict[str, int | None]:
        """Blocks of the grid and threads of a block; rocprofv3 gives the grid in threads."""
        shape: dict[str, int | None] = {}
        for axis in "xyz":
            sizes = (members(dispatch, name).get(axis) for name in ("grid_size", "workgroup_size"))
            threads, block = map(self._rows.number, sizes)
            shape[f"block_{axis}"] = block
            shape[f"grid_{axis}"] = None if threads is None or not block else -(-threads // block)
        return shape

    def _copy(self, _: str, record: Record) -> None:
        agents = self._rows.number(record.get("src_agent_id")), self._rows.number(record.get("dst_agent_id"))
        ends = self._end(agents[0]), self._end(agents[1])
        operation = self._operation(record)
        kind = copy_kind(operation or "")
        stream = handle(record.get("stream_id"))
        if stream is None:
            self._rows.tell("no-stream")
        used = SHARED | {"src_agent_id", "dst_agent_id", "bytes", "stream_id"}
        said: dict[str, Any] = {
            name: f"Agent {end.agent}"
            for name, end in zip(("source", "target"), ends, strict=True)
            if end.agent is not None
        }
        said |= {"thread_id": record.get("thread_id"), "operation": None if kind else operation}
        self._rows.add_copy(
            record,
            ends,
            **self._times(record),
            stream=0 if stream is None else stream,
            kind=kind,
            bytes=self._rows.number(record.get("bytes")),
            correlation=self._correlation(record),
            args=arguments({**said, **{n: v for n, v in record.items() if n not in used}}),
        )

    def _allocation(self, _: str, record: Record) -> None:
        times, address = self._times(record), handle(record.get("address"))
        operation = self._operation(record) or ""
        if operation.endswith("FREE"):
            self._blocks.release(record, self._process, address, times["end_ns"])
            return
        agent = self._agents.get(handle(record.get("agent_id")) or -1, {})
        on_host = agent.get("type", GPU) != GPU
        used = SHARED | {"agent_id", "address", "allocation_size"}
        self._blocks.allocate(
            record,
            process=self._process,
            device=None if on_host else self._device(record.get("agent_id")),
            kind="host" if on_host else "device",
            address=address,
            bytes=integer(record.get("allocation_size")),
            birth_ns=times["start_ns"],
            thread=integer(record.get("thread_id")),
            args=arguments({"operation": operation, **{n: v for n, v in record.items() if n not in used}}),
        )

    def _call(self, section: str, record: Record) -> None:
        self._rows.add(
            "api",
            record,
            **self._times(record),
            thread=integer(record.get("thread_id")),
            name=self._operation(record),
            kind=CALLS[section],
            correlation=self._correlation(record),
            args=arguments({n: v for n, v in record.items() if n not in SHARED}),
        )

    def _span(self, section: str, record: Record) -> None:
        times, operation = self._times(record), self._operation(record)
        name, kind = operation, section.removesuffix("_api")
        if section == "marker_api":
            name = self._messages.get(_correlation(record)) or operation
            kind = "mark" if times["start_ns"] == times["end_ns"] else "annotation"
        used = SHARED | {"agent_id", "queue_id"}
        said = {"operation": None if name == operation else operation}
        self._rows.add(
            "range",
            record,
            **times,
            thread=integer(record.get("thread_id")),
            device=self._device(record.get("agent_id")),
            stream=handle(record.get("queue_id")),
            name=name,
            kind=kind,
            domain=self._kind(record),
            id=_correlation(record),
            args=arguments({**said, **{n: v for n, v in record.items() if n not in used}}),
        )

    def _counted(self, record: Record) -> None:
        """A kernel whose counters were read, and their values: one for each instance of the counting hardware."""
        data = members(record, "dispatch_data")
        dispatch = members(data, "dispatch_info")
        placed = self._placed(data, dispatch)
        work = self._work(dispatch, data)
        shape = {n: work[n] for n in work if n.startswith(("grid", "block")) or n in ("registers", "shared_bytes")}
        rest = {n: v for n, v in record.items() if n not in ("dispatch_data", "records")}
        said = {**rest, **shape, "correlation": work["correlation"], "dispatch_id": dispatch.get("dispatch_id")}
        args = arguments(said)
        self._rows.add("range", record, **placed, name=work["name"], kind="counted_kernel", args=args)
        for sample in records(record, "records"):
            value = sample.get("value")
            counter = handle(sample.get("counter_id"))
            self._rows.add(
                "counter",
                sample,
                process=self._process,
                device=placed["device"],
                name=self._counters.get(counter) or f"counter {counter}",
                time_ns=placed["start_ns"],
                value=float(value) if isinstance(value, int | Decimal) and -(10**300) < value < 10**300 else None,
            )

    def _told_by_driver(self, section: str, record: Record) -> None:
        kind = self._kind(record) or ""
        named = is_of_driver(kind)
        if not self._driver.add(kind if named else section, (self._operation(record) or "") if named else "", record):
            self._unknown(section, record)

    def _times(self, record: Record) -> dict[str, Any]:
        return {
            "process": self._process,
            "start_ns": integer(record.get("start_timestamp")),
            "end_ns": integer(record.get("end_timestamp")),
        }

    def _device(self, agent: Any) -> int | None:
        """The node of an agent; of one that is not listed, its handle."""
        number = handle(agent)
        node = integer(self._agents.get(-1 if number is None else number, {}).get("node_id"))
        if node is None and number:
            self._rows.tell("unknown-agent", str(number))
        return number if node is None else node

    def _end(self, agent: Any) -> End:
        """An end of a copy."""
        kind = self._agents.get(handle(agent) or -1, {}).get("type")
        return End(self._device(agent), kind == GPU if kind else None)

    def _processor(self, agent: Any) -> End:
        """What the kernel driver means by an agent: of none it gives a handle of 0."""
        return self._end(agent) if handle(agent) else End(None)

    def _correlation(self, record: Record) -> int | None:
        """What links a call and its work; a record without it is counted."""
        found = _correlation(record)
        if found is None:
            self._rows.tell("no-correlation")
        return found

    def _kind(self, record: Record) -> str | None:
        return text(self._named(record).get("kind"))

    def _operation(self, record: Record) -> str | None:
        names, number = elements(self._named(record), "operations"), integer(record.get("operation"))
        name = text(names[number]) if number is not None and 0 <= number < len(names) else None
        if name is None:
            self._rows.sink.note("unnamed-operation", "records of which the file does not say what was done")
        return name

    def _named(self, record: Record) -> Record:
        number = integer(record.get("kind"))
        return self._kinds[number] if number is not None and 0 <= number < len(self._kinds) else {}

    def _describe(self) -> dict[str, str]:
        metadata = members(self._tool, "metadata")
        command = elements(metadata, "command")
        self._rows.processes[self._process] = {
            "name": text(command[0]) if command else None,
            "host": text(members(metadata, "node").get("hostname")),
        }
        for agent in self._agents.values():
            number = integer(agent.get("node_id"))
            if agent.get("type") == GPU and number is not None and 0 <= number < 2**31:
                self._rows.describe("device", process=self._process, device=number, **_card(agent))
        labels = {label(n): label(v) for n, v in metadata.items() if n not in PRIVATE}
        counts = {n: len(elements(self._tool, n)) for n in COUNTED}
        return labels | {n: str(count) for n, count in counts.items() if count}


def _correlation(record: Record) -> int | None:
    return integer(members(record, "correlation_id").get("internal"))


def _card(agent: Record) -> dict[str, Any]:
    banks = [integer(bank.get("size_in_bytes")) or 0 for bank in records(agent, "mem_banks")]
    clock = integer(agent.get("max_engine_clk_fcompute"))
    used = {
        "size",
        "id",
        "type",
        "name",
        "product_name",
        "vendor_name",
        "cu_count",
        "max_engine_clk_fcompute",
        "node_id",
    }
    return {
        "name": text(agent.get("product_name")),
        "vendor": (text(agent.get("vendor_name")) or "amd").lower(),
        "architecture": text(agent.get("name")),
        "compute_units": integer(agent.get("cu_count")),
        "memory_bytes": sum(banks) or None,
        "clock_hz": clock * 10**6 if clock else None,
        "args": arguments({n: v for n, v in agent.items() if n not in used and isinstance(v, int | str)}),
    }
