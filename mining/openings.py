"""Finds the openings of iterations that something else parts from the rest: what an autotuner tries, say.

An opening is the few operations that most iterations begin with. Where an iteration was cut behind something strange,
and an opening stands before that, the iteration begins there.
"""

import numpy as np

from .cadence import Symbols
from .likeness import pair_likeness
from .sorting import Ints

__all__ = ["completed", "majority"]

# An opening is so many operations, of which this share must agree, and less than that share where it is missing; the
# cut may be a few operations off.
OPENING, AGREE, LACKS, REACH = 8, 0.5, 0.25, 4
# What begins with an opening, and has this much in common with the iteration after it, is one too.
ALIKE = 0.8
SHORTEST = 64


def completed(first: Ints, stop: Ints, period: int, symbols: Symbols) -> tuple[Ints, Ints]:
    """Iterations with their openings, and those not found before because they are longer or shorter than the rest."""
    if len(first) < 3 or period < SHORTEST:
        return first, stop
    padded = np.pad(symbols.astype(np.int64), (REACH, OPENING), constant_values=-1)
    begins = padded[first[:, None] + REACH + np.arange(OPENING)]
    usual = majority(begins)
    lacks = (begins == usual).sum(axis=1) < LACKS * OPENING
    first, before = first.copy(), np.r_[0, stop[:-1]]
    begins_more: list[int] = []
    stops_more: list[int] = []
    for at in np.flatnonzero(before < first).tolist():  # few: where something interrupts the iterations
        begin, end = int(before[at]), int(first[at])
        if lacks[at]:
            there = _openings(padded, max(begin - REACH, end - period // 2, 0), end, usual)
            first[at] = end = int(there[-1]) if len(there) else end
        there = _openings(padded, max(begin - REACH, end - 3 * period // 2, 0), end - period // 2, usual)
        if len(there) and _alike(symbols, int(there[0]), end, int(stop[at])):
            begins_more.append(int(there[0]))
            stops_more.append(end)
    begin = np.r_[first, np.array(begins_more, dtype=np.int64)]
    order = np.argsort(begin, kind="stable")
    begin, end = begin[order], np.r_[stop, np.array(stops_more, dtype=np.int64)][order]
    return begin, np.minimum(end, np.r_[begin[1:], end[-1:]])


def _alike(symbols: Symbols, begin: int, middle: int, end: int) -> bool:
    """Whether two stretches side by side have most of their operations in common."""
    return bool(pair_likeness(symbols, np.array([begin, middle]), np.array([middle, end]))[0][0] >= ALIKE)


def majority(rows: Ints) -> Ints:
    """The most frequent value of each column."""
    rows = np.sort(rows, axis=0)
    index = np.arange(len(rows))[:, None]
    fresh = np.concatenate([np.ones_like(rows[:1], dtype=np.bool_), rows[1:] != rows[:-1]])
    run = index - np.maximum.accumulate(np.where(fresh, index, 0), axis=0)
    return rows[np.argmax(run, axis=0), np.arange(rows.shape[1])]


def _openings(padded: Ints, begin: int, end: int, usual: Ints) -> Ints:
    """The ordinals from `begin` to `end` at which the usual opening stands, or would but for the recording's start."""
    if end <= begin:
        return np.zeros(0, dtype=np.int64)
    low = begin or -REACH
    windows = np.lib.stride_tricks.sliding_window_view(padded[low + REACH : end + REACH + OPENING - 1], OPENING)
    return np.maximum(low + np.flatnonzero((windows == usual).sum(axis=1) >= AGREE * OPENING), 0)
