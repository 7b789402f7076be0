"""Chooses at which operation an iteration begins: a cycle has no beginning of its own, so evidence decides.

Evidence, strongest first: marks from the trace; a recording that begins and ends at the same column, since a
profiler that the program steps starts and stops between iterations; waits of the host and of the device.
"""

from dataclasses import dataclass, field
from functools import cached_property

import numpy as np
import numpy.typing as npt

from .cadence import Symbols
from .cuts import Segments, cut
from .grid import Grid, bounds
from .sorting import Ints, distinct

__all__ = ["Cut", "Times", "choose", "pauses"]

Floats = npt.NDArray[np.float64]

START_NATS = 1.0
STOP_NATS = 0.7
IDLE_NATS = 1.0
LAUNCH_NATS = 2.0
DOMINANT_NATS = 2.0
DOMINANCE = 5.0
GATHERED_NATS = 3.0
GATHERED = 0.5
CANDIDATES = 4
ENDS = 5
SAMPLE = 1_000_000


@dataclass(frozen=True, eq=False)
class Times:
    """When each operation of a sequence started, ended and was launched (None: not known), in nanoseconds."""

    start_ns: Ints
    end_ns: Ints
    launch_ns: Ints | None = None

    @property
    def order_ns(self) -> Ints:
        """The clock the sequence is ordered by: never falling, also where streams are merged without launch times."""
        return np.maximum.accumulate(self.start_ns) if self.launch_ns is None else self.launch_ns

    def part(self, begin: int, stop: int) -> "Times":
        """The times of a stretch of the sequence."""
        launch = None if self.launch_ns is None else self.launch_ns[begin:stop]
        return Times(self.start_ns[begin:stop], self.end_ns[begin:stop], launch)

    @cached_property
    def waits(self) -> list[tuple[Ints, float, str]]:
        """The waits before each operation: of the idle device, and of the host between launches where known."""
        busy = np.maximum.accumulate(self.end_ns)
        idle = np.maximum(self.start_ns - np.r_[self.start_ns[:1], busy[:-1]], 0)
        result = [(idle, IDLE_NATS, "device waits")]
        if self.launch_ns is not None:
            result.append((np.diff(self.launch_ns, prepend=self.launch_ns[:1]), LAUNCH_NATS, "host waits"))
        return result


@dataclass(frozen=True, eq=False)
class Cut:
    """A chosen beginning: the iterations it gives, the confidence in it (0 to 1) and what speaks for it."""

    segments: Segments
    confidence: float
    evidence: str


@dataclass(frozen=True)
class _Ballot:
    """What speaks for each column, in nats."""

    length: int
    nats: dict[int, float] = field(default_factory=dict[int, float])
    reasons: dict[int, list[str]] = field(default_factory=dict[int, list[str]])

    def add(self, column: int, nats: float, reason: str) -> None:
        """Adds evidence for a column."""
        if nats > 0:
            column %= self.length
            self.nats[column] = self.nats.get(column, 0.0) + nats
            self.reasons.setdefault(column, []).append(reason)

    def best(self) -> tuple[int, float, str]:
        """The column with the most evidence, its share of all belief, and its reasons."""
        if not self.nats:
            return 0, 1 / self.length, "nothing"
        column = max(self.nats, key=lambda at: (self.nats[at], -at))
        belief = np.exp(np.array(list(self.nats.values())) - self.nats[column])
        return column, float(1 / belief.sum()), ", ".join(dict.fromkeys(self.reasons[column]))


def choose(grid: Grid, symbols: Symbols, times: Times, marks_ns: Ints | None = None) -> Cut:
    """Cuts a cadence where most marks say, else where the ends of the recording and the waits speak for it."""
    if marks_ns is not None and len(marks_ns):
        column, share = _marked(grid, times, marks_ns)
        if share > 0.5:
            return Cut(cut(grid, column, symbols), share, "marks")
    ballot = _Ballot(grid.period)
    ends = _hear_ends(ballot, grid, len(symbols))
    _hear_waits(ballot, grid, times, ends)
    column, confidence, evidence = ballot.best()
    return Cut(cut(grid, column, symbols), confidence, evidence)


