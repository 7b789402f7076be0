"""Compiled reading of the records on the leaf pages of a SQLite table: whether they are sound, and their values.

Positions are within a block of whole pages that ends in `PADDING` bytes of slack. Nothing read from the file is
trusted: no position leaves the page it came from. The format: https://sqlite.org/fileformat.html#record_format.
"""

from typing import Any

import numpy as np
import numpy.typing as npt

from ..store.compiled import jit

__all__ = [
    "BEFORE_ALL",
    "FINE",
    "ILL_TYPED",
    "LEAF",
    "NUMBER",
    "PADDING",
    "REAL",
    "TEXTS",
    "UNKNOWN",
    "check_rows",
    "read_rows",
]

LEAF = 13
PADDING = 16
FINE, UNKNOWN, ILL_TYPED = 0, 1, 2
NUMBER, REAL, TEXTS = 0, 1, 2
BEFORE_ALL = -(2**63)
TOO_LONG = 1 << 40

LENGTHS = np.array([0, 1, 2, 3, 4, 6, 8, 8, 0, 0, TOO_LONG, TOO_LONG, *((k - 12) >> 1 for k in range(12, 128))])
"""Bytes of a value by its kind, for the kinds of one byte; two of them are none (they are reserved)."""

Bytes = npt.NDArray[np.uint8]
Ints = npt.NDArray[np.int64]
Flags = npt.NDArray[np.bool_]


@jit(inline="always")
def _varint(block: Bytes, at: Any) -> tuple[Any, Any]:
    value = np.int64(0)
    for place in range(8):
        byte = np.int64(block[at + np.uint64(place)])
        value = (value << 7) | (byte & 0x7F)
        if byte < 0x80:
            return value, at + np.uint64(place + 1)
    return (value << 8) | np.int64(block[at + np.uint64(8)]), at + np.uint64(9)


@jit(inline="always")
def _cell(block: Bytes, page: Any, place: Any, lowest: Any, usable: Any) -> tuple[Any, Any, Any, Any, Any]:
    """A cell's row id, where its record begins, its values and its end; the end is 0 where the cell is not plain."""
    pointer = page + np.uint64(8 + 2 * place)
    offset = np.int64(block[pointer]) * 256 + np.int64(block[pointer + np.uint64(1)])
    nowhere = np.uint64(0)
    if offset < lowest or offset > usable - 4:
        return np.int64(0), nowhere, nowhere, nowhere, np.int64(0)
    size, at = _varint(block, page + np.uint64(offset))
    id, at = _varint(block, at)
    if size < 1 or size > usable - 35 or np.int64(at - page) + size > usable:
        return id, nowhere, nowhere, nowhere, np.int64(0)
    width, position = _varint(block, at)
    if width < 1 or width > size:
        return id, nowhere, nowhere, nowhere, np.int64(0)
    return id, position, at + np.uint64(width), at + np.uint64(size), size


