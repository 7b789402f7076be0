"""How far the clock of one rank is ahead of another's, from the collectives that they went through together.

A collective ends on all ranks when its data has gone round, which is after the last of them has come to it. So its ends
lie no further apart than it lasts where it is shortest: each one says that the offset between two clocks is the
difference of its ends, give or take that time. The offset that most of them agree on is Marzullo's intersection of
these intervals (Marzullo and Owicki, Maintaining the time in a distributed system, 1983), which few wrong ones harm.
"""

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from .slow import ROBUST
from .sorting import Ints

__all__ = ["RESOLUTION_NS", "Clock", "Clocks", "Shared", "clock", "clocks"]

RESOLUTION_NS = 1_000
"""Some recorders write whole microseconds: no bound is smaller."""
CLEARLY = 0.5
"""A drift is told if it makes the spread of the differences this much smaller,"""
APART_NS = 10_000
"""and if it takes the clocks apart by more than this over the run."""
FEW = 8
"""With fewer collectives than this no drift is told."""
NEEDED = 3
"""A clock is corrected if its offset is so many times the spread of the differences."""
MOST = 0.5
"""An offset is told if at least this share of the collectives agrees on it."""

Floats = npt.NDArray[np.float64]


@dataclass(frozen=True)
class Clock:
    """A clock beside the reference: ahead by `offset_ns` at `at_ns` (on the reference), and running `drift` faster.

    `uncertainty_ns` bounds the error of the offset, `spread_ns` is the robust standard deviation of the differences
    about it. `matched` collectives were compared, and `agreed` of them allow the offset. `base` is the place of the
    rank it was compared with; the reference has itself.
    """

    base: int
    offset_ns: int = 0
    drift: float = 0.0
    at_ns: int = 0
    uncertainty_ns: int = 0
    spread_ns: int = 0
    matched: int = 0
    agreed: int = 0

    @property
    def needed(self) -> bool:
        """Whether the offset is more than the ends of collectives differ by anyway."""
        return abs(self.offset_ns) > max(NEEDED * self.spread_ns, RESOLUTION_NS) or self.drift != 0

    def aligned(self, times: Ints) -> Ints:
        """The times of this clock on the reference; as they are, where the clock needs no correction."""
        if not self.needed:
            return times
        return times - self.offset_ns - np.rint(self.drift * (times - self.at_ns)).astype(np.int64)


@dataclass(frozen=True, eq=False)
class Shared:
    """Ends of collectives, one row for each rank and one column for each collective, and the shortest of each.

    `there` says where a rank took part; ends count from the same moment, as far as the traces tell it.
    """

    end_ns: Ints
    there: npt.NDArray[np.bool_]
    shortest_ns: Ints


Clocks = list[Clock | None]
"""The clock of each rank; None where too few of the collectives agree on one, or it shares none with the others."""


def clocks(shared: Shared) -> Clocks:
    """The clock of each rank, those of ranks that never meet the reference by way of one that does.

    The reference is the rank that took part in most collectives, of equals the first.
    """
    ranks = len(shared.there)
    found: Clocks = [None] * ranks
    counts = shared.there.astype(np.int64) @ shared.there.T.astype(np.int64)
    if not ranks or not counts.any():
        return found
    reference = int(np.argmax(np.diag(counts)))
    found[reference] = Clock(
        reference, matched=int(counts[reference, reference]), agreed=int(counts[reference, reference])
    )
    open_ = set(range(ranks)) - {reference}
    while open_:
        known = [rank for rank in range(ranks) if found[rank] is not None]
        # The reference where it is met at all: every step on the way adds its uncertainty.
        met = {rank: [counts[rank, reference] * ranks, *(counts[rank, one] for one in known)] for rank in open_}
        rank = max(sorted(open_), key=lambda one: max(met[one]))
        if not max(met[rank]):
            break
        open_.remove(rank)
        base = reference if counts[rank, reference] else max(known, key=lambda one: int(counts[rank, one]))
        found[rank] = _beside(shared, rank, base, found[base])
    return found


def _beside(shared: Shared, rank: int, base: int, known: Clock | None) -> Clock | None:
    assert known is not None
    both = np.flatnonzero(shared.there[rank] & shared.there[base])
    at = known.aligned(shared.end_ns[base, both])
    one = clock(shared.end_ns[rank, both] - at, shared.shortest_ns[both], at)
    if one.agreed < MOST * one.matched:
        return None
    return Clock(
        base, one.offset_ns, one.drift, one.at_ns, one.uncertainty_ns + known.uncertainty_ns, one.spread_ns,
        one.matched, one.agreed,
    )  # fmt: skip


def clock(difference_ns: Ints, bound_ns: Ints, at_ns: Ints) -> Clock:
    """The clock whose ends differ by `difference_ns` from the reference's, at `at_ns` of that, each to within a bound.

    At least one of each. One sort; the bounds are taken to be at least a microsecond.
    """
    bound = np.maximum(bound_ns, RESOLUTION_NS)
    middle = (int(at_ns.min()) + int(at_ns.max())) // 2
    since = (at_ns - middle).astype(np.float64)
    drift = _drift(difference_ns.astype(np.float64), since)
    rest = difference_ns - np.rint(drift * since).astype(np.int64)
    low, high = _most_agree(rest - bound, rest + bound)
    inside = (rest - bound <= low) & (rest + bound >= high)
    offset = int(np.clip(round(float(np.median(rest[inside]))), low, high))
    spread = round(_spread(rest[inside].astype(np.float64)))
    return Clock(0, offset, drift, middle, max(high - offset, offset - low), spread, len(rest), int(inside.sum()))


def _drift(difference: Floats, since: Floats) -> float:
    """The slope: the median over pairs half the run apart; 0 where it explains little of the differences."""
    half = len(difference) // 2
    if len(difference) < FEW:
        return 0.0
    order = np.argsort(since, kind="stable")
    apart = since[order[-half:]] - since[order[:half]]
    if not (apart > 0).all():
        return 0.0
    slope = float(np.median((difference[order[-half:]] - difference[order[:half]]) / apart))
    told = abs(slope) * float(np.ptp(since)) > APART_NS
    return slope if told and _spread(difference - slope * since) < CLEARLY * _spread(difference) else 0.0


def _spread(values: Floats) -> float:
    return ROBUST * float(np.median(np.abs(values - np.median(values))))


def _most_agree(low: Ints, high: Ints) -> tuple[int, int]:
    """The stretch that lies in most of the intervals [low, high]; of several the first."""
    edges = np.concatenate([low, high])
    # At one place intervals begin before others end: they touch.
    order = np.lexsort((np.repeat([0, 1], len(low)), edges))
    count = np.cumsum(np.where(order < len(low), 1, -1))
    best = int(np.argmax(count))
    return int(edges[order[best]]), int(edges[order[best + 1]])
