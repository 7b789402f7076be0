"""Reads the rows of a large SQLite table straight from its pages, in Arrow's layout and at once checked.

SQLite's own way costs 40 ns a value and a check of its own; this costs a tenth and checks on the way. It knows the
plain case alone: a table with row ids whose rows fit their pages. Whatever it does not know it leaves to SQLite.
The format: https://sqlite.org/fileformat.html, sections 1.6 (pages) and 2.1 (records).
"""

import os
import struct
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from .sqlite_records import (
    BEFORE_ALL,
    FINE,
    LEAF,
    NUMBER,
    PADDING,
    REAL,
    TEXTS,
    check_rows,
    read_rows,
)

__all__ = ["Pages", "find_pages"]

INTERIOR = 5
DEEPEST = 20
BLOCK_BYTES = 1 << 19
BATCH_ROWS = 40_000
"""No power of two: columns so far apart would push one another out of the processor's cache."""

TEXT_BYTES = 16 * BLOCK_BYTES
KINDS = {pa.int64(): NUMBER, pa.float64(): REAL}

Bytes = npt.NDArray[np.uint8]
Ints = npt.NDArray[np.int64]


class Pages:
    """The leaf pages of one table, in order of its rows. `count` is the number of rows, once `sound` has said yes.

    A page of no rows is sound only where it is the whole table: SQLite refuses any other.
    """

    def __init__(self, path: Path, page_bytes: int, usable: int, leaves: Ints, *, whole: bool) -> None:
        self.count = 0
        self._path = path
        self._page_bytes = page_bytes
        self._usable = usable
        self._leaves = leaves
        self._least_cells = 0 if whole else 1

    def __len__(self) -> int:
        return len(self._leaves)

    def sound(self, least: int = 0) -> bool:
        """Whether every row is where and what it must be, and of the plain kind; one pass, 1 ns a value.

        A row with fewer values than `least` is not plain: what it lacks is not null.
        """
        last, self.count = BEFORE_ALL, 0
        for block, cells in self._blocks():
            rows, last = check_rows(block, self._page_bytes, self._usable, least, last)
            if rows != cells.sum() or cells.min() < self._least_cells:
                return False
            self.count += rows
        return True

    def batches(self, slots: Sequence[int], columns: Mapping[str, pa.DataType], alias: int) -> Iterator[pa.RecordBatch]:
        """The columns, found at those places of each record, until the end or the first value of another type.

        `alias` is the place of the column that stands for the row id, or -1. Texts come as bytes.
        """
        want = np.full(max(slots) + 1, -1, np.int32)
        want[list(slots)] = np.arange(len(slots))
        gathered, last = _Gathered(columns), BEFORE_ALL
        for block, cells in self._blocks():
            if not gathered.has_room(rows := int(cells.sum())):
                if gathered.rows:
                    yield gathered.taken()
                gathered.make_room(rows)
            state, last = gathered.read(block, self._page_bytes, self._usable, want, alias, last)
            if state != FINE:
                break
        if gathered.rows:
            yield gathered.taken()

    def _blocks(self) -> Iterator[tuple[Bytes, Ints]]:
        """The leaves' bytes, half a megabyte at a time, and how many cells each says it holds."""
        size = self._page_bytes
        at_once = BLOCK_BYTES // size
        block = np.zeros(BLOCK_BYTES + PADDING, np.uint8)
        descriptor = os.open(self._path, os.O_RDONLY)
        try:
            for first in range(0, len(self._leaves), at_once):
                leaves = self._leaves[first : first + at_once]
                breaks = np.flatnonzero(np.diff(leaves) != 1) + 1
                for begin, end in zip([0, *breaks.tolist()], [*breaks.tolist(), len(leaves)], strict=True):
                    piece = block.data[begin * size : end * size]
                    if os.preadv(descriptor, [piece], int(leaves[begin] - 1) * size) != len(piece):
                        block[begin * size : end * size] = 0
                pages = block[: len(leaves) * size]
                cells = pages[3::size].astype(np.int64) * 256 + pages[4::size]
                yield block[: len(leaves) * size + PADDING], cells
        finally:
            os.close(descriptor)