@jit()
def check_rows(block: Bytes, page_bytes: int, usable: int, least: int, last: int) -> tuple[int, int]:
    """How many rows from the first on are sound, in order and of the plain kind, and the id of the last of them.

    A plain row has its place in one page and holds `least` values or more.
    """
    rows = 0
    for number in range((len(block) - PADDING) // page_bytes):
        page = np.uint64(number * page_bytes)
        cells = np.int64(block[page + np.uint64(3)]) * 256 + np.int64(block[page + np.uint64(4)])
        lowest = 8 + 2 * cells
        if block[page] != LEAF or lowest > usable:
            return rows, last
        for place in range(cells):
            id, position, values, end, size = _cell(block, page, place, lowest, usable)
            if size == 0 or (id <= last and last != BEFORE_ALL):
                return rows, last
            length, held = np.int64(0), 0
            while position < values:
                kind = np.int64(block[position])
                position += np.uint64(1)
                held += 1
                if kind < 0x80:
                    length += LENGTHS[kind]
                else:
                    kind, position = _varint(block, position - np.uint64(1))
                    length += (kind - 12) >> 1 if 12 <= kind < TOO_LONG else TOO_LONG
            if position != values or length != np.int64(end - values) or held < least:
                return rows, last
            last = id
            rows += 1
    return rows, last


@jit(inline="always")
def _number(block: Bytes, at: Any, length: Any) -> Any:
    """The signed number of so many bytes, 1 to 8, at that place."""
    value = np.int64(0)
    for place in range(8):
        value = (value << 8) | np.int64(block[at + np.uint64(place)])
    return value >> (64 - 8 * length)


@jit(inline="always")
def _leave_out(column: Any, row: Any, nulls: Ints, used: Ints, numbers: Ints, absent: Flags) -> None:
    absent[column, row] = True
    nulls[column] += 1
    numbers[column, row] = used[column]


@jit()
def read_rows(
    block: Bytes,
    page_bytes: int,
    usable: int,
    want: npt.NDArray[np.int32],
    kinds: npt.NDArray[np.int32],
    alias: int,
    last: int,
    row: int,
    nulls: Ints,
    used: Ints,
    numbers: Ints,
    absent: Flags,
    texts: npt.NDArray[np.uint8],
) -> tuple[int, int, int]:
    """Reads the rows of the block's pages behind the first `row` of the columns.

    The column `want[i]` (-1: none) takes the `i`-th value of each record to `numbers`, a real number as its bits. Of a
    text, the bytes go to that line of `texts` by which its kind is above `TEXTS`, where `used` are taken, and their
    end to `numbers`. What is null is marked in `absent`, and counted in `nulls`. Returns the number of rows there are
    now, why it stopped, and the last row id.
    """
    slots = len(want)
    for number in range((len(block) - PADDING) // page_bytes):
        page = np.uint64(number * page_bytes)
        cells = np.int64(block[page + np.uint64(3)]) * 256 + np.int64(block[page + np.uint64(4)])
        lowest = 8 + 2 * cells
        if block[page] != LEAF or lowest > usable:
            return row, UNKNOWN, last
        for place in range(cells):
            id, position, body, end, size = _cell(block, page, place, lowest, usable)
            if size == 0 or (id <= last and last != BEFORE_ALL):
                return row, UNKNOWN, last
            header_end = body
            slot = 0
            while position < header_end:
                kind = np.int64(block[position])
                position += np.uint64(1)
                if kind < 0x80:
                    length = LENGTHS[kind]
                else:
                    kind, position = _varint(block, position - np.uint64(1))
                    length = (kind - 12) >> 1 if 12 <= kind < TOO_LONG else np.int64(TOO_LONG)
                if length > np.int64(end - body):
                    return row, UNKNOWN, last
                column = np.int64(want[slot]) if slot < slots else np.int64(-1)
                if column >= 0:
                    wanted = kinds[column]
                    if slot == alias:  # whatever is stored there
                        numbers[column, row] = id
                    elif kind == 0:
                        _leave_out(column, row, nulls, used, numbers, absent)
                    elif wanted >= TEXTS:
                        line, begin = np.int64(wanted - TEXTS), used[column]
                        if kind < 12:
                            return row, ILL_TYPED, last
                        if length > texts.shape[1] - begin:  # cells that overlap: more text than the pages hold
                            return row, UNKNOWN, last
                        for byte in range(length):
                            texts[line, begin + byte] = block[body + np.uint64(byte)]
                        used[column] = begin + length
                        numbers[column, row] = begin + length
                    elif kind >= 12 or (kind == 7 and wanted != REAL):
                        return row, ILL_TYPED, last
                    else:
                        value = _number(block, body, length) if length else kind - 8
                        if wanted == REAL and kind != 7:
                            value = np.float64(value).view(np.int64)
                        numbers[column, row] = value
                body += np.uint64(length)
                slot += 1
            if position != header_end or body != end:
                return row, UNKNOWN, last
            for missing in range(slot, slots):  # values that a record lacks at its end are null
                if want[missing] >= 0:
                    _leave_out(np.int64(want[missing]), row, nulls, used, numbers, absent)
            last = id
            row += 1
    return row, FINE, last
