"""How alike the contents of ranges of a sequence are, as multisets of symbols: order within a range does not count."""

import numpy as np
import numpy.typing as npt

from .cadence import Symbols
from .sorting import Ints, ragged

__all__ = ["best_likeness", "pair_likeness"]

Floats = npt.NDArray[np.float64]

LAGS = 4
BETTER = 0.05


def pair_likeness(symbols: Symbols, first: Ints, stop: Ints, lags: int = 1) -> list[Floats]:
    """For each lag from 1: the share of operations each range has in common with the one `lag` later.

    1 for equal contents, 0 for none in common; an array for lag k is k shorter than the ranges. There are no more
    arrays than pairs of ranges allow.
    """
    size = stop - first
    bits = (len(first) + lags).bit_length()
    owner = np.repeat(np.arange(len(first), dtype=np.int64), size)
    key = np.sort((symbols[ragged(first, size)].astype(np.int64) << bits) | owner)
    edge = np.flatnonzero(np.r_[True, key[1:] != key[:-1]])
    count, key = np.diff(np.r_[edge, len(key)]), key[edge]
    mine = key & ((1 << bits) - 1)
    result: list[Floats] = []
    for lag in range(1, min(lags, len(first) - 1) + 1):
        # Keys are sorted and whole, so that the key of the later range is at most `lag` places on.
        shared = np.zeros(len(first))
        for step in range(1, lag + 1):
            both = np.flatnonzero((key[step:] == key[:-step] + lag) & (mine[:-step] + lag < len(first)))
            shared += np.bincount(mine[both], np.minimum(count[both], count[both + step]), len(first))
        result.append(2 * shared[:-lag] / np.maximum(size[:-lag] + size[lag:], 1))
    return result


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
