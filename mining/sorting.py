"""Stable orders and slices of integer arrays, by one sort of packed keys: many times faster than `argsort`."""

import numpy as np
import numpy.typing as npt

__all__ = ["Ints", "distinct", "ragged", "stable_order"]

Ints = npt.NDArray[np.int64]

KEY_BITS = 63


def stable_order(values: Ints) -> Ints:
    """The indices that sort `values`, equal values in their present order."""
    if len(values) == 0:
        return np.zeros(0, dtype=np.int64)
    low = int(values.min())
    bits = len(values).bit_length()
    if (int(values.max()) - low).bit_length() + bits > KEY_BITS:
        return np.argsort(values, kind="stable")
    key = np.sort(((values - low) << bits) | np.arange(len(values), dtype=np.int64))
    return key & ((1 << bits) - 1)


def ragged(start: Ints, count: Ints) -> Ints:
    """The numbers start, start + 1, ... of each slice, one slice after the other."""
    ends = np.cumsum(count)
    return np.repeat(start - np.r_[0, ends[:-1]], count) + np.arange(int(ends[-1]) if len(ends) else 0, dtype=np.int64)


def distinct(values: Ints) -> Ints:
    """The distinct values, ascending: a sort, where NumPy's `unique` hashes, many times slower on large integers."""
    ordered = np.sort(values)
    return ordered[np.r_[np.ones(min(len(ordered), 1), np.bool_), ordered[1:] != ordered[:-1]]]
