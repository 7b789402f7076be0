"""Finds all runs of a text: the stretches that repeat a shorter one at least twice, as far as the repetition goes.

A run that cannot be extended has, for one of the two orders of the alphabet, a longest Lyndon word that is its body
(Bannai, I, Inenaga, Nakashima, Takeda and Tsuruta 2017): so each position gives one candidate per order, and there are
fewer runs than symbols.
"""

from dataclasses import dataclass

import numpy as np

from ..store.compiled import jit
from .contents import Symbols
from .sorting import Ints
from .suffix import build

__all__ = ["Runs", "runs"]


@dataclass(frozen=True, eq=False)
class Runs:
    """The runs of a text as half-open ranges, with the smallest period of each; ordered by begin, then by period."""

    begin: Ints
    stop: Ints
    period: Ints


def runs(symbols: Symbols) -> Runs:
    """All runs: at least two whole repetitions, not extensible on either side; two suffix arrays and some passes.

    How far a word goes on to the right is found by a binary search. To the left it never goes on over the begin of a
    word that holds it, or that one would have ended before: words that go on for so long begin as far apart, and all
    steps together are O(n log n).
    """
    if len(symbols) < 2:
        nothing = np.zeros(0, np.int64)
        return Runs(nothing, nothing, nothing)
    top = symbols.max()
    found = np.concatenate([_of_order(symbols, symbols), _of_order(symbols, (top - symbols).astype(np.int32))])
    found = found[np.lexsort((found[:, 2], found[:, 0]))]
    fresh = np.r_[True, (found[1:] != found[:-1]).any(axis=1)][: len(found)]
    return Runs(*found[fresh].T.copy())


def _of_order(symbols: Symbols, ordered: Symbols) -> Ints:
    """The runs whose body is a longest Lyndon word when symbols are ordered as `ordered` says."""
    built = build(ordered)
    rank = np.empty(len(symbols), np.int32)
    rank[built.sa] = np.arange(len(symbols), dtype=np.int32)
    after = _next_smaller(rank)
    return _extended(symbols, after, _shared(built.sa, built.lcp, rank, after))


@jit()
def _next_smaller(rank: Symbols) -> Symbols:
    """For each suffix the next one that is smaller: there its longest Lyndon word ends."""
    after = np.empty(len(rank), np.int32)
    for at in range(len(rank) - 1, -1, -1):
        other = at + 1
        while other < len(rank) and rank[other] > rank[at]:
            other = after[other]
        after[at] = other
    return after


@jit()
def _shared(sa: Symbols, lcp: Symbols, rank: Symbols, after: Symbols) -> Symbols:
    """For each suffix the symbols it has in common with the next smaller one: the least `lcp` between their ranks.

    The stack holds the ranks whose `lcp` is less than all after them, up to the suffix at hand: the first of these
    above the rank of the smaller suffix is the place of the least.
    """
    shared = np.zeros(len(sa), np.int32)
    stack = np.empty(len(sa), np.int32)
    top = 0
    for slot in range(len(sa)):
        while top > 0 and lcp[stack[top - 1]] >= lcp[slot]:
            top -= 1
        stack[top] = slot
        top += 1
        at = sa[slot]
        if after[at] < len(sa):
            shared[at] = lcp[stack[np.searchsorted(stack[:top], rank[after[at]] + 1)]]
    return shared


@jit()
def _extended(symbols: Symbols, after: Symbols, shared: Symbols) -> Ints:
    """Extends each word to both sides with its length as period; keeps what repeats it. One row per run."""
    length = len(symbols)
    seen = np.zeros(length + 1, np.int64)  # where the last stretch looked at with that period stops
    found = np.empty((length, 3), np.int64)
    count = 0
    for at in range(length):
        period = after[at] - at
        if at + period <= seen[period]:
            continue
        begin, stop = at, after[at] + shared[at]
        while begin > 0 and symbols[begin - 1] == symbols[begin - 1 + period]:
            begin -= 1
        if stop - begin >= 2 * period:
            seen[period] = stop
            found[count, 0], found[count, 1], found[count, 2] = begin, stop, period
            count += 1
    return found[:count].copy()
