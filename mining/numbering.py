"""Numbers for rows of some columns: what is alike has the same."""

from collections.abc import Sequence

import numpy as np
import numpy.typing as npt

from ..store.compiled import jit
from .sorting import Ints

__all__ = ["numbered"]

WIDEST = 1 << 62
NARROW = 4
"""Values in a range of no more than so many times their number are numbered by a table of that range."""


def numbered(columns: Sequence[npt.NDArray[np.integer]]) -> tuple[Ints, Ints]:
    """Numbers the different rows of some columns by first appearance, and where each appears first.

    There is one row at least. Columns are packed into one integer as far as it holds them; then what is there so far
    is numbered.
    """
    key, size = np.zeros(len(columns[0]), np.int64), 1
    for column in columns:
        low, high = int(column.min()), int(column.max())
        if size * (high - low + 1) >= WIDEST:
            key, first = _encoded(key)
            size = len(first)
        if size * (high - low + 1) >= WIDEST:
            column, first = _encoded(column.astype(np.int64))
            low, high = 0, len(first) - 1
        if high > low:
            key = key * (high - low + 1) + (column.astype(np.int64, copy=False) - low)  # in 32 bits it can overflow
            size *= high - low + 1
    return _encoded(key)


def _encoded(values: Ints) -> tuple[Ints, Ints]:
    """The values numbered by first appearance, and where each appears first."""
    import pyarrow as pa

    low = int(values.min())
    width = int(values.max()) - low + 1
    if width <= NARROW * len(values):
        return _looked_up(values, low, width)
    found = pa.array(values).dictionary_encode()
    number = found.indices.to_numpy().astype(np.int64)
    first = np.empty(len(found.dictionary), np.int64)
    first[number[::-1]] = np.arange(len(number))[::-1]  # of several the last assignment stays: the first appearance
    return number, first


@jit()
def _looked_up(values: Ints, low: int, width: int) -> tuple[Ints, Ints]:
    """The same by a table of all values there may be."""
    known, number, first = np.full(width, -1), np.empty(len(values), np.int64), np.empty(width, np.int64)
    count = 0
    for at in range(len(values)):
        value = values[at] - low
        if known[value] < 0:
            known[value] = count
            first[count] = at
            count += 1
        number[at] = known[value]
    return number, first[:count].copy()
