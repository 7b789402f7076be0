"""Activities of CUPTI in batches, wherever they are kept: what the modules that turn them into our tables need."""

from collections.abc import Iterator, Mapping
from typing import Any, Protocol

import pyarrow as pa

from .database_columns import Rows
from .sink import Sink

__all__ = ["Activities"]


class Activities(Protocol):
    """The activities of one source on their way into a sink.

    `calls` maps a process to the correlation ids of its host calls, `device_work` holds the devices that did
    something by process, `main` is the process of what says of none.
    """

    sink: Sink
    calls: dict[int, list[pa.Array]]
    device_work: set[tuple[int, int]]
    main: int

    def events(
        self, kind: str, columns: Mapping[str, pa.DataType], left_out: frozenset[str] = frozenset()
    ) -> Iterator[Rows]:
        """The activities of a kind (`MEMCPY`), with CUPTI's names of columns; the first is the time each must have."""
        ...

    def rows(self, kind: str) -> list[dict[str, Any]]:
        """The activities of a kind of which there are few, as dictionaries."""
        ...

    def text(self, ids: pa.Array) -> pa.DictionaryArray:
        """The texts of their numbers; null where there is none."""
        ...

    def function(self, interface: str, number: int) -> str:
        """The name of a call of the interface (runtime, driver) by its number."""
        ...

    def process(self, correlation: pa.Array) -> pa.Array:
        """The process of device work."""
        ...

    def threads(self, rows: Rows) -> tuple[pa.Array, pa.Array]:
        """The process and the thread of activities that belong to an object; null for other objects' thread."""
        ...

    def launch(self, correlation: pa.Array) -> pa.Array | None:
        """The ordinal of the call that caused device work, where the source tells it without the calls."""
        ...

    def external(self, correlation: pa.Array) -> pa.Array | None:
        """The framework's id of what was going on at the call; None where the source has no such ids."""
        ...

    def place(self, values: pa.Array, column: str) -> pa.Array:
        """A device or stream, which all device work must have: 0 where none is given that fits."""
        ...

    def fitting(self, values: pa.Array, column: str) -> pa.Array:
        """Numbers that must fit 32 bits: null, and counted, where they do not."""
        ...
