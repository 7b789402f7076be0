"""Which rank is late in which iteration: the time it takes of its own beside the others' in the same step.

Ranks meet in collectives, and whoever comes to them early waits there. So the time of an iteration says little of its
rank; the time outside communication does, and needs no clocks.
"""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from .ranks import Rank, match
from .slow import DEVIATIONS, ROBUST

__all__ = ["Steps", "steps"]

LATE = 0.05
"""Share of the others' time that a rank must take more of in a step to be late in it."""

Floats = npt.NDArray[np.float64]


@dataclass(frozen=True, eq=False)
class Steps:
    """The iterations of the ranks side by side: `at[rank, step]` is the place of one in its rank, below 0 for none.

    `late_ns` is the time outside communication less `others_ns`, the median of the other ranks in that step; both are
    not numbers where there is none to compare. `late` marks what stands out.
    """

    at: npt.NDArray[np.int64]
    late_ns: Floats
    others_ns: Floats
    late: npt.NDArray[np.bool_]


def steps(ranks: Sequence[Rank]) -> Steps:
    """Matches the iterations of all ranks with those of the one that has most of them, and finds what stands out.

    A rank is late in a step by 5 % of the others' time and by 5 robust standard deviations of what is usual.
    """
    at = _matched(ranks)
    own = np.full(at.shape, np.nan)
    for rank, place in enumerate(at):
        there = place >= 0
        own[rank, there] = ranks[rank].own_ns[place[there]]
    others = _median_of_others(own)
    late = own - others
    noise = _noise(late)
    marked = late > np.maximum(LATE * others, DEVIATIONS * noise)
    return Steps(at, late, others, marked)


def _matched(ranks: Sequence[Rank]) -> npt.NDArray[np.int64]:
    lengths = [len(rank.iteration) for rank in ranks]
    at = np.full((len(ranks), max(lengths, default=0)), -1, dtype=np.int64)
    if not at.size:
        return at
    base = int(np.argmax(lengths))
    at[base, : lengths[base]] = np.arange(lengths[base])
    for rank, one in enumerate(ranks):
        found = match(ranks[base], one) if rank != base else None
        if found is not None:
            step = np.searchsorted(ranks[base].iteration, found.base.iteration)
            at[rank, step] = np.searchsorted(one.iteration, found.other.iteration)
    return at


def _median_of_others(values: Floats) -> Floats:
    """For each value the median of the others in its column; not a number without any. One sort of each column."""
    order = np.argsort(values, axis=0, kind="stable")  # what is not a number comes last
    ordered = np.take_along_axis(values, order, axis=0)
    place = np.empty_like(order)
    np.put_along_axis(place, order, np.broadcast_to(np.arange(len(values))[:, None], values.shape), axis=0)
    others = (~np.isnan(values)).sum(axis=0) - 1
    low, high = np.maximum(others - 1, 0) // 2, np.maximum(others, 0) // 2
    middle = [
        np.take_along_axis(ordered, np.minimum(at + (at >= place), len(values) - 1), axis=0) for at in (low, high)
    ]
    return np.where(np.isnan(values) | (others < 1), np.nan, (middle[0] + middle[1]) / 2)


def _noise(late: Floats) -> float:
    """How much the lateness of a rank varies about its own median: the median over ranks, robust."""
    told = [row[~np.isnan(row)] for row in late]
    spreads = [ROBUST * float(np.median(np.abs(row - np.median(row)))) for row in told if len(row)]
    return float(np.median(spreads)) if spreads else 0.0
