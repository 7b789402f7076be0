"""CSV of rocprofv3 (AMD): one table a file, of kernels, copies, calls, markers, allocations, counters or agents.

A kernel trace named `<prefix>_kernel_trace.csv` is read together with the other tables of its run, those that lie
beside it under the same prefix; any other file is read alone. A kernel's stream is its hardware queue (the HIP stream
is in `args`), a copy belongs to the GPU of its two agents. Kernels in a file of counters ran one at a time to be
counted: they are ranges, not kernels. Copies have no size here: rocprofv3's other formats tell it.
"""

import re
from collections.abc import Mapping
from typing import Any

from ...store.errors import Error
from ...store.trace import Facts
from ..files import TraceFile, open_file
from ..places import Place
from ..rocprof_csv import header_of, read_table
from ..rocprof_memory import Blocks
from ..rocprof_rows import End, Rows, arguments, copy_kind, integer, text
from ..sink import Sink

__all__ = ["VERSION", "read", "recognises"]

VERSION = 4

SPAN = frozenset({"Start_Timestamp", "End_Timestamp"})
FORMS: tuple[tuple[str, frozenset[str]], ...] = (
    ("counter", frozenset({"Dispatch_Id", "Counter_Name", "Counter_Value"})),
    ("kernel", SPAN | {"Kernel_Name", "Agent_Id", "Queue_Id"}),
    ("call", SPAN | {"Domain", "Function"}),
    ("copy", SPAN | {"Direction", "Source_Agent_Id", "Destination_Agent_Id"}),
    ("allocation", SPAN | {"Operation", "Allocation_Size", "Address"}),
    ("scratch", SPAN | {"Kind", "Operation", "Agent_Id", "Queue_Id"}),
    ("agent", frozenset({"Node_Id", "Agent_Type", "Cu_Count"})),
    ("statistics", frozenset({"Name", "Calls", "TotalDurationNs", "AverageNs", "Percentage", "MinNs", "MaxNs"})),
    ("sample", frozenset({"Sample_Timestamp", "Exec_Mask", "Dispatch_Id"})),
)
"""The tables by their columns; a release may add others."""

KERNEL_TRACE = re.compile(r"(.+_)kernel_trace\.csv")
CALLS = (*(f"{what}_api_trace" for what in ("hip", "hsa", "marker", "rccl", "rocdecode", "rocjpeg")), "hip_trace")
COMPANIONS = (*CALLS, "agent_info", "memory_copy_trace", "memory_allocation_trace", "scratch_memory_trace")
AGENT = re.compile(r"(?:(CPU|GPU|Agent) )?(\d{1,9})")
AXES = "XYZ"
NUMBERS = frozenset(
    {
        *("Correlation_Id", "Process_Id", "Thread_Id", "Stream_Id", "VGPR_Count", "LDS_Block_Size"),
        *("Group_Segment_Size", *(f"{what}_Size_{axis}" for what in ("Grid", "Workgroup") for axis in AXES)),
    }
)
"""Columns that hold a whole number or nothing, and that a row can do without."""


def recognises(file: TraceFile) -> bool:
    """Whether the columns are those of one of rocprofv3's tables."""
    return _form(header_of(file.head)) is not None


def read(file: TraceFile, sink: Sink) -> Facts:
    """Hands every event to the sink and returns the facts; damaged lines are kept in `other` and counted."""
    run = _Run(sink)
    found = KERNEL_TRACE.fullmatch(file.path.name)
    companions: list[str] = []
    if found and _form(header_of(file.head)) == "kernel":
        prefix = found[1][:-1]
        run.pid = int(prefix) if re.fullmatch(r"[1-9]\d{0,8}", prefix) else None
        companions = [name for what in COMPANIONS if run.companion(file.path, name := f"{prefix}_{what}.csv")]
    run.table(file)
    run.finish()
    return Facts(
        format="rocprofv3_csv",
        producer="rocprofv3",
        clock="boottime",
        labels={"files": ", ".join((file.path.name, *companions))} if companions else {},
    )


def _form(header: tuple[str, ...]) -> str | None:
    return next((form for form, columns in FORMS if columns <= set(header)), None)


