"""Reads the rows of a large SQLite table straight from its pages, in Arrow's layout and at once checked.

SQLite's own way costs 40 ns a value and a check of its own; this costs a quarter and checks on the way. It knows
the plain case alone: a table with row ids whose rows fit their pages. Whatever it does not know it leaves to SQLite.
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

from ..store.compiled import jit

__all__ = ["Pages", "find_pages"]

INTERIOR, LEAF = 5, 13
DEEPEST = 20
PAGES_AT_ONCE = 1_024
PADDING = 16
FINE, UNKNOWN, ILL_TYPED = 0, 1, 2
NUMBER, REAL, BYTES = 0, 1, 2
KINDS = {pa.int64(): NUMBER, pa.float64(): REAL, pa.string(): BYTES, pa.binary(): BYTES}
BEFORE_ALL = -(2**63)

Bytes = npt.NDArray[np.uint8]
Ints = npt.NDArray[np.int64]


class Pages:
    """The leaf pages of one table, in order of its rows. `count` is the number of rows, once `sound` has said yes."""

    def __init__(self, path: Path, page_bytes: int, usable: int, leaves: Ints) -> None:
        self.count = 0
        self._path = path
        self._page_bytes = page_bytes
        self._usable = usable
        self._leaves = leaves

    def __len__(self) -> int:
        return len(self._leaves)

    def sound(self) -> bool:
        """Whether every row is where and what it must be, and of the plain kind; one pass, 0.1 s per million rows."""
        nothing = np.full(1, -1, np.int32)
        none = np.zeros((1, 1), np.int64)
        last, self.count = BEFORE_ALL, 0
        for block, cells in self._blocks():
            rows, state, last = _read(
                block, self._page_bytes, self._usable, nothing, nothing, -1, last, none, none.view(np.float64), none > 0
            )
            if state != FINE or rows != cells:
                return False
            self.count += rows
        return True

    def batches(self, slots: Sequence[int], columns: Mapping[str, pa.DataType], alias: int) -> Iterator[pa.RecordBatch]:
        """The columns, found at those places of each record, until the end or the first value of another type.

        `alias` is the place of the column that stands for the row id, or -1. Texts come as bytes.
        """
        kinds = np.array([KINDS[kind] for kind in columns.values()], np.int32)
        want = np.full(max(slots) + 1, -1, np.int32)
        want[list(slots)] = np.arange(len(slots))
        last = BEFORE_ALL
        numbers, valid = np.zeros((len(slots), 0), np.int64), np.zeros((len(slots), 0), np.bool_)
        for block, cells in self._blocks():
            if numbers.shape[1] < cells:
                numbers, valid = np.zeros((len(slots), cells), np.int64), np.zeros((len(slots), cells), np.bool_)
            reals = numbers.view(np.float64)
            rows, state, last = _read(
                block, self._page_bytes, self._usable, want, kinds, alias, last, numbers, reals, valid
            )
            if state == UNKNOWN:
                return
            arrays = [
                _array(kind, numbers[at, :rows], reals[at, :rows], valid[at, :rows], block)
                for at, kind in enumerate(columns.values())
            ]
            yield pa.RecordBatch.from_arrays(arrays, names=list(columns))
            if state == ILL_TYPED:
                return

    def _blocks(self) -> Iterator[tuple[Bytes, int]]:
        """The leaves' bytes, some thousand pages at a time, and how many cells they say they hold."""
        size = self._page_bytes
        block = np.zeros(PAGES_AT_ONCE * size + PADDING, np.uint8)
        descriptor = os.open(self._path, os.O_RDONLY)
        try:
            for first in range(0, len(self._leaves), PAGES_AT_ONCE):
                leaves = self._leaves[first : first + PAGES_AT_ONCE]
                breaks = np.flatnonzero(np.diff(leaves) != 1) + 1
                for begin, end in zip([0, *breaks.tolist()], [*breaks.tolist(), len(leaves)], strict=True):
                    piece = block.data[begin * size : end * size]
                    if os.preadv(descriptor, [piece], int(leaves[begin] - 1) * size) != len(piece):
                        block[begin * size : end * size] = 0
                pages = block[: len(leaves) * size]
                cells = pages[3::size].astype(np.int64) * 256 + pages[4::size]
                yield block[: len(leaves) * size + PADDING], int(cells.sum())
        finally:
            os.close(descriptor)


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
                return Pages(path, page_bytes, usable, level)
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
    if page[0] != INTERIOR or 12 + 2 * cells > usable:
        return None
    at = page[12 : 12 + 2 * cells].view(">u2").astype(np.int64)
    if cells and (at.min() < 12 + 2 * cells or at.max() > usable - 5):
        return None
    at = np.append(at, 8)  # the rightmost child stands in the page's header
    parts = [page[at + i].astype(np.int64) << (24 - 8 * i) for i in range(4)]
    return parts[0] | parts[1] | parts[2] | parts[3]


