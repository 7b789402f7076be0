"""Where a program turns to other work: the place that the fewest kinds of operations are found on both sides of."""

import numpy as np

from .cadence import Symbols
from .sorting import stable_order

__all__ = ["turning_point"]

# A stage is at least this share of the sequence.
LEAST = 0.2
# A place parts two stages if at most this share of the operations is of kinds that occur on both sides.
MOST_SHARED = 0.5
# Of each kind this share of the operations, at either end, may be strays.
STRAYS = 20


def turning_point(symbols: Symbols) -> int | None:
    """The ordinal at which the second of two stages begins; None where the work is of one kind. Cost: one sort."""
    n = len(symbols)
    low, high = int(LEAST * n), n - int(LEAST * n)
    if low < 1 or low >= high:
        return None
    order = stable_order(symbols.astype(np.int64))
    start = np.flatnonzero(np.r_[True, symbols[order[1:]] != symbols[order[:-1]]])
    count = np.diff(np.r_[start, n])
    first, last = order[start + count // STRAYS], order[start + count - 1 - count // STRAYS]
    shared = np.cumsum(np.bincount(first, count, n) - np.bincount(last, count, n))
    lowest = low + int(np.argmin(shared[low:high]))
    if shared[lowest] > MOST_SHARED * n:
        return None
    # Strays blur the ends of both stages: the place is where most operations are on the side of their kind; the last
    # such place, since what both stages share at their border ends an iteration of the first rather than begins one.
    side = np.repeat(np.where(last <= lowest, -1, np.where(first > lowest, 1, 0)), count)
    after = np.zeros(n, dtype=np.int64)
    after[order] = side
    balance = np.cumsum(after)[low:high]
    return high - int(np.argmin(balance[::-1]))
