"""Parts the busy time of a device among its operations: each instant counts to one of those that run then."""

import numpy as np

from .sorting import Ints, distinct, stable_order

__all__ = ["STATES", "shares"]

STATES = ("compute", "communication", "copy")
"""What operations do, the first of which a stretch of time counts to where several of them run, as in `segment`."""


def shares(start_ns: Ints, end_ns: Ints, state: Ints) -> Ints:
    """The time that counts to each operation of a device; together exactly the time in which any of them runs.

    An instant counts to the operation that started first (of equals the first in the order given) of those whose
    `state`, an index of `STATES`, is the least. So those of a state sum to the time of its segments. Cost: a sort.
    """
    order = stable_order(start_ns)
    start, end, kind = start_ns[order], end_ns[order], state[order]
    time = np.zeros(len(order), np.int64)
    for one in distinct(kind).tolist():
        index, above = kind == one, kind < one
        low, high = _first(start[index], end[index])
        time[index] = high - low
        if above.any():
            covered = _first(start[above], end[above])
            time[index] -= _covered(*covered, high) - _covered(*covered, low)
    result = np.empty_like(time)
    result[order] = time
    return result


def _first(start: Ints, end: Ints) -> tuple[Ints, Ints]:
    """From when to when each operation, in order of starts, is the one of those running that started first."""
    low = start.copy()
    low[1:] = np.maximum(start[1:], np.maximum.accumulate(end)[:-1])
    return low, np.maximum(low, end)


def _covered(low: Ints, high: Ints, moments: Ints) -> Ints:
    """The time before each of some moments that ranges cover, which are in order and do not overlap."""
    before = np.r_[0, np.cumsum(high - low)]
    begun = np.searchsorted(low, moments, "right")
    still = np.maximum(np.r_[0, high][begun] - moments, 0)
    return before[begun] - np.where(begun > 0, still, 0)