def _array(
    kind: pa.DataType, numbers: Ints, reals: npt.NDArray[np.float64], valid: npt.NDArray[np.bool_], block: Bytes
) -> pa.Array:
    """A column of its own: the arrays and the block are filled anew by the next batch."""
    mask = None if valid.all() else ~valid
    if kind == pa.int64():
        return pa.array(numbers.copy(), mask=mask)
    if kind == pa.float64():
        return pa.array(reals.copy(), mask=mask)
    places = np.where(valid, numbers, 0)
    ends = np.zeros(len(places) + 1, np.int32)
    np.cumsum(places & 0xFFFFFFFF, out=ends[1:])
    texts = np.empty(ends[-1], np.uint8)
    _gather(block, places, ends, texts)
    present = None if mask is None else pa.py_buffer(np.packbits(valid, bitorder="little"))
    return pa.Array.from_buffers(pa.binary(), len(places), [present, pa.py_buffer(ends), pa.py_buffer(texts)])


@jit()
def _varint(block: Bytes, at: Any) -> tuple[Any, Any]:
    value = np.int64(0)
    for place in range(8):
        byte = np.int64(block[at + place])
        value = (value << 7) | (byte & 0x7F)
        if byte < 0x80:
            return value, at + place + 1
    return (value << 8) | np.int64(block[at + 8]), at + 9


@jit()
def _whole(block: Bytes, at: Any, size: Any) -> Any:
    value = np.int64(block[at])
    if value >= 128:
        value -= 256
    for place in range(1, size):
        value = (value << 8) | np.int64(block[at + place])
    return value


@jit()
def _read(
    block: Bytes,
    page_bytes: int,
    usable: int,
    want: npt.NDArray[np.int32],
    kinds: npt.NDArray[np.int32],
    alias: int,
    last: int,
    numbers: Ints,
    reals: npt.NDArray[np.float64],
    valid: npt.NDArray[np.bool_],
) -> tuple[int, int, int]:
    """Reads the rows of all pages of the block: how many were read, why it stopped, and the last row id."""
    sizes = np.array([0, 1, 2, 3, 4, 6, 8, 8, 0, 0], np.int64)
    slots = len(want)
    row = 0
    for page in range(0, len(block) - PADDING, page_bytes):
        cells = np.int64(block[page + 3]) * 256 + np.int64(block[page + 4])
        lowest = 8 + 2 * cells
        if block[page] != LEAF or lowest > usable:
            return row, UNKNOWN, last
        for cell in range(cells):
            at = np.int64(block[page + 8 + 2 * cell]) * 256 + np.int64(block[page + 9 + 2 * cell])
            if at < lowest or at > usable - 4:
                return row, UNKNOWN, last
            size, at = _varint(block, page + at)
            id, at = _varint(block, at)
            end = at + size
            if size < 1 or size > usable - 35 or end > page + usable or (id <= last and last != BEFORE_ALL):
                return row, UNKNOWN, last
            width, position = _varint(block, at)
            if width < 1 or width > size:
                return row, UNKNOWN, last
            header_end = body = at + width
            slot = 0
            while position < header_end:
                kind, position = _varint(block, position)
                if kind < 0 or kind == 10 or kind == 11:
                    return row, UNKNOWN, last
                length = (kind - 12) >> 1 if kind >= 12 else sizes[kind]
                column = want[slot] if slot < slots else -1
                if column >= 0:
                    wanted = kinds[column]
                    valid[column, row] = kind != 0
                    if kind == 0:
                        if slot == alias:
                            numbers[column, row] = id
                            valid[column, row] = True
                    elif wanted == BYTES:
                        if kind < 12:
                            return row, ILL_TYPED, last
                        numbers[column, row] = (np.int64(body) << 32) | length
                    elif kind == 7:
                        if wanted != REAL:
                            return row, ILL_TYPED, last
                        numbers[column, row] = _whole(block, body, 8)
                    elif kind >= 12:
                        return row, ILL_TYPED, last
                    else:
                        number = np.int64(kind - 8) if kind >= 8 else _whole(block, body, length)
                        if wanted == REAL:
                            reals[column, row] = number
                        else:
                            numbers[column, row] = number
                body += length
                slot += 1
            if position != header_end or body != end:
                return row, UNKNOWN, last
            for missing in range(slot, slots):
                if want[missing] >= 0:
                    valid[want[missing], row] = False
            last = id
            row += 1
    return row, FINE, last


@jit()
def _gather(block: Bytes, places: Ints, ends: npt.NDArray[np.int32], texts: Bytes) -> None:
    for row in range(len(places)):
        start = places[row] >> 32
        begin = ends[row]
        for byte in range(ends[row + 1] - begin):
            texts[begin + byte] = block[start + byte]
