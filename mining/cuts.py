"""Cuts a sequence into whole iterations: voted bounds, checked and corrected by what the iterations hold."""

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from .cadence import Symbols
from .grid import Grid, bounds
from .likeness import pair_likeness
from .openings import completed, majority
from .sorting import Ints, ragged, stable_order

__all__ = ["Segments", "cut"]

LIKE = 0.8
STRANGE = 0.5
AROUND = 8
REACH = 4


@dataclass(frozen=True, eq=False)
class Segments:
    """Whole iterations as half-open ranges of operations, in order."""

    first: Ints
    stop: Ints


def cut(grid: Grid, column: int, symbols: Symbols) -> Segments:
    """Cuts at one column; iterations that lack anchors but hold the usual content are included."""
    first, stop = bounds(grid, column, len(symbols))
    if len(first) == 0:
        return Segments(first, stop)
    first, stop = _extended(first, stop, grid, symbols)
    first = _refined(first, stop, grid, symbols)
    first, stop = completed(first, _glued(first, stop, grid), grid.period, symbols)
    return Segments(first, _glued(first, stop, grid))


def _extended(first: Ints, stop: Ints, grid: Grid, symbols: Symbols) -> tuple[Ints, Ints]:
    """Adds iterations before, between and after the found ones that share a neighbour's content; drops strangers."""
    start, end, given = _candidates(first, stop, grid, len(symbols))
    if len(start) < 2:
        return start, end
    alike = pair_likeness(symbols, start, end)[0]
    both = given[1:] & given[:-1]
    usual = float(np.median(alike[both])) if both.any() else 1.0
    keep = given & (np.maximum(np.r_[0.0, alike], np.r_[alike, 0.0]) >= STRANGE * usual)
    good = alike >= LIKE * usual
    lead, last = int(np.argmax(given)), len(given) - 1 - int(np.argmax(given[::-1]))
    keep[:lead] = np.logical_and.accumulate(good[:lead][::-1])[::-1]
    keep[last + 1 :] = np.logical_and.accumulate(good[last:])
    middle = lead + np.flatnonzero(~given[lead:last])
    keep[middle] = good[middle - 1] & good[middle]
    return start[keep], end[keep]


def _candidates(first: Ints, stop: Ints, grid: Grid, operations: int) -> tuple[Ints, Ints, npt.NDArray[np.bool_]]:
    """The given ranges and those that would fit before, between and after them; which ones were given."""
    length = grid.period
    before = np.arange(first[0] - length, -grid.edge - 1, -length)
    after = np.arange(stop[-1], operations - length + grid.edge + 1, length)
    hole = first[1:] - stop[:-1]
    times = (hole + length // 2) // length
    times = np.where(np.abs(hole - times * length) <= grid.slack, np.maximum(times, 0), 0)
    inner = np.repeat(stop[:-1], times) + ragged(np.zeros_like(times), times) * length
    start = np.r_[first, before, inner, after]
    end = np.r_[stop, start[len(first) :] + length]
    order = stable_order(start)
    return np.maximum(start[order], 0), np.minimum(end[order], operations), order < len(first)


def _refined(first: Ints, stop: Ints, grid: Grid, symbols: Symbols) -> Ints:
    """Moves starts by a few operations to where their surroundings agree best with those of most starts.

    What stands before a start counts only where it belongs to the iteration before.
    """
    if len(first) < 3 or grid.period < 8 * AROUND:
        return first
    margin = AROUND + 3 * REACH
    padded = np.pad(symbols.astype(np.int64), margin, constant_values=-1)
    window = margin + np.arange(-AROUND, AROUND)
    follows = np.r_[False, np.abs(first[1:] - stop[:-1]) <= max(grid.slack, REACH)]
    counts = follows[:, None] | (window >= margin)
    moves = sorted(range(-REACH, REACH + 1), key=abs)
    for _ in range(2):
        usual = majority(padded[first[:, None] + window])
        agree = [(padded[first[:, None] + window + move] == usual) & counts for move in moves]
        best = np.argmax(np.stack([rows.sum(axis=1) for rows in agree]), axis=0)
        moved = np.clip(first + np.array(moves)[best], 0, len(symbols) - 1)
        if bool((moved == first).all()):
            break
        first = moved
    return first


def _glued(first: Ints, stop: Ints, grid: Grid) -> Ints:
    """Ends each iteration where the next begins, unless more lies between than lengths scatter."""
    spread = int(np.median(np.abs(np.diff(first) - grid.period))) if len(first) > 1 else 0
    margin = min(max(2, 6 * spread), max(grid.slack, 2))
    follow = np.r_[first[1:], stop[-1:]]
    return np.where(follow - stop <= margin, follow, stop)
