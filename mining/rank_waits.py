"""How long ranks wait for each other in their collectives, and how far apart they come to them."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from .rank_clocks import RESOLUTION_NS, Clock, clocks
from .rank_collectives import Calls, Meetings, meet, zeros
from .sorting import Ints

__all__ = ["Together", "together"]

ENDLESS = np.iinfo(np.int64).max


@dataclass(frozen=True, eq=False)
class Together:
    """The collectives of all ranks, one row for each rank and one column for each collective of `meetings`.

    `used` says where a rank took part in one that ended on all of them as near together as it can. There `wait_ns` is
    how much longer it lasts than on the rank where it is shortest, which needs no clocks, and `late_ns` how long after
    the first rank it starts, on the aligned clocks; elsewhere both are 0.
    """

    calls: Sequence[Calls]
    meetings: Meetings
    clocks: Sequence[Clock | None]
    used: npt.NDArray[np.bool_]
    wait_ns: Ints
    late_ns: Ints


def together(calls: Sequence[Calls]) -> Together:
    """Matches the collectives of the ranks, aligns their clocks on them, and tells who waits.

    Collectives whose ends lie further apart than they can are none, and are left out.
    """
    meetings = meet(calls)
    shared = meetings.shared(calls)
    found = clocks(shared)
    starts = meetings.taken([one.start_ns for one in calls]) + zeros(calls)[:, None]
    lasting = shared.end_ns - starts
    for rank, clock in enumerate(found):
        if clock is not None:
            starts[rank] = clock.aligned(starts[rank])
    there = shared.there & np.array([clock is not None for clock in found], dtype=bool)[:, None]
    least = _least(lasting, there)
    used = there & (_apart(starts + lasting, there) <= least + _doubt(found, there)) & (there.sum(axis=0) > 1)
    late = starts - _least(starts, there)
    return Together(calls, meetings, found, used, np.where(used, lasting - least, 0), np.where(used, late, 0))


def _least(values: Ints, there: npt.NDArray[np.bool_]) -> Ints:
    return np.where(there, values, ENDLESS).min(axis=0, initial=ENDLESS)


def _apart(values: Ints, there: npt.NDArray[np.bool_]) -> Ints:
    """How far the values of a column lie apart; 0 where there are none."""
    most = np.where(there, values, -ENDLESS).max(axis=0, initial=-ENDLESS)
    return np.where(there.any(axis=0), most - np.where(there.any(axis=0), _least(values, there), 0), 0)


def _doubt(found: Sequence[Clock | None], there: npt.NDArray[np.bool_]) -> Ints:
    """By how much the aligned ends of a column may be wrong."""
    told = np.array([0 if clock is None else clock.uncertainty_ns + clock.spread_ns for clock in found], dtype=np.int64)
    return np.where(there, told[:, None], 0).max(axis=0, initial=0) + RESOLUTION_NS
