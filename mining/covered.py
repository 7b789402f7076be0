"""Time that intervals cover, each moment once, and how much of it lies within others."""

from dataclasses import dataclass

import numpy as np

from .sorting import Ints, stable_order

__all__ = ["Cover", "cover"]


@dataclass(frozen=True, eq=False)
class Cover:
    """A union of intervals: ranges in order that neither overlap nor touch."""

    start: Ints
    end: Ints

    @property
    def total(self) -> int:
        """The time covered."""
        return int((self.end - self.start).sum())

    def within(self, start: Ints, end: Ints) -> Ints:
        """How much of each of some intervals is covered. Cost: two binary searches for each."""
        return self._before(np.maximum(start, end)) - self._before(start)

    def common(self, other: "Cover") -> int:
        """The time that both cover."""
        return int(self.within(other.start, other.end).sum())

    def _before(self, moments: Ints) -> Ints:
        """The time covered before each of some moments."""
        before = np.r_[0, np.cumsum(self.end - self.start)]
        begun = np.searchsorted(self.start, moments, "right")
        rest = np.maximum(np.r_[0, self.end][begun] - moments, 0)
        return before[begun] - np.where(begun > 0, rest, 0)


def cover(start: Ints, end: Ints) -> Cover:
    """The union of intervals; those that end at their start or before cover nothing. Cost: one sort.

    >>> cover(np.array([0, 5, 30]), np.array([10, 20, 40])).total
    30
    """
    lasting = end > start
    order = stable_order(start[lasting])
    start, end = start[lasting][order], end[lasting][order]
    latest = np.maximum.accumulate(end) if len(end) else end
    fresh = np.r_[np.ones(min(len(start), 1), bool), start[1:] > latest[:-1]]
    last = np.r_[fresh[1:], np.ones(min(len(start), 1), bool)]
    return Cover(start[fresh], latest[last])
