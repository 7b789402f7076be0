"""Exports of Nsight Systems that are stored by column: many tables, each read in batches with only the columns asked.

Of a table, one batch is in memory at a time.
"""

from collections import Counter
from collections.abc import Callable, Iterator, Mapping
from typing import Any, Protocol

import pyarrow as pa
import pyarrow.compute

from ..store.errors import UnreadableFile
from .database_columns import INT, TEXT
from .nsys_source import NEEDED
from .nsys_values import declared, fitted

__all__ = ["AGAIN", "BATCH_ROWS", "COMPLAINTS", "Columnar", "Stored", "implausible"]

pc: Any = pyarrow.compute  # its functions are made at import, so its types say nothing

COMPLAINTS = (pa.ArrowException, OSError, UnicodeDecodeError, OverflowError, MemoryError)
"""What Arrow raises for damaged data: also for names that are no text, and for sizes beyond all memory."""

BATCH_ROWS = 65_536
SMALL_ROWS = 1_000_000
ROWS_OF_A_BYTE = 64
BOMB_BYTES, BOMB_RATIO = 1 << 30, 1_000
AGAIN = "copy the export again, or export the report again with nsys export"

MEANINGS = {
    "ill-typed": "values of another type than their column's: read as null",
    "bad-text": "text that is not UTF-8: the wrong bytes are replaced",
    "long-table": "a table of names that has more than a million rows: the rest is not read",
    "cut-table": "a table of the export is damaged: its rows from there on are missing",
    "unread-column": "columns of a type that no export is known to have: not read",
}


class Stored(Protocol):
    """One table as it is stored."""

    @property
    def schema(self) -> pa.Schema:
        """Its columns as stored."""
        ...

    @property
    def count(self) -> int:
        """The number of its rows."""
        ...

    def batches(self, columns: list[str]) -> Iterator[pa.RecordBatch]:
        """The rows with at least one of those columns; a column may be missing where a part of the table lacks it."""
        ...


class Columnar:
    """The tables of an export by name, and what is wrong with those that cannot be read."""

    def __init__(self, path: str, tables: Mapping[str, Stored], damaged: Mapping[str, str]) -> None:
        self.path = path
        self.views: frozenset[str] = frozenset()
        self._stored = tables
        self._damaged = dict(damaged)
        self._mended: Counter[tuple[str, str]] = Counter()
        self.tables: dict[str, dict[str, pa.DataType]] = {name: {} for name in damaged}
        for name, stored in tables.items():
            self.tables[name] = self._columns(name, stored.schema)

    def damage(self, table: str) -> str | None:
        """What is wrong with the table as a whole, or None: the rest shows when it is read."""
        return self._damaged.get(table)

    def count(self, table: str) -> int:
        """The number of its rows."""
        return self._stored[table].count

    def rows(self, table: str, column: str = "", values: tuple[int, ...] = ()) -> list[dict[str, Any]]:
        """A small table as one dictionary per row (at most a million); with a column, those rows that have a value."""
        columns = self.tables[table]
        if column and column not in columns:
            return []
        found: list[dict[str, Any]] = []
        for batch in self.batches(table, columns | dict.fromkeys([column] if column else [], INT)):
            wanted = pc.is_in(batch.column(column), pa.array(values, INT)) if column else None
            found += (batch if wanted is None else batch.filter(wanted)).to_pylist()
            if len(found) > SMALL_ROWS:
                self._mended["long-table", table] += 1
                return found[:SMALL_ROWS]
        return found

    def batches(self, table: str, columns: Mapping[str, pa.DataType]) -> Iterator[pa.RecordBatch]:
        """The table's rows in stored order, with the columns asked for as int64, float64, string or binary.

        A column the table does not have is null. Raises `UnreadableFile` where a table that the rest depends on is
        damaged; another table ends there, which is counted.
        """
        waiting: list[pa.RecordBatch] = []
        rows = 0
        for batch in self._sound(table, columns):
            waiting.append(batch)
            rows += batch.num_rows
            if rows >= BATCH_ROWS // 2:
                yield _joined(waiting)
                waiting, rows = [], 0
        if waiting:
            yield _joined(waiting)

    def report(self, note: Callable[..., None]) -> None:
        """Says what was mended, as notes."""
        for (kind, place), count in sorted(self._mended.items()):
            note(kind, MEANINGS[kind], count=count, example=place)

    def _columns(self, table: str, schema: pa.Schema) -> dict[str, pa.DataType]:
        found: dict[str, pa.DataType] = {}
        for field in schema:
            kind = declared(field.type)
            if kind is None:
                self._mended["unread-column", f"{table}.{field.name}"] += 1
            else:
                found[field.name] = kind
        return found

    def _sound(self, table: str, columns: Mapping[str, pa.DataType]) -> Iterator[pa.RecordBatch]:
        """The rows until the end or the first damage."""
        stored = self._stored[table]
        there = [name for name in columns if name in self.tables[table]]
        try:
            for raw in stored.batches(there) if there else _nothing(stored.count):
                yield self._fitted(raw, columns, table)
        except COMPLAINTS as error:
            if table.startswith(NEEDED):
                raise UnreadableFile(f"{self.path}: table {table} is damaged: {_said(error)}", AGAIN) from error
            self._mended["cut-table", table] = 1  # a table that is read twice is still one

    def _fitted(self, batch: pa.RecordBatch, columns: Mapping[str, pa.DataType], table: str) -> pa.RecordBatch:
        there = set(batch.schema.names)
        arrays: list[pa.Array] = []
        for name, kind in columns.items():

            def count(what: str, number: int, name: str = name) -> None:
                self._mended[what, f"{table}.{name}"] += number

            known = name in there and name in self.tables[table]
            arrays.append(fitted(batch.column(name), kind, count) if known else pa.nulls(batch.num_rows, kind))
        if not arrays:
            return pa.RecordBatch.from_arrays([pa.nulls(batch.num_rows, TEXT)], names=[""])
        return pa.RecordBatch.from_arrays(arrays, names=list(columns))


def _nothing(rows: int) -> Iterator[pa.RecordBatch]:
    for first in range(0, rows, BATCH_ROWS):
        yield pa.RecordBatch.from_arrays([pa.nulls(min(BATCH_ROWS, rows - first))], names=[""])


def _joined(batches: list[pa.RecordBatch]) -> pa.RecordBatch:
    return batches[0] if len(batches) == 1 else pa.concat_batches(batches)


def implausible(rows: int, unpacked: int, size: int) -> str | None:
    """Why so many rows, or so many bytes, cannot be what was packed into that many: made to fill memory."""
    if rows < 0 or rows > max(SMALL_ROWS, ROWS_OF_A_BYTE * size):
        return f"{rows:,} rows in {size:,} bytes"
    if unpacked < 0 or unpacked > max(BOMB_BYTES, BOMB_RATIO * size):
        return f"{unpacked:,} bytes unpacked from {size:,}"
    return None


def _said(error: BaseException) -> str:
    return " ".join(str(error).split())[:200] or type(error).__name__
