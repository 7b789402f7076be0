"""Rows of one table that wait until all are there: in memory while they are few, on disk beyond that.

Text is kept as numbers into a dictionary, one for each run of rows, so that moving rows moves numbers. On disk each
column of a run stands for itself: the others need not be read with it, nor be in memory when it is moved.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path
from typing import Any, TypeAlias

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute

__all__ = ["NOTHING", "REPEATED", "Spool", "compact", "joined", "kept", "nulls", "taken", "whole"]

pc: Any = pyarrow.compute  # its functions are made at import, so its types say nothing
Ints = npt.NDArray[np.int64]
Rows = npt.NDArray[np.int64] | npt.NDArray[np.int32]

NOTHING = np.iinfo(np.int64).min
"""Stands for null where an array of integers has no mask."""

REPEATED = pa.dictionary(pa.int32(), pa.string())
"""How text is kept, and how readers may give it."""


def kept(kind: pa.DataType) -> pa.DataType:
    """The type in which a column of that type is kept."""
    return REPEATED if kind == pa.string() else kind


def whole(column: pa.Array | pa.ChunkedArray) -> pa.Array:
    """The column as one array: its only chunk as it is, which Arrow's own function would copy."""
    if not isinstance(column, pa.ChunkedArray):
        return column
    return column.chunk(0) if column.num_chunks == 1 else column.combine_chunks()


def nulls(rows: int, kind: pa.DataType) -> pa.Array:
    """So many nulls of that type; what it gives is shared."""
    return _nulls(1 << max(rows - 1, 0).bit_length(), kind).slice(0, rows)


@lru_cache(maxsize=64)
def _nulls(rows: int, kind: pa.DataType) -> pa.Array:
    return pa.nulls(rows, kind)


RUN_ROWS = 32_768
CHUNK_ROWS = 65_536


Place: TypeAlias = tuple[int, int]
"""Where an array begins in the spool's file, and how many bytes it has."""


Choice: TypeAlias = slice | pa.Array
"""Which rows: those that stand together, or their numbers."""


@dataclass(frozen=True)
class _Stored:
    """A run of rows in the spool's file: the places of each column's values, or of its codes and its dictionary."""

    columns: Mapping[str, tuple[Place, ...]]


class Spool:
    """Takes tables of any of the same columns; gives whole columns, and the rows in any order, piece by piece.

    `path` is the file for what does not stay in memory. Columns a table leaves out are null.
    """

    def __init__(self, path: Path) -> None:
        self._path = path
        self._file: pa.NativeFile | None = None
        self._stored: pa.NativeFile | None = None
        self._pending: list[pa.Table] = []
        self._pending_rows = 0
        self._runs: list[pa.Table | _Stored] = []
        self._starts = [0]
        self._types: dict[str, pa.DataType] = {}

    def __len__(self) -> int:
        return self._starts[-1] + self._pending_rows

    @property
    def columns(self) -> tuple[str, ...]:
        """The columns that any of the tables had."""
        return tuple(self._types)

    def append(self, piece: pa.Table) -> None:
        """Adds rows. Text columns may be of either kind."""
        for field in piece.schema:
            self._types.setdefault(field.name, kept(field.type))
        self._pending.append(piece)
        self._pending_rows += len(piece)
        if self._pending_rows >= RUN_ROWS:
            self._spill()

    def numbers(self, column: str, out: Ints | None = None) -> Ints:
        """A whole column of integers in order of arrival, shape (rows,), in `out` if given; NOTHING where null."""
        values = np.empty(len(self), np.int64) if out is None else out
        values[:] = NOTHING
        if column in self._types:
            for start, run in self._read([column]):
                there = run[column]
                if there.null_count < len(run):
                    there = pc.fill_null(there.cast(pa.int64()), NOTHING) if there.null_count else there
                    values[start : start + len(run)] = there.to_numpy()
        return values

    def pieces(self, columns: Sequence[str] | None = None) -> Iterator[pa.Table]:
        """All rows in order of arrival, with all columns or those of the given ones that there are."""
        for _, run in self._read(None if columns is None else [name for name in columns if name in self._types]):
            yield run

    def ordered(self, order: Rows, *, at_once: int | None = None) -> Iterator[tuple[slice, pa.Table]]:
        """The rows in that order in pieces, and which part of the order each is. Reads each run once a piece at most.

        Rows that came nearly in order are read once or twice.
        """
        step = at_once or CHUNK_ROWS
        for first in range(0, len(order), step):
            part = slice(first, min(first + step, len(order)))
            yield part, self.rows(order[part])

    def close(self) -> None:
        """Removes the file."""
        if self._file and self._stored:
            self._file.close()
            self._stored.close()
            self._path.unlink()
        self._file = self._stored = None
        self._runs, self._pending = [], []

    def rows(self, wanted: Rows) -> pa.Table:
        """The rows with those numbers, of which there is at least one."""
        self._rest()
        of_run = np.searchsorted(self._starts, wanted, "right") - 1
        runs = np.flatnonzero(np.bincount(of_run))
        if len(runs) == 1:
            return taken(self._load(int(runs[0]), list(self._types)), wanted - self._starts[runs[0]])
        grouped = np.argsort(of_run.astype(np.int16) if len(self._runs) <= 1 << 15 else of_run, kind="stable")
        bounds = np.searchsorted(of_run[grouped], np.r_[runs, runs[-1] + 1])
        parts = [
            (int(run), _choice(wanted[grouped[begin:end]] - self._starts[run], self._rows_of(int(run))))
            for run, begin, end in zip(runs, bounds, bounds[1:], strict=False)
        ]
        place = np.empty(len(wanted), np.int64)
        place[grouped] = np.arange(len(wanted))
        placed = _choice(place, len(place))
        # Column by column: all columns of all the runs would take several times the memory of the rows.
        return pa.table({name: _chosen(self._gathered(name, parts), placed) for name in self._types})

    def _gathered(self, name: str, parts: Sequence[tuple[int, Choice]]) -> pa.Array:
        """Some rows of a column, of several runs."""
        kind = self._types[name]
        chunks = [_chosen(whole(self._column(run, name)), choice) for run, choice in parts]
        column = pa.chunked_array([chunk if chunk.type == kind else chunk.cast(kind) for chunk in chunks])
        return whole(column.unify_dictionaries() if kind == REPEATED else column)

    def _spill(self) -> None:
        run = joined(self._pending)
        if self._file is None:
            self._file = pa.OSFile(str(self._path), "wb")
            self._stored = pa.OSFile(str(self._path), "rb")
        places = {
            name: tuple(_put(self._file, part) for part in _parts(whole(column)))
            for name, column in zip(run.column_names, run.columns, strict=True)
        }
        self._add(_Stored(places), len(run))

    def _rest(self) -> None:
        if self._pending:
            run = joined(self._pending)
            self._add(run, len(run))

    def _add(self, run: pa.Table | _Stored, rows: int) -> None:
        self._runs.append(run)
        self._starts.append(self._starts[-1] + rows)
        self._pending, self._pending_rows = [], 0

    def _read(self, columns: list[str] | None) -> Iterator[tuple[int, pa.Table]]:
        self._rest()
        for number, start in enumerate(self._starts[:-1]):
            yield start, self._load(number, list(self._types) if columns is None else columns)

    def _load(self, number: int, columns: list[str]) -> pa.Table:
        """Some columns of a run; those that it lacks are null."""
        return pa.table({name: self._column(number, name) for name in columns}).combine_chunks()

    def _rows_of(self, number: int) -> int:
        return self._starts[number + 1] - self._starts[number]

    def _column(self, number: int, name: str) -> pa.Array | pa.ChunkedArray:
        run, rows = self._runs[number], self._rows_of(number)
        if not isinstance(run, _Stored):
            return run[name] if name in run.column_names else nulls(rows, self._types[name])
        if name not in run.columns or self._stored is None:
            return nulls(rows, self._types[name])
        parts = [_got(self._stored, place) for place in run.columns[name]]
        return pa.DictionaryArray.from_arrays(*parts, safe=False) if len(parts) > 1 else parts[0]


