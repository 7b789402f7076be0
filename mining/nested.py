"""Which of some nested spans of a thread is the innermost at a moment, and what is around it."""

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from .sorting import Ints

__all__ = ["NONE", "Nested", "nearest", "nest"]

NONE = -1
"""No span."""


@dataclass(frozen=True, eq=False)
class Nested:
    """Spans by lane (a thread) and start; `order` has for each its number as given, `parent` the one around it."""

    lane: Ints
    start_ns: Ints
    end_ns: Ints
    parent: Ints
    order: Ints

    def innermost(self, lane: Ints, moment_ns: Ints) -> Ints:
        """The number of the innermost span of the lane at each moment, or `NONE`; a span ends before its end."""
        if not len(self.lane):
            return np.full(len(moment_ns), NONE, np.int64)
        lanes, first = np.unique(self.lane, return_index=True)
        found = np.full(len(moment_ns), NONE, np.int64)
        for number, low, high in zip(lanes, first, np.r_[first[1:], len(self.lane)], strict=True):
            asked = np.flatnonzero(lane == number)
            at = low + np.searchsorted(self.start_ns[low:high], moment_ns[asked], "right") - 1
            found[asked] = np.where(at >= low, at, NONE)
        while True:  # each round climbs to the span around; nesting is finite
            over = (found != NONE) & (self.end_ns[found] <= moment_ns)
            if not over.any():
                return np.where(found == NONE, NONE, self.order[found])
            found[over] = self.parent[found[over]]


def nest(lane: Ints, start_ns: Ints, end_ns: Ints) -> Nested:
    """The spans with what is around each: the shortest of those that begin no later and do not end earlier.

    A span that overlaps the end of an earlier one is taken as inside it until that one ends. Cost: one sort, one pass.
    """
    order = np.lexsort((-end_ns, start_ns, lane))
    sorted_ = (lane[order], start_ns[order], end_ns[order])
    parent = np.full(len(order), NONE, np.int64)
    open_: list[int] = []
    before = None
    # A Python loop: what is open changes from one span to the next.
    for at, (own, start, end) in enumerate(zip(*(column.tolist() for column in sorted_), strict=True)):
        if own != before:
            open_, before = [], own
        while open_ and int(sorted_[2][open_[-1]]) <= start:
            open_.pop()
        if open_:
            parent[at] = open_[-1]
        if end > start:
            open_.append(at)
    return Nested(*sorted_, parent, order)


def nearest(parent: Ints, has: npt.NDArray[np.bool_]) -> Ints:
    """For each item itself or the nearest item around it that has something, or `NONE`.

    `parent` is the item around each, or `NONE`. Cost: as many passes as the logarithm of the depth.
    """
    jump = np.where(has | (parent == NONE), np.arange(len(parent)), parent)
    while True:
        further = jump[jump]
        if (further == jump).all():
            return np.where(has[jump], jump, NONE) if len(jump) else jump
        jump = further