def _hear_ends(ballot: _Ballot, grid: Grid, operations: int) -> list[int]:
    """Hears the ends of the recording where anchors are near them; gives their columns."""
    length = grid.period
    head = int(np.median((grid.column - grid.position)[:ENDS])) % length
    tail = int(np.median((grid.column - grid.position)[-ENDS:]) + operations) % length
    reach = length + grid.slack
    starts, stops = grid.position[0] <= reach, operations - grid.position[-1] <= reach
    if starts:
        ballot.add(head, START_NATS, "recording starts here")
    if stops:
        ballot.add(tail, STOP_NATS, "recording stops here")
    apart = min((head - tail) % length, (tail - head) % length)
    if starts and stops and apart <= grid.slack:
        # The chance that the ends of an unaligned recording come as close.
        nats = float(np.log(length / (2 * apart + 1)))
        for column in {head, tail}:
            ballot.add(column, nats, "whole number of iterations recorded")
    return [head, tail]


def _hear_waits(ballot: _Ballot, grid: Grid, times: Times, ends: list[int]) -> None:
    """Hears the longest median waits and those at the ends of the recording, relative to the longest."""
    length, operations = grid.period, len(times.start_ns)
    first, stop = bounds(grid, 0, operations)
    usual = (np.abs(stop - first - length) * 100 <= length) & (first + length <= operations)
    first, size = first[usual], (stop - first)[usual]
    repeats = len(first)
    if repeats == 0:
        return
    vary = 2 * int((size != length).sum()) > repeats
    rows = first[:: max(1, repeats * length // SAMPLE), None] + np.arange(length)
    for wait, nats, reason in times.waits:
        if vary:
            # Where operations come and go no column has all of the long waits, but they lie near one.
            column, share = _gathered(grid, _longest(wait, repeats))
            if share > GATHERED:
                ballot.add(column, GATHERED_NATS * share, reason)
        median: Floats = np.median(wait[rows], axis=0)
        order = np.argsort(-median, kind="stable")[:CANDIDATES].tolist()
        longest = float(median[order[0]])
        if longest <= 0:
            continue
        for column in dict.fromkeys(order + ends):
            ballot.add(column, nats * float(median[column]) / longest, reason)
        if len(order) > 1 and longest >= DOMINANCE * float(median[order[1]]):
            ballot.add(order[0], DOMINANT_NATS, f"{reason} stand out")


def _longest(wait: Ints, count: int) -> Ints:
    """Where that many of the longest waits are, in order; of equal ones the first."""
    block = max(len(wait) // (4 * count), 1)
    longest = np.sort(np.maximum.reduceat(wait, np.arange(0, len(wait), block)))
    at = np.flatnonzero(wait >= longest[-count])  # no fewer than `count`, and few more
    return np.sort(at[np.argsort(-wait[at], kind="stable")[:count]])


def _marked(grid: Grid, times: Times, marks_ns: Ints) -> tuple[int, float]:
    """The column of the operations after most marks, give or take a hundredth of an iteration, and their share."""
    at = distinct(np.searchsorted(times.order_ns, marks_ns, side="left"))
    return _gathered(grid, at[at < len(times.order_ns)])


def _gathered(grid: Grid, at: Ints) -> tuple[int, float]:
    """The column of most of these ordinals, give or take a hundredth of an iteration, and their share."""
    if len(at) == 0:
        return 0, 0.0
    near = np.minimum(np.searchsorted(grid.position, at, side="left"), len(grid.position) - 1)
    found = np.sort((grid.column[near] + at - grid.position[near]) % grid.period)
    ring = np.r_[found, found + grid.period]
    reach = np.searchsorted(ring, found + grid.period // 100, side="right") - np.arange(len(found))
    best = int(np.argmax(reach))
    return int(ring[best + (reach[best] - 1) // 2]) % grid.period, float(reach[best] / len(found))


def pauses(segments: Segments, times: Times) -> bool:
    """Whether the longest waits, of the device or of the host, fall where the iterations begin."""
    begin = segments.first[segments.first > 0]
    for wait, _, _ in times.waits:
        usual = float(np.median(wait[begin])) if len(begin) else 0.0
        # Half of the beginnings wait as long: they are among the longest, as many as there are beginnings, unless too
        # many others wait longer.
        if usual > 0 and int((wait > usual).sum()) < len(begin):
            return True
    return False
