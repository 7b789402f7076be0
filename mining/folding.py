"""Folds a text into a tree of loops: iteration, layers, micro-patterns.

Of all stretches that repeat, the one that saves most symbols becomes a loop; then the same in its body and on both
sides of it. The tree gives the text back exactly.
"""

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from ..store.compiled import jit
from .contents import Symbols
from .runs import runs
from .sorting import Ints

__all__ = ["LOOP", "ROOT", "SYMBOL", "Tree", "cover", "fold"]

ROOT, LOOP, SYMBOL = 0, 1, 2


@dataclass(frozen=True, eq=False)
class Tree:
    """A folded text: one entry per node, each node before its children and these in order of the text.

    `parent` is -1 for the root. A node stands for `repeat` passes of `period` symbols from `offset` on; `symbol` is
    that of a leaf, else -1. Children lie in the first pass of the first pass of all that is around them.
    """

    parent: Ints
    kind: npt.NDArray[np.int8]
    depth: Ints
    repeat: Ints
    offset: Ints
    period: Ints
    symbol: Ints

    @property
    def length(self) -> Ints:
        """The symbols of all passes of each node."""
        return self.repeat * self.period

    def expand(self) -> Symbols:
        """The text."""
        return self.symbol[self.leaves()].astype(np.int32)

    def leaves(self) -> Ints:
        """For each symbol of the text the index of its leaf."""
        text = np.zeros(int(self.length[0]), np.int64)
        index = np.flatnonzero(self.kind == SYMBOL)
        text[self.offset[index]] = index
        for loop in self.loops(inner_first=True):
            begin, stop = int(self.offset[loop]), int(self.offset[loop] + self.length[loop])
            text[begin:stop] = np.tile(text[begin : begin + int(self.period[loop])], int(self.repeat[loop]))
        return text

    def loops(self, *, inner_first: bool = False) -> list[int]:
        """The indices of the loops, outer ones first unless asked otherwise."""
        index = np.flatnonzero(self.kind == LOOP)
        return index[np.argsort(-self.depth[index] if inner_first else self.depth[index], kind="stable")].tolist()

    def passes(self) -> dict[int, Ints]:
        """For the root and each loop the positions in the text at which its passes begin."""
        begins = {0: np.zeros(1, np.int64)}
        for loop in self.loops():
            around = int(self.parent[loop])
            first = begins[around] + self.offset[loop] - self.offset[around]
            begins[loop] = (first[:, None] + np.arange(self.repeat[loop]) * self.period[loop]).ravel()
        return begins


def fold(symbols: Symbols) -> Tree:
    """Folds a text; of loops that save as much the one with the shorter body is taken, then the most central one.

    The cost of `runs` for the stretches that repeat, plus a pass over those within it for each node.
    """
    found = runs(symbols)
    offset, period, repeat, depth = _loops(found.begin, found.stop, found.period, len(symbols)).T
    # Later passes of loops are not seen; the loops around a position are those whose first pass it lies in.
    hidden = cover(offset + period, offset + repeat * period, len(symbols))
    leaf = np.flatnonzero(hidden == 0)
    loops, leaves = np.ones_like(offset), np.ones_like(leaf)
    depth = np.r_[0, depth, cover(offset, offset + period, len(symbols))[leaf] + 1]
    offset = np.r_[0, offset, leaf]
    order = np.lexsort((depth, offset))
    return Tree(
        parent=_parents(depth[order]),
        kind=np.r_[ROOT, LOOP * loops, SYMBOL * leaves].astype(np.int8)[order],
        depth=depth[order],
        repeat=np.r_[1, repeat, leaves][order],
        offset=offset[order],
        period=np.r_[len(symbols), period, leaves][order],
        symbol=np.r_[-1, -loops, symbols[leaf]].astype(np.int64)[order],
    )


def _parents(depth: Ints) -> Ints:
    """The last node before each that is one less deep."""
    parent = np.full(len(depth), -1, np.int64)
    at = np.arange(len(depth))
    for level in range(1, int(depth.max()) + 1):
        latest = np.maximum.accumulate(np.where(depth == level - 1, at, -1))
        parent[depth == level] = latest[depth == level]
    return parent


@jit()
def _loops(begin: Ints, stop: Ints, period: Ints, length: int) -> Ints:
    """The loops as rows of offset, period, repeat and depth.

    A stretch on the stack has its candidates in `held` from `low` to `high`; the last pushed has those on top.
    """
    held = np.arange(max(64, 4 * len(begin)))
    stack = [(0, length, 0, len(begin), 1)]
    loops = [(0, 0, 0, 0)]
    while len(stack) > 0:
        left, right, low, high, depth = stack.pop()
        best = _best(held[low:high], begin, stop, period, left, right)
        if best < 0:
            continue
        size = period[best]
        offset = max(begin[best], left)
        times = (min(stop[best], right) - offset) // size
        loops.append((offset, size, times, depth))
        after = offset + size * times
        own = held[low:high].copy()
        if low + 3 * len(own) > len(held):
            larger = np.empty(2 * (low + 3 * len(own)), held.dtype)
            larger[:low] = held[:low]
            held = larger
        for part in ((left, offset, depth), (after, right, depth), (offset, offset + size, depth + 1)):
            top = low
            for run in own:
                if min(stop[run], part[1]) - max(begin[run], part[0]) >= 2 * period[run]:
                    held[top] = run
                    top += 1
            if top > low:
                stack.append((part[0], part[1], low, top, part[2]))
            low = top
    rows = np.empty((len(loops) - 1, 4), np.int64)
    for at in range(len(rows)):
        rows[at, 0], rows[at, 1], rows[at, 2], rows[at, 3] = loops[at + 1]
    return rows


@jit()
def _best(candidates: Ints, begin: Ints, stop: Ints, period: Ints, left: int, right: int) -> int:
    """The candidate that saves most between two positions, -1 for none."""
    best, most, shortest, nearest = -1, 0, 0, 0
    for run in candidates:
        first, last = max(begin[run], left), min(stop[run], right)
        saved = ((last - first) // period[run] - 1) * period[run]
        away = abs(first + last - left - right)
        if saved > most or (
            saved == most > 0 and (period[run] < shortest or (period[run] == shortest and away < nearest))
        ):
            best, most, shortest, nearest = run, saved, period[run], away
    return best


def cover(begin: Ints, stop: Ints, length: int) -> Ints:
    """For each position the number of ranges it lies in."""
    change = np.bincount(begin, minlength=length + 1) - np.bincount(stop, minlength=length + 1)
    return np.cumsum(change)[:length]