class _Gathered:
    """Rows read and not yet handed on, in memory that serves every batch again."""

    def __init__(self, columns: Mapping[str, pa.DataType]) -> None:
        self.rows = 0
        self._columns = columns
        lines = np.cumsum([kind not in KINDS for kind in columns.values()]) - 1
        kinds = [KINDS.get(kind, TEXTS + line) for kind, line in zip(columns.values(), lines.tolist(), strict=True)]
        self._kinds = np.array(kinds, np.int32)
        self._nulls, self._used = np.zeros(len(columns), np.int64), np.zeros(len(columns), np.int64)
        self._numbers = np.empty((len(columns), BATCH_ROWS), np.int64)
        self._absent = np.zeros(self._numbers.shape, np.bool_)
        self._constants: dict[int, tuple[int, pa.Array]] = {}
        self._texts = np.empty((int(lines[-1]) + 1, TEXT_BYTES), np.uint8)

    def has_room(self, cells: int) -> bool:
        """Whether a block of so many rows fits behind those that are there."""
        return self.rows + cells <= self._numbers.shape[1] and int(self._used.max()) + BLOCK_BYTES <= TEXT_BYTES

    def make_room(self, cells: int) -> None:
        """Makes the memory, which must be empty, large enough for a block of so many rows."""
        if cells > self._numbers.shape[1]:
            self._numbers = np.empty((len(self._columns), cells), np.int64)
            self._absent = np.zeros(self._numbers.shape, np.bool_)

    def read(
        self, block: Bytes, page_bytes: int, usable: int, want: npt.NDArray[np.int32], alias: int, last: int
    ) -> tuple[int, int]:
        """Appends the rows of the block; why it stopped, and the last row id."""
        self.rows, state, last = read_rows(
            block, page_bytes, usable, want, self._kinds, alias, last, self.rows,
            self._nulls, self._used, self._numbers, self._absent, self._texts,
        )  # fmt: skip
        return state, last

    def taken(self) -> pa.RecordBatch:
        """The rows as a batch of their own; the memory is empty again."""
        arrays = [self._array(at, kind) for at, kind in enumerate(self._columns.values())]
        self.rows, self._nulls[:], self._used[:] = 0, 0, 0
        return pa.RecordBatch.from_arrays(arrays, names=list(self._columns))

    def _array(self, column: int, kind: pa.DataType) -> pa.Array:
        numbers, absent = self._numbers[column, : self.rows], self._absent[column, : self.rows]
        present = None
        if self._nulls[column]:
            everywhere = absent.all()
            present = None if everywhere else pa.py_buffer(np.packbits(~absent, bitorder="little"))
            absent[:] = False
            if everywhere:
                return pa.nulls(self.rows, kind if kind in KINDS else pa.binary())
        if kind in KINDS:
            if present is None and (numbers == numbers[0]).all():
                return self._constant(column, kind)
            return pa.Array.from_buffers(kind, self.rows, [present, _copied(numbers)])
        ends = np.zeros(self.rows + 1, np.int32)
        ends[1:] = numbers
        texts = _copied(self._texts[self._kinds[column] - TEXTS, : ends[-1]])
        return pa.Array.from_buffers(pa.binary(), self.rows, [present, pa.py_buffer(ends), texts])

    def _constant(self, column: int, kind: pa.DataType) -> pa.Array:
        """A column whose rows are all the same: the array of the batch before, if that had the same."""
        number = int(self._numbers[column, 0])
        known, values = self._constants.get(column, (0, None))
        if values is None or known != number or len(values) < self.rows:
            values = pa.Array.from_buffers(kind, self.rows, [None, _copied(self._numbers[column, : self.rows])])
            self._constants[column] = number, values
        return values.slice(0, self.rows)


def find_pages(path: Path, root: int) -> Pages | None:
    """The leaf pages below that root; None where the tree is not plain, or not sound."""
    with path.open("rb") as file:
        header = file.read(100)
        page_bytes = struct.unpack(">H", header[16:18])[0]
        page_bytes = 65_536 if page_bytes == 1 else page_bytes
        usable = page_bytes - header[20]
        there = path.stat().st_size // page_bytes if page_bytes >= 512 else 0
        level, depth, seen = np.array([root], np.int64), 0, np.zeros(there + 1, np.bool_)
        while depth < DEEPEST:
            if (
                not len(level)
                or level.min() < 2
                or level.max() > there
                or seen[level].any()
                or len(np.unique(level)) != len(level)
            ):
                return None
            seen[level] = True
            file.seek(int(level[0] - 1) * page_bytes)
            if file.read(1)[0] == LEAF:
                return Pages(path, page_bytes, usable, level, whole=depth == 0)
            children: list[Ints] = []
            for page in level.tolist():
                file.seek((page - 1) * page_bytes)
                below = _children(np.frombuffer(file.read(page_bytes), np.uint8), usable)
                if below is None:
                    return None
                children.append(below)
            level, depth = np.concatenate(children), depth + 1
    return None


def _children(page: Bytes, usable: int) -> Ints | None:
    cells = int(page[3]) * 256 + int(page[4])
    if page[0] != INTERIOR or cells == 0 or 12 + 2 * cells > usable:
        return None
    at = page[12 : 12 + 2 * cells].view(">u2").astype(np.int64)
    if at.min() < 12 + 2 * cells or at.max() > usable - 5:
        return None
    at = np.append(at, 8)  # the rightmost child stands in the page's header
    parts = [page[at + i].astype(np.int64) << (24 - 8 * i) for i in range(4)]
    return parts[0] | parts[1] | parts[2] | parts[3]


def _copied(values: npt.NDArray[Any]) -> pa.Buffer:
    """The values in memory of Arrow's own, which it gives back to the next batch."""
    buffer = pa.allocate_buffer(values.nbytes)
    np.frombuffer(buffer, values.dtype)[:] = values
    return buffer
