"""The tables of an archive: the only contract between those who write events and those who read them.

Times are nanoseconds on the clock of the trace (`trace.base_unix_ns` places its zero in Unix time, where the
source says). Sizes are bytes. Null means that the source does not say. A table the source cannot give is absent.
A device operation is identified by (process, device, context, correlation), never by correlation alone.
"""

from dataclasses import dataclass
from enum import StrEnum

import pyarrow as pa

__all__ = ["COPY_KINDS", "TABLES", "Column", "Kind", "Table"]

COPY_KINDS = (
    "HtoD",
    "DtoH",
    "DtoD",
    "PtoP",
    "HtoH",
    "HtoA",
    "AtoH",
    "AtoA",
    "AtoD",
    "DtoA",
    "UVM_HtoD",
    "UVM_DtoH",
    "UVM_DtoD",
)
"""Directions of a copy: H host, D device, P peer device, A array; UVM_ where the driver moved managed pages."""


class Kind(StrEnum):
    """Who fills a table: a reader (event, identity) or the miner (mined)."""

    EVENT = "event"
    IDENTITY = "identity"
    MINED = "mined"


@dataclass(frozen=True)
class Column:
    """One column: its Arrow type, what it means, and its unit where it has one."""

    name: str
    type: pa.DataType
    meaning: str
    unit: str = ""
    required: bool = False


@dataclass(frozen=True)
class Table:
    """One kind of event or result: one row per `meaning`."""

    name: str
    kind: Kind
    meaning: str
    columns: tuple[Column, ...]
    sort: tuple[str, ...] = ()

    @property
    def schema(self) -> pa.Schema:
        """The Arrow schema: names, types and nullability."""
        return pa.schema([pa.field(c.name, c.type, nullable=not c.required) for c in self.columns])

    @property
    def names(self) -> tuple[str, ...]:
        """The column names in order."""
        return tuple(c.name for c in self.columns)


I8, I32, I64, F64, TEXT, BOOL = pa.int8(), pa.int32(), pa.int64(), pa.float64(), pa.string(), pa.bool_()

PROCESS = Column("process", I64, "process id the event belongs to, unique within the trace", required=True)
THREAD = Column("thread", I64, "thread id on the host")
START = Column("start_ns", I64, "start", "ns", required=True)
END = Column("end_ns", I64, "end; never before the start", "ns", required=True)
NAME = Column("name", TEXT, "name as recorded, demangled where the source gives that")
DEVICE = Column("device", I32, "device ordinal as the process numbers it", required=True)
CORRELATION = Column("correlation", I64, "id shared by a host call and the device work it caused, per process")
ARGS = Column("args", TEXT, "JSON object of what the source says and no column holds")
DEVICE_OPERATION = (
    PROCESS,
    DEVICE,
    Column("context", I64, "driver context"),
    Column("stream", I64, "stream or queue", required=True),
    START,
    END,
)
LAUNCH = (
    CORRELATION,
    Column("graph", I64, "executed graph, where launched by one"),
    Column("graph_node", I64, "node within the graph"),
    Column(
        "launch", I64, "ordinal of the host call that caused it among the calls of its process that caused device work"
    ),
    Column("launch_ns", I64, "start of that call", "ns"),
    Column("launch_thread", I64, "thread of that call"),
    Column("op", I64, "`op.id` of the innermost framework operator around that call"),
    ARGS,
)
HOST_SPAN = (PROCESS, THREAD, START, END)

