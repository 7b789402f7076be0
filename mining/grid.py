"""Numbers the repeats of a cadence: every anchor gets a column, and by their votes each repeat gets its bounds.

A column is the distance of an anchor from the start of its repeat. An occurrence minus its column is a vote for a
start; where votes crowd together there is a repeat. Ends are voted for in the same way, so that an evaluation pass
between two iterations belongs to neither.
"""

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from .cadence import Cadence
from .lookup import until
from .sorting import Ints, stable_order

__all__ = ["Grid", "bounds", "grid"]

QUORUM = 0.5
VOTERS = 3
NEXT = 1.3
EDGE = 33


@dataclass(frozen=True, eq=False)
class Grid:
    """The anchors of a cadence, by position: the column of each and the number of its repeat.

    Repeats that follow each other have consecutive numbers; an interruption skips a number. `slack` is how much lengths
    may vary.
    """

    period: int
    slack: int
    position: Ints
    column: Ints
    number: Ints

    @property
    def edge(self) -> int:
        """How much of a repeat may be missing at an end of the sequence: its slack, but no more than 3 in 100."""
        return min(self.slack, self.period // EDGE)


def grid(cadence: Cadence) -> Grid:
    """Gives every anchor its column, counted from the steadiest anchor, and its repeat."""
    period, width = cadence.period, cadence.slack
    column, known = _columns(cadence)
    at = known[cadence.owner]
    position, column = cadence.position[at], column[cadence.owner[at]]
    vote = position - column
    order = stable_order(vote)
    position, column, vote = position[order], column[order], vote[order]
    crowd = until(vote, vote + width, including=True) - until(vote, vote - width)
    dense = crowd >= QUORUM * np.median(crowd)
    position, column, vote = position[dense], column[dense], vote[dense]
    group, middle = _groups(vote, period, width)
    near = np.abs(vote - middle[group]) <= 2 * width
    step = np.diff(middle)
    number = np.r_[0, np.cumsum(np.where(step <= NEXT * period, 1, 2))]
    steady = step[step <= period + width]
    length = int(np.median(steady)) if len(steady) else period
    position, column, number = position[near], column[near], number[group][near]
    order = stable_order(position)
    return Grid(length, width, position[order], column[order], number[order])


def _columns(cadence: Cadence) -> tuple[Ints, npt.NDArray[np.bool_]]:
    """The usual distance of each class behind the reference class, and which classes have one."""
    period, width, classes = cadence.period, cadence.slack, cadence.classes
    reference = cadence.position[cadence.owner == cadence.reference]
    index = np.searchsorted(reference, cadence.position, side="right") - 1
    distance = cadence.position - reference[np.maximum(index, 0)]
    distance = np.where(index < 0, distance + period, distance)
    usable = (distance >= 0) & (distance <= period + width)
    owner, distance = cadence.owner[usable], distance[usable]
    # A class close to the reference can fall on either side of it: its column is then near 0, not near both ends.
    turned = np.where(distance > period // 2, distance - period, distance)
    ahead, ahead_hits = _medians(owner, distance, classes, width)
    around, around_hits = _medians(owner, turned, classes, width)
    hits = np.maximum(ahead_hits, around_hits)
    known = (hits > 0) & (2 * hits >= np.bincount(owner, minlength=classes))
    return np.where(around_hits > ahead_hits, around, ahead), known


def _medians(owner: Ints, value: Ints, classes: int, width: int) -> tuple[Ints, Ints]:
    """The median value of each owner (0 without values), and how many values lie within `width` of it."""
    low = int(value.min(initial=0))
    bits = (int(value.max(initial=0)) - low).bit_length()
    key = np.sort((owner << bits) | (value - low))
    count = np.bincount(owner, minlength=classes)
    middle = np.cumsum(count) - count + np.maximum(count - 1, 0) // 2
    median = np.zeros(classes, dtype=np.int64)
    median[count > 0] = (key[middle[count > 0]] & ((1 << bits) - 1)) + low
    near = np.abs(value - median[owner]) <= width
    return median, np.bincount(owner, weights=near, minlength=classes).astype(np.int64)


def _groups(vote: Ints, period: int, width: int) -> tuple[Ints, Ints]:
    """Splits sorted votes where they part; of two groups closer than half a period the smaller goes.

    Gives the nearest group left for every vote, and the middle vote of every group.
    """
    start = np.flatnonzero(np.r_[True, np.diff(vote) > 2 * width + 1])
    size = np.diff(np.r_[start, len(vote)])
    middle = vote[start + size // 2]
    while len(middle) > 1:
        close = np.diff(middle) <= period // 2
        lose = np.r_[False, close & (size[1:] <= size[:-1])] | np.r_[close & (size[:-1] < size[1:]), False]
        if not lose.any():
            break
        middle, size = middle[~lose], size[~lose]
    after = np.minimum(until(middle, vote), len(middle) - 1)
    before = np.maximum(after - 1, 0)
    return np.where(np.abs(middle[before] - vote) < np.abs(middle[after] - vote), before, after), middle


def bounds(grid: Grid, column: int, operations: int) -> tuple[Ints, Ints]:
    """The half-open ranges of the whole repeats that begin at a column, among `operations` operations.

    A repeat cut by an end of the sequence counts as whole if only the edge is missing.
    """
    length = grid.period
    offset = (grid.column - column) % length
    number = grid.number + (grid.column - column - offset) // length
    order = stable_order(number * length + offset)
    number, offset, position = number[order], offset[order], grid.position[order]
    begin = np.flatnonzero(np.r_[True, number[1:] != number[:-1]])
    votes = np.diff(np.r_[begin, len(number)])
    enough = votes >= QUORUM * np.median(votes)
    begin, votes = begin[enough], votes[enough]
    first = _vote(position - offset, offset, begin, votes, 1)
    stop = _vote(position - offset + length, length - offset, begin + votes - 1, votes, -1)
    whole = (first >= -grid.edge) & (stop <= operations + grid.edge) & (first < stop)
    return np.maximum(first[whole], 0), np.minimum(stop[whole], operations)


def _vote(value: Ints, distance: Ints, at: Ints, votes: Ints, step: int) -> Ints:
    """The weighted median of the votes of the nearest anchors: a vote weighs less the farther its anchor."""
    lane = np.arange(VOTERS)
    rows = at[:, None] + step * np.minimum(lane, votes[:, None] - 1)
    weight = np.where(lane < votes[:, None], 1 / (1 + distance[rows]), 0.0)
    order = np.argsort(value[rows], axis=1, kind="stable")
    heap = np.cumsum(np.take_along_axis(weight, order, axis=1), axis=1)
    pick = np.argmax(2 * heap >= heap[:, -1:], axis=1)
    return np.take_along_axis(value[rows], order, axis=1)[np.arange(len(at)), pick]