class _Run:
    """The tables of one run on their way to the sink."""

    def __init__(self, sink: Sink) -> None:
        self.pid: int | None = None
        self._rows = Rows(sink)
        self._blocks = Blocks(self._rows)
        self._threads: dict[int, int] = {}
        self._agents: dict[int, Mapping[str, str]] = {}
        self._used: set[int] = set()
        self._dispatches: set[tuple[str, ...]] = set()

    def companion(self, beside: Place, name: str) -> bool:
        """Reads another table of the run, where it is there; whether it is."""
        path = beside.with_name(name)
        if not path.is_file():
            return False
        try:
            file = open_file(path)
            if not recognises(file):
                raise Error(f"{name}: not a table of rocprofv3", "")
        except Error as error:
            meaning = "a file of the same run cannot be read: what it holds is missing"
            self._rows.sink.note("unreadable-companion", meaning, example=error.message)
            return False
        self.table(file)
        return True

    def table(self, file: TraceFile) -> None:
        """Reads one file."""
        form = _form(header_of(file.head)) or "other"
        take = getattr(self, f"_{form}", None)
        for row in read_table(file.blocks(), self._rows):
            for name in NUMBERS.intersection(row):
                if row[name] and integer(row[name]) is None:
                    self._rows.tell("no-number", f"{name} {row[name]}"[:120])
            if take is None:
                self._rows.other(form, row, integer(row.get("Sample_Timestamp")))
            else:
                take(row)

    def finish(self) -> None:
        """Writes what was kept to the end: blocks that live on, the devices, the processes."""
        self._blocks.finish()
        process = self._process({})
        for number, row in sorted(self._agents.items()):
            if row.get("Agent_Type") == "GPU":
                self._rows.describe("device", process=process, device=number, **_device(row))
        for number in sorted(self._used - self._agents.keys()):
            self._rows.describe("device", process=process, device=number, vendor="amd")
        self._rows.close()

    def _process(self, row: Mapping[str, str]) -> int:
        """The process of a row: it says so itself, its thread is known, or it is the one of the run; else 0."""
        own = integer(row.get("Process_Id"))
        if own is None:
            own = self._threads.get(integer(row.get("Thread_Id")) or -1)
        return own if own is not None else self._rows.only_process() or self.pid or 0

    def _number(self, agent: str | None) -> int | None:
        """The number of an agent at which something ran."""
        number, gpu = self._end(agent)
        if number is not None and gpu is not False:
            self._used.add(number)
        return number

    def _end(self, agent: str | None) -> End:
        """An agent; processors, where the file numbers them apart from devices, count down from -1."""
        found = AGENT.fullmatch(agent or "")
        if not found:
            return End(None)
        number = int(found[2])
        if found[1] == "CPU":
            return End(-1 - number, gpu=False)
        kind = "GPU" if found[1] == "GPU" else self._agents.get(number, {}).get("Agent_Type")
        return End(number, None if kind is None else kind == "GPU")

    def _kernel(self, row: Mapping[str, str]) -> None:
        taken = {"Agent_Id", "Queue_Id", "Kernel_Name", "Correlation_Id", "Process_Id", "Kind", "VGPR_Count", *SPAN}
        lds = next((name for name in ("LDS_Block_Size", "Group_Segment_Size") if name in row), "")
        taken |= {lds, *(f"{what}_Size_{axis}" for what in ("Grid", "Workgroup") for axis in AXES)}
        rest = {n: v for n, v in row.items() if n not in taken}
        if rest.get("Stream_Id") == row["Queue_Id"]:
            del rest["Stream_Id"]
        self._rows.add(
            "kernel",
            row,
            **self._span(row),
            device=self._number(row["Agent_Id"]),
            stream=integer(row["Queue_Id"]),
            name=row["Kernel_Name"],
            **_shape(row),
            registers=integer(row.get("VGPR_Count")),
            shared_bytes=integer(row.get(lds)),
            correlation=integer(row.get("Correlation_Id")),
            args=arguments(rest),
        )

    def _copy(self, row: Mapping[str, str]) -> None:
        source, target = row["Source_Agent_Id"], row["Destination_Agent_Id"]
        kind = copy_kind(row["Direction"])
        taken = {"Kind", "Direction", "Stream_Id", "Source_Agent_Id", "Destination_Agent_Id", "Correlation_Id"}
        rest = {n: v for n, v in row.items() if n not in taken | SPAN | {"Process_Id"}}
        if kind is None:
            rest["Direction"] = row["Direction"]
        if "Stream_Id" not in row:
            self._rows.tell("no-stream")
        device = self._rows.add_copy(
            row,
            (self._end(source), self._end(target)),
            **self._span(row),
            stream=integer(row.get("Stream_Id", "0")),
            kind=kind,
            correlation=integer(row.get("Correlation_Id")),
            args=arguments({"source": source, "target": target, **rest}),
        )
        if device is not None:
            self._used.add(device)

    def _call(self, row: Mapping[str, str]) -> None:
        domain, name = row["Domain"], row["Function"]
        process, thread = self._process(row), integer(row.get("Thread_Id"))
        if integer(row.get("Process_Id")) is None:
            meaning = "calls that do not state their process: taken for that of their thread, or of the run"
            self._rows.sink.note("assumed-process", meaning, example=name[:120])
        if thread is not None:
            self._threads[thread] = process
        shared = {**self._span(row), "thread": thread, "name": name}
        taken = {"Domain", "Function", "Process_Id", "Thread_Id", "Correlation_Id", *SPAN}
        rest = {n: v for n, v in row.items() if n not in taken}
        correlation = integer(row.get("Correlation_Id"))
        if domain.startswith(("HIP", "HSA")):
            kind = "runtime" if domain.startswith("HIP") else "driver"
            said = arguments({"domain": domain, **rest})
            self._rows.add("api", row, **shared, kind=kind, correlation=correlation, args=said)
            return
        instant = row["Start_Timestamp"] == row["End_Timestamp"]
        marker = ("mark" if instant else "annotation") if domain.startswith("MARKER") else None
        kind = marker or domain.removesuffix("_EXT").removesuffix("_API").lower() or "unknown"
        self._rows.add("range", row, **shared, kind=kind, domain=domain, id=correlation, args=arguments(rest))

    def _allocation(self, row: Mapping[str, str]) -> None:
        span = self._span(row)
        address = integer(row["Address"])
        if row["Operation"].endswith("FREE"):
            self._blocks.release(row, span["process"], address, span["end_ns"])
            return
        agent = AGENT.fullmatch(row.get("Agent_Id", ""))
        known = self._agents.get(int(agent[2]), {}) if agent else {}
        host = bool(agent and agent[1] == "CPU") or known.get("Agent_Type") == "CPU"
        taken = {"Kind", "Allocation_Size", "Address", "Process_Id", "Thread_Id", *SPAN}
        self._blocks.allocate(
            row,
            process=span["process"],
            device=None if host else self._number(row.get("Agent_Id")),
            kind="host" if host else "device",
            address=address,
            bytes=integer(row["Allocation_Size"]),
            birth_ns=span["start_ns"],
            thread=integer(row.get("Thread_Id")),
            args=arguments({n: v for n, v in row.items() if n not in taken}),
        )

    def _scratch(self, row: Mapping[str, str]) -> None:
        taken = {"Kind", "Operation", "Agent_Id", "Queue_Id", "Thread_Id", "Process_Id", *SPAN}
        self._rows.add(
            "range",
            row,
            **self._span(row),
            thread=integer(row.get("Thread_Id")),
            device=self._number(row["Agent_Id"]),
            stream=integer(row["Queue_Id"]),
            name=row["Operation"],
            kind=row["Kind"].lower() or "unknown",
            args=arguments({n: v for n, v in row.items() if n not in taken}),
        )

    def _counter(self, row: Mapping[str, str]) -> None:
        span, device = self._span(row), self._number(row.get("Agent_Id"))
        dispatch = (row["Dispatch_Id"], row.get("Agent_Id", ""), str(span["process"]))
        try:
            value = float(row["Counter_Value"])
        except ValueError:
            value = None
        self._rows.add(
            "counter",
            row,
            process=span["process"],
            device=device,
            name=row["Counter_Name"],
            time_ns=span["start_ns"],
            value=value,
        )
        if dispatch in self._dispatches:
            return
        self._dispatches.add(dispatch)
        taken = {"Agent_Id", "Queue_Id", "Kernel_Name", "Process_Id", "Thread_Id", "Counter_Name", "Counter_Value"}
        self._rows.add(
            "range",
            row,
            **span,
            thread=integer(row.get("Thread_Id")),
            device=device,
            stream=integer(row.get("Queue_Id")),
            name=row.get("Kernel_Name"),
            kind="counted_kernel",
            args=arguments({n: v for n, v in row.items() if n not in taken | SPAN}),
        )

    def _agent(self, row: Mapping[str, str]) -> None:
        number = integer(row["Node_Id"])
        if number is None or not 0 <= number < 2**31:
            self._rows.other("agent", row)
        else:
            if number in self._agents:
                meaning = "processors that share a number: the last of them counts"
                self._rows.sink.note("repeated-agent", meaning, example=str(number))
            self._agents[number] = row

    def _span(self, row: Mapping[str, str]) -> dict[str, Any]:
        return {
            "process": self._process(row),
            "start_ns": integer(row.get("Start_Timestamp")),
            "end_ns": integer(row.get("End_Timestamp")),
        }


def _shape(row: Mapping[str, str]) -> dict[str, int | None]:
    """Blocks of the grid and threads of a block; rocprofv3 gives the grid in threads."""
    shape: dict[str, int | None] = {}
    for axis in AXES:
        threads, block = integer(row.get(f"Grid_Size_{axis}")), integer(row.get(f"Workgroup_Size_{axis}"))
        shape[f"block_{axis.lower()}"] = block
        shape[f"grid_{axis.lower()}"] = None if threads is None or not block else -(-threads // block)
    return shape


def _device(row: Mapping[str, str]) -> dict[str, Any]:
    left = dict(row)
    clock = integer(left.pop("Max_Engine_Clk_Fcompute", None))
    return {
        "name": text(left.pop("Product_Name", None)),
        "vendor": (left.pop("Vendor_Name", None) or "amd").lower(),
        "architecture": text(left.pop("Name", None)),
        "compute_units": integer(left.pop("Cu_Count")),
        "clock_hz": clock * 10**6 if clock else None,
        "args": arguments({n: v for n, v in left.items() if n != "Node_Id"}),
    }
