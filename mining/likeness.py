"""How alike the contents of ranges of a sequence are, as multisets of symbols: order within a range does not count."""

import numpy as np
import numpy.typing as npt

from ..store.compiled import jit
from .cadence import Symbols
from .sorting import Ints

__all__ = ["best_likeness", "pair_likeness"]

Floats = npt.NDArray[np.float64]

LAGS = 4
BETTER = 0.05


def pair_likeness(symbols: Symbols, first: Ints, stop: Ints, lags: int = 1) -> list[Floats]:
    """For each lag from 1: the share of operations each range has in common with the one `lag` later.

    1 for equal contents, 0 for none in common; an array for lag k is k shorter than the ranges. There are no more
    arrays than pairs of ranges allow.
    """
    size, lags = stop - first, min(lags, len(first) - 1)
    kinds = int(symbols[int(first.min(initial=0)) : int(stop.max(initial=0))].max(initial=-1)) + 1
    shared = _shared(symbols, first, stop, kinds, lags)
    return [2 * shared[lag, :-lag] / np.maximum(size[:-lag] + size[lag:], 1) for lag in range(1, lags + 1)]


def best_likeness(symbols: Symbols, first: Ints, stop: Ints) -> Floats:
    """For each range its likeness to a neighbour: the best of several, since variants may alternate at random.

    Where contents agree better at a fixed distance of several ranges than from one to the next, those together are
    the cycle, and only the next range counts. 0 for a range without a neighbour.
    """
    pairs = pair_likeness(symbols, first, stop, LAGS)
    if any(np.quantile(pair, 0.1) > pairs[0].mean() + BETTER for pair in pairs[1:]):
        pairs = pairs[:1]
    best = np.zeros(len(first))
    for lag, pair in enumerate(pairs, start=1):
        best[:-lag] = np.maximum(best[:-lag], pair)
        best[lag:] = np.maximum(best[lag:], pair)
    return best


@jit()
def _shared(symbols: Symbols, first: Ints, stop: Ints, kinds: int, lags: int) -> Floats:
    """For each lag and range the operations it has in common with the one so much later: an operation counts if there
    have been no more of its symbol in the later range than there are in the earlier one."""
    shared = np.zeros((lags + 1, len(first)))
    counts = np.zeros((lags + 1, kinds), np.int32)  # of the last ranges, each in a row that a later one takes over
    for one in range(len(first)):
        own = counts[one % (lags + 1)]
        if one > lags:
            for at in range(first[one - lags - 1], stop[one - lags - 1]):
                own[symbols[at]] = 0
        for at in range(first[one], stop[one]):
            symbol = symbols[at]
            own[symbol] += 1
            for lag in range(1, min(lags, one) + 1):
                if own[symbol] <= counts[(one - lag) % (lags + 1), symbol]:
                    shared[lag, one - lag] += 1
    return shared