_EVENTS = (
    Table(
        "kernel",
        Kind.EVENT,
        "kernel execution",
        (
            *DEVICE_OPERATION,
            NAME,
            *(Column(f"grid_{a}", I32, f"grid size in {a}", "blocks") for a in "xyz"),
            *(Column(f"block_{a}", I32, f"block size in {a}", "threads") for a in "xyz"),
            Column("registers", I32, "registers per thread"),
            Column("shared_bytes", I64, "shared memory per block, static and dynamic", "bytes"),
            *LAUNCH,
        ),
        sort=("process", "device", "stream", "start_ns", "end_ns"),
    ),
    Table(
        "copy",
        Kind.EVENT,
        "memory copy on a device",
        (
            *DEVICE_OPERATION,
            Column("kind", TEXT, f"direction: {', '.join(COPY_KINDS)}; null where the source does not say"),
            Column("bytes", I64, "bytes moved", "bytes"),
            Column("source_memory", TEXT, "memory copied from: pageable, pinned, device, managed, array"),
            Column("target_memory", TEXT, "memory copied to"),
            Column("peer_device", I32, "the other device of a copy between devices"),
            Column("cause", TEXT, "why the driver migrated managed pages"),
            Column("address", I64, "first virtual address of a migration"),
            *LAUNCH,
        ),
        sort=("process", "device", "stream", "start_ns", "end_ns"),
    ),
    Table(
        "fill",
        Kind.EVENT,
        "memory fill (memset) on a device",
        (
            *DEVICE_OPERATION,
            Column("bytes", I64, "bytes set", "bytes"),
            Column("value", I64, "value written"),
            Column("memory", TEXT, "kind of memory written"),
            *LAUNCH,
        ),
        sort=("process", "device", "stream", "start_ns", "end_ns"),
    ),
    Table(
        "api",
        Kind.EVENT,
        "runtime or driver call on the host",
        (
            *HOST_SPAN,
            NAME,
            Column("kind", TEXT, "interface: runtime, driver", required=True),
            CORRELATION,
            Column("status", I64, "value the call returned; 0 is success"),
            Column("op", I64, "`op.id` of the innermost framework operator around the call"),
            ARGS,
        ),
        sort=("process", "thread", "start_ns"),
    ),
    Table(
        "sync",
        Kind.EVENT,
        "synchronisation as the device or driver records it",
        (
            PROCESS,
            Column("device", I32, "device ordinal"),
            Column("context", I64, "driver context"),
            Column("stream", I64, "stream that waits; null for a device-wide wait"),
            START,
            END,
            Column("kind", TEXT, "what waits: event, stream, context, stream-event", required=True),
            Column("event", I64, "event waited for"),
            CORRELATION,
            ARGS,
        ),
        sort=("process", "start_ns"),
    ),
    Table(
        "op",
        Kind.EVENT,
        "framework operator on the host",
        (
            Column("id", I64, "row number within the trace, from 0", required=True),
            *HOST_SPAN,
            NAME,
            Column("parent", I64, "`op.id` of the operator around it on the same thread"),
            Column("depth", I32, "number of operators around it on the same thread"),
            Column("external", I64, "id the framework gave it"),
            Column("sequence", I64, "autograd sequence number, shared by a forward operator and its backward"),
            Column("forward_thread", I64, "thread of the forward operator, on a backward one"),
            Column("phase", TEXT, "forward, backward or optimizer, where known"),
            Column("shapes", TEXT, "JSON list of the input shapes"),
            Column("types", TEXT, "JSON list of the input types"),
            ARGS,
        ),
        sort=("process", "thread", "start_ns", "end_ns"),
    ),
    Table(
        "range",
        Kind.EVENT,
        "named span: annotation, NVTX range, Python frame, module, profiler overhead",
        (
            PROCESS,
            THREAD,
            Column("device", I32, "device, where the span is projected onto one"),
            Column("stream", I64, "stream, where the span is projected onto one"),
            START,
            END,
            NAME,
            Column("kind", TEXT, "annotation, device_annotation, nvtx, python, overhead, mark, ...", required=True),
            Column("domain", TEXT, "NVTX domain or the category as the source names it"),
            Column("id", I64, "id the source gave the span"),
            Column("parent_id", I64, "`id` of the span around it, where the source says"),
            ARGS,
        ),
        sort=("process", "thread", "start_ns"),
    ),
    Table(
        "allocation",
        Kind.EVENT,
        "life of a memory block",
        (
            PROCESS,
            Column("device", I32, "device; null for host memory"),
            Column("kind", TEXT, "device, pinned, managed, host, pool or tensor", required=True),
            Column("address", I64, "first address"),
            Column("bytes", I64, "size", "bytes", required=True),
            Column("birth_ns", I64, "allocation; null when before the recording", "ns"),
            Column("death_ns", I64, "release; null when after the recording", "ns"),
            THREAD,
            Column("owner", TEXT, "what it belongs to"),
            Column("stack", TEXT, "call stack of the allocation"),
            ARGS,
        ),
        sort=("process", "device", "birth_ns"),
    ),
    Table(
        "access",
        Kind.EVENT,
        "launch x memory object x window: accesses reduced on the device",
        (
            PROCESS,
            Column("launch", I64, "ordinal of the launch", required=True),
            Column("kernel", TEXT, "kernel name"),
            Column("object", I64, "address of the object or tensor"),
            Column("granularity", TEXT, "object, tensor or block", required=True),
            Column("window", I64, "window on the access clock"),
            Column("reads", I64, "read accesses of active threads"),
            Column("writes", I64, "write accesses of active threads"),
            Column("bytes", I64, "bytes accessed", "bytes"),
            Column("pages", I64, "distinct pages touched"),
        ),
    ),
    Table(
        "fault",
        Kind.EVENT,
        "page-fault group of managed memory",
        (
            PROCESS,
            Column("device", I32, "device that faulted; null for the host"),
            Column("processor", TEXT, "gpu or cpu", required=True),
            START,
            Column("end_ns", I64, "end of the service; null where not recorded", "ns"),
            Column("address", I64, "virtual address"),
            Column("pages", I64, "faults of the group"),
            Column("kind", TEXT, "access that faulted: read, write, atomic, prefetch"),
            ARGS,
        ),
        sort=("process", "start_ns"),
    ),
    Table(
        "migration",
        Kind.EVENT,
        "thrash, throttle, remote map, or move of managed pages told without a stream (the others are in `copy`)",
        (
            PROCESS,
            Column("device", I32, "device"),
            Column("kind", TEXT, "thrash, throttle, remote_map, UVM_HtoD, UVM_DtoH, UVM_DtoD", required=True),
            START,
            Column("end_ns", I64, "end; null where not recorded", "ns"),
            Column("address", I64, "virtual address"),
            Column("bytes", I64, "bytes", "bytes"),
            Column("cause", TEXT, "cause the driver gives"),
        ),
        sort=("process", "start_ns"),
    ),
    Table(
        "collective",
        Kind.EVENT,
        "communication operation",
        (
            PROCESS,
            Column("device", I32, "device"),
            Column("stream", I64, "stream"),
            START,
            END,
            Column("name", TEXT, "name of the kernel or call", required=True),
            Column("kind", TEXT, "allreduce, allgather, ... as the source names it"),
            Column("input_elements", I64, "elements in"),
            Column("output_elements", I64, "elements out"),
            Column("type", TEXT, "element type"),
            Column("group", TEXT, "process group"),
            Column("group_size", I32, "ranks in the group"),
            Column("ranks", TEXT, "JSON list of the ranks"),
            Column("sequence", I64, "position within the group"),
            CORRELATION,
        ),
        sort=("process", "start_ns"),
    ),
    Table(
        "counter",
        Kind.EVENT,
        "sample of a counter",
        (
            PROCESS,
            Column("device", I32, "device"),
            NAME,
            Column("time_ns", I64, "time of the sample", "ns", required=True),
            Column("value", F64, "value", required=True),
            Column("unit", TEXT, "unit of the value"),
        ),
        sort=("process", "name", "time_ns"),
    ),
    Table(
        "flow",
        Kind.EVENT,
        "end of an arrow the source draws between two events; a hint, never used to link",
        (
            PROCESS,
            Column("track", I64, "thread or stream of the event"),
            Column("time_ns", I64, "time", "ns", required=True),
            Column("kind", TEXT, "what the arrow means", required=True),
            Column("id", I64, "id shared by the two ends"),
            Column("phase", TEXT, "s (start), t (step) or f (end)", required=True),
            ARGS,
        ),
    ),
    Table(
        "other",
        Kind.EVENT,
        "anything the reader did not understand, as it stood in the source",
        (
            Column("process", I64, "process id"),
            Column("time_ns", I64, "time", "ns"),
            Column("kind", TEXT, "category or table of the source", required=True),
            Column("json", TEXT, "the record as JSON", required=True),
        ),
    ),
)