def _parts(column: pa.Array) -> tuple[pa.Array, ...]:
    return (column.indices, column.dictionary) if isinstance(column, pa.DictionaryArray) else (column,)


def _put(file: pa.NativeFile, array: pa.Array) -> Place:
    """Writes an array at the end of the file."""
    begin = file.tell()
    batch = pa.RecordBatch.from_arrays([array], [""])
    with pa.ipc.new_stream(file, batch.schema) as writer:
        writer.write_batch(batch)
    return begin, file.tell() - begin


def _got(file: pa.NativeFile, place: Place) -> pa.Array:
    """Reads an array; it keeps nothing else in memory."""
    begin, size = place
    return pa.ipc.open_stream(file.read_at(size, begin)).read_next_batch().column(0)


def joined(pieces: list[pa.Table]) -> pa.Table:
    """The pieces as one, without chunks; each text column with one dictionary of what it holds."""
    types: dict[str, pa.DataType] = {}
    for piece in pieces:
        for field in piece.schema:
            types.setdefault(field.name, kept(field.type))
    if len(pieces) == 1 and all(pieces[0].schema.field(name).type == kind for name, kind in types.items()):
        return pieces[0].combine_chunks()
    alike = [pa.table({name: _column(piece, name, type) for name, type in types.items()}) for piece in pieces]
    return pa.concat_tables(alike).unify_dictionaries().combine_chunks()


def compact(column: pa.DictionaryArray) -> pa.DictionaryArray:
    """The same with a dictionary that holds only what the rows use, when it holds much else."""
    words = column.dictionary
    if len(words) <= 64:
        return column
    valid = column.indices.drop_null() if column.null_count else column.indices
    used = np.flatnonzero(np.bincount(valid.to_numpy(), minlength=len(words)))
    if 2 * len(used) > len(words):
        return column
    place = np.zeros(len(words), np.int32)
    place[used] = np.arange(len(used), dtype=np.int32)
    codes = pc.fill_null(column.indices, 0).to_numpy()
    mask = column.is_null().to_numpy(zero_copy_only=False) if column.null_count else None
    return pa.DictionaryArray.from_arrays(pa.array(place[codes], mask=mask), words.take(pa.array(used)), safe=False)


def _column(piece: pa.Table, name: str, kind: pa.DataType) -> Any:
    if name not in piece.column_names:
        return nulls(len(piece), kind)
    column = piece[name]
    if column.type == kind:
        return column
    return column.dictionary_encode() if kind == REPEATED else column.cast(kind)


def taken(table: pa.Table, rows: Rows) -> pa.Table:
    """Those rows of the table. They are not moved if they stand together and are most of what then stays in memory."""
    return _chosen(table, _choice(rows, len(table)))


def _choice(rows: Rows, among: int) -> Choice:
    if 2 * len(rows) > among and rows[-1] - rows[0] == len(rows) - 1 and (np.diff(rows) == 1).all():
        return slice(int(rows[0]), int(rows[0]) + len(rows))
    return pa.array(rows)


def _chosen(values: Any, choice: Choice) -> Any:
    """Those rows of an array or a table."""
    return values[choice] if isinstance(choice, slice) else values.take(choice)
