"""Where the tables of an Nsight Systems export come from: what every kind of export offers, and the tables' names."""

import re
from collections.abc import Callable, Iterator, Mapping
from typing import Any, Protocol

import pyarrow as pa

__all__ = ["EVENT_TABLES", "NEEDED", "OWN_TABLES", "STORED", "TABLE", "Source"]

NEEDED = ("StringIds", "CUPTI_ACTIVITY_KIND_")
"""Tables (by the start of their names) without which the rest would tell a wrong story."""

STORED = (*NEEDED, "NVTX_EVENTS")
"""Tables that no exporter makes as views."""

OWN_TABLES = (
    *("META_DATA_EXPORT", "EXPORT_META_DATA", "META_DATA_CAPTURE"),
    *("TARGET_INFO_SESSION_START_TIME", "TARGET_INFO_SYSTEM_ENV"),
)
EVENT_TABLES = re.compile(r"(CUPTI_ACTIVITY_KIND_\w+|NVTX_EVENTS|OSRT_API|CUDNN_EVENTS|CUBLAS_EVENTS)(_V\d+)?")
TABLE = re.compile(
    r"StringIds|ThreadNames|PROCESSES|ProcessStreams|UnwindMethodType|(ENUM|ANALYSIS|TARGET_INFO|META_DATA)_\w+"
    r"|EXPORT_META_DATA|DIAGNOSTIC_EVENT|PROFILER_OVERHEAD|(CUPTI_ACTIVITY_KIND|NVTX|CUDA|OSRT|CUDNN|CUBLAS|MPI)_\w+"
    r"|(SCHED|COMPOSITE|GENERIC)_EVENTS?|SAMPLING_CALLCHAINS|(GPU|VULKAN|OPENGL|DX11|DX12|ETW|NIC|NET|UCX)_\w+"
)
"""Names of tables of an export, as its SQLite schema reference lists them: enough of them to know one by."""


class Source(Protocol):
    """The tables of one export, however they are stored: a SQLite database is one.

    A column holds int64, float64, string or binary. Values that do not fit the type asked for are null; `report` says
    how many.
    """

    @property
    def path(self) -> object:
        """What the user calls the export."""
        ...

    @property
    def tables(self) -> Mapping[str, Mapping[str, pa.DataType]]:
        """The columns of each table."""
        ...

    @property
    def views(self) -> frozenset[str]:
        """The names that only look like tables."""
        ...

    def damage(self, table: str) -> str | None:
        """What is wrong with the table as a whole, or None."""
        ...

    def count(self, table: str) -> int:
        """The number of its rows."""
        ...

    def rows(self, table: str, column: str = "", values: tuple[int, ...] = ()) -> list[dict[str, Any]]:
        """A small table as one dictionary per row; with a column, only the rows in which it has one of the values."""
        ...

    def batches(self, table: str, columns: Mapping[str, pa.DataType]) -> Iterator[pa.RecordBatch]:
        """The rows in stored order, with the columns asked for; a column the table does not have is null."""
        ...

    def report(self, note: Callable[..., None]) -> None:
        """Says what was mended, as notes."""
        ...