_IDENTITY = (
    Table(
        "process",
        Kind.IDENTITY,
        "process of the trace",
        (
            PROCESS,
            Column("pid", I64, "process id of the operating system"),
            Column("rank", I32, "rank in the distributed job"),
            Column("world_size", I32, "ranks of the job"),
            Column("name", TEXT, "program"),
            Column("host", TEXT, "host"),
        ),
    ),
    Table(
        "device",
        Kind.IDENTITY,
        "device of a process",
        (
            PROCESS,
            DEVICE,
            Column("name", TEXT, "product name"),
            Column("vendor", TEXT, "nvidia, amd, meta, ..."),
            Column("compute_units", I32, "multiprocessors or compute units"),
            Column("memory_bytes", I64, "device memory", "bytes"),
            Column("memory_bandwidth", I64, "peak memory bandwidth", "bytes/s"),
            Column("clock_hz", I64, "peak clock", "Hz"),
            Column("architecture", TEXT, "compute capability or architecture name"),
            ARGS,
        ),
    ),
    Table(
        "track",
        Kind.IDENTITY,
        "named thread or stream",
        (
            PROCESS,
            Column("track", I64, "thread or stream id; null when the name is of the process lane"),
            NAME,
            Column("kind", TEXT, "thread, stream, process, or the metadata event's name", required=True),
            ARGS,
        ),
    ),
    Table(
        "note",
        Kind.IDENTITY,
        "data-quality remark",
        (
            Column("kind", TEXT, "what was found", required=True),
            Column("count", I64, "how often", required=True),
            Column("example", TEXT, "the first case"),
            Column("meaning", TEXT, "what was done about it and what it means for the numbers", required=True),
        ),
    ),
)

