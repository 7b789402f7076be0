"""What tables are made of: columns with types, meanings and units, and the columns that several tables share."""

from dataclasses import dataclass
from enum import StrEnum

import pyarrow as pa

__all__ = [
    "ARGS",
    "COPY_KINDS",
    "CORRELATION",
    "DEVICE",
    "DEVICE_OPERATION",
    "END",
    "EVENT_INDEX",
    "EXTERNAL",
    "F64",
    "FLAW",
    "FLAWS",
    "HOST_SPAN",
    "I32",
    "I64",
    "LAUNCH",
    "NAME",
    "NEGATIVE",
    "NO_END",
    "NO_START",
    "OVERFLOW",
    "OVERLONG",
    "PROCESS",
    "START",
    "TEXT",
    "THREAD",
    "Column",
    "Kind",
    "Table",
]

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


FLAWS = NEGATIVE, OVERFLOW, OVERLONG, NO_END, NO_START = (
    "negative duration",
    "timestamp overflow",
    "overlong",
    "no end",
    "no start",
)
"""What is wrong with the times of an event. With "no start" its start is not to be trusted either."""


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


I32, I64, F64, TEXT = pa.int32(), pa.int64(), pa.float64(), pa.string()

PROCESS = Column("process", I64, "process id the event belongs to, unique within the trace", required=True)
THREAD = Column("thread", I64, "thread id on the host")
START = Column("start_ns", I64, "start", "ns", required=True)
END = Column("end_ns", I64, "end; never before the start", "ns", required=True)
NAME = Column("name", TEXT, "name as recorded, demangled where the source gives that")
DEVICE = Column("device", I32, "device ordinal as the process numbers it", required=True)
CORRELATION = Column("correlation", I64, "id shared by a host call and the device work it caused, per process")
EXTERNAL = Column("external", I64, "the framework's id of the operator, where it is not that of `op` (`op.external`)")
EVENT_INDEX = Column("event_index", I64, "position in the profiler's own list of events")
FLAW = Column(
    "flaw",
    TEXT,
    f"why its times are not to be trusted: {', '.join(FLAWS)}; the end is then set to the start, so that no sum uses "
    "it, and `args` keeps the recorded one as `recorded_end_ns`",
)
ARGS = Column("args", TEXT, "JSON object of what the source says and no column holds")
DEVICE_OPERATION = (
    PROCESS,
    DEVICE,
    Column("context", I64, "driver context"),
    Column("stream", I64, "stream or queue", required=True),
    START,
    END,
    FLAW,
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
    EXTERNAL,
    ARGS,
)
HOST_SPAN = (PROCESS, THREAD, START, END, FLAW)