LEVEL = Column("level", I32, "`level.level`: number of the cadence level within the trace", required=True)
SEQUENCE = Column("sequence", I32, "number of the mined sequence within the trace", required=True)

_MINED = (
    Table(
        "level",
        Kind.MINED,
        "cadence at which a mined sequence repeats",
        (
            LEVEL,
            SEQUENCE,
            PROCESS,
            Column("device", I32, "device, where the sequence holds only one"),
            Column("stream", I64, "stream, where mined alone; null when streams are merged in launch order"),
            Column(
                "period",
                I64,
                "operations in one repetition; kernels, where a stream is mined alone",
                "operations",
                required=True,
            ),
            Column("kind", TEXT, "micro (within an iteration), iteration, cycle (of iterations)", required=True),
            Column("count", I64, "repetitions found", required=True),
            Column("first", I64, "ordinal of the first operation covered", required=True),
            Column("last", I64, "ordinal of the last operation covered", required=True),
            Column("period_ns", I64, "median time of a repetition, from `iteration.from_ns` to `end_ns`", "ns"),
            Column("coverage", F64, "operations inside repetitions / operations of the sequence", required=True),
            Column("confidence", F64, "0 to 1: how sure the level is", required=True),
            Column("phase_confidence", F64, "0 to 1: how sure the cut between repetitions is", required=True),
        ),
    ),
    Table(
        "iteration",
        Kind.MINED,
        "repetition at one level",
        (
            LEVEL,
            Column("iteration", I32, "number within the level, from 0", required=True),
            SEQUENCE,
            PROCESS,
            Column("first", I64, "ordinal of its first operation in the mined sequence", required=True),
            Column("last", I64, "ordinal of its last operation", required=True),
            Column("start_ns", I64, "earliest device start of its operations", "ns", required=True),
            Column("end_ns", I64, "latest device end of its operations", "ns", required=True),
            Column(
                "from_ns",
                I64,
                "where its time begins: the end of the iteration right before it, so that a wait counts to "
                "the one that waits; else its start",
                "ns",
                required=True,
            ),
            Column("operations", I64, "operations", required=True),
            Column(
                "phase",
                TEXT,
                "steady, warm-up (leading and unlike the rest) or deviating (later and unlike the rest)",
                required=True,
            ),
        ),
    ),
    Table(
        "pattern",
        Kind.MINED,
        "repeated sequence of operations",
        (
            Column("pattern", I32, "number within the trace, from 0, by time", required=True),
            SEQUENCE,
            PROCESS,
            Column("length", I32, "operations", required=True),
            Column("count", I64, "non-overlapping occurrences", required=True),
            Column("time_ns", I64, "device time of all occurrences, summed over operations", "ns", required=True),
            Column("idle_ns", I64, "time inside occurrences when none of its operations runs", "ns", required=True),
            Column("symbols", pa.list_(TEXT), "the operations: name, or copy direction, or fill", required=True),
        ),
    ),
    Table(
        "occurrence",
        Kind.MINED,
        "occurrence of a pattern",
        (
            Column("pattern", I32, "`pattern.pattern`", required=True),
            SEQUENCE,
            Column("first", I64, "ordinal of its first operation in the mined sequence", required=True),
            Column("last", I64, "ordinal of its last operation", required=True),
            Column("start_ns", I64, "earliest start", "ns", required=True),
            Column("end_ns", I64, "latest end", "ns", required=True),
            Column("time_ns", I64, "device time summed over its operations", "ns", required=True),
        ),
    ),
    Table(
        "segment",
        Kind.MINED,
        "stretch of a device's time in one state; the segments of a device tile its span",
        (
            PROCESS,
            DEVICE,
            START,
            END,
            Column("state", TEXT, "compute, communication, copy (nothing above it runs), or idle", required=True),
            Column("cause", TEXT, "why idle: exactly one cause; null when busy"),
            Column("before", TEXT, "operation that ended last before an idle segment"),
            Column("after", TEXT, "operation that starts first after it"),
        ),
        sort=("process", "device", "start_ns"),
    ),
    Table(
        "member",
        Kind.MINED,
        "operation of a mined sequence, in its order",
        (
            SEQUENCE,
            Column("ordinal", I64, "position in the sequence, from 0", required=True),
            PROCESS,
            DEVICE,
            Column("stream", I64, "stream", required=True),
            START,
            END,
            Column("kind", TEXT, "kernel, copy or fill", required=True),
            Column("symbol", I32, "id of its symbol: equal for equal operations", required=True),
        ),
    ),
)

TABLES: dict[str, Table] = {t.name: t for t in (*_EVENTS, *_IDENTITY, *_MINED)}
"""Every table by name, in the order of the documentation."""
