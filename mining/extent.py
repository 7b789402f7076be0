"""What lies within ranges of a sequence: device time, waiting, launches, and what fusion could save."""

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from ..store.compiled import jit

__all__ = ["UNKNOWN", "Extents", "Work", "extents", "free_of"]

Ints = npt.NDArray[np.int64]
Bools = npt.NDArray[np.bool_]

UNKNOWN = -1
"""Host time of an operation whose launch is not known."""


@dataclass(frozen=True, eq=False)
class Work:
    """What the operations of a sequence are, one entry for each.

    `call_ns` is the duration of the host call that launched it, 0 where an earlier operation has the same call,
    `UNKNOWN` where it is not known. `elementwise` says which could be fused with their neighbours on the same `lane`.
    """

    call_ns: Ints
    elementwise: Bools
    lane: Ints

    @classmethod
    def unknown(cls, count: int) -> "Work":
        """Nothing is known but that there are so many operations."""
        return cls(np.full(count, UNKNOWN), np.zeros(count, np.bool_), np.zeros(count, np.int64))


@dataclass(frozen=True, eq=False)
class Extents:
    """One entry for each range, times in ns.

    `start_ns` and `end_ns` are its extent on the device, `busy_ns` the summed duration of its operations, `idle_ns`
    the time within the extent when none of them runs. `call_ns` is the host time of the calls that launched them, or
    `UNKNOWN` where one is not known. `elementwise` counts the elementwise kernels; `fusible_ns` is their time without
    the longest one of each group of neighbours on one lane.
    """

    start_ns: Ints
    end_ns: Ints
    busy_ns: Ints
    idle_ns: Ints
    call_ns: Ints
    elementwise: Ints
    fusible_ns: Ints


def extents(start_ns: Ints, end_ns: Ints, work: Work, first: Ints, last: Ints) -> Extents:
    """Measures the ranges from operation `first` to `last`, both included. Linear where starts are nearly in order."""
    found = np.zeros((7, len(first)), np.int64)
    longest = int((last - first).max(initial=0)) + 1
    _measure(
        start_ns, end_ns, work.call_ns, work.elementwise, work.lane, first, last, np.empty(longest, np.int64), found
    )
    return Extents(*found)


def free_of(covered: Bools, position: Ints, length: int) -> Bools:
    """Which of the stretches of `length` places hold none that is covered."""
    free = np.empty(len(position), np.bool_)
    _free_of(covered, position, length, free)
    return free


@jit()
def _measure(
    start_ns: Ints,
    end_ns: Ints,
    call_ns: Ints,
    elementwise: Bools,
    lane: Ints,
    first: Ints,
    last: Ints,
    order: Ints,
    found: Ints,
) -> None:
    for at in range(first.size):
        begin, stop = first[at], last[at] + 1
        _sort_starts(start_ns, begin, stop, order)
        found[0, at] = start_ns[order[0]]
        latest = start_ns[order[0]]
        for k in range(stop - begin):
            found[2, at] += end_ns[order[k]] - start_ns[order[k]]
            found[3, at] += max(start_ns[order[k]] - latest, 0)
            latest = max(latest, end_ns[order[k]])
        found[1, at] = latest
        total, longest = 0, 0
        for k in range(begin, stop):
            if call_ns[k] < 0 or found[4, at] < 0:
                found[4, at] = -1
            else:
                found[4, at] += call_ns[k]
            if elementwise[k]:
                found[5, at] += 1
                if k > begin and (not elementwise[k - 1] or lane[k - 1] != lane[k]):
                    found[6, at] += total - longest
                    total, longest = 0, 0
                total += end_ns[k] - start_ns[k]
                longest = max(longest, end_ns[k] - start_ns[k])
        found[6, at] += total - longest


@jit()
def _sort_starts(start_ns: Ints, begin: int, stop: int, order: Ints) -> None:
    """Operations of a range by start: by insertion, since they are nearly in order."""
    for k in range(begin, stop):
        at = k - begin
        while at > 0 and start_ns[order[at - 1]] > start_ns[k]:
            order[at] = order[at - 1]
            at -= 1
        order[at] = k


@jit()
def _free_of(covered: Bools, position: Ints, length: int, free: Bools) -> None:
    for at in range(position.size):
        free[at] = True
        for place in range(position[at], position[at] + length):
            if covered[place]:
                free[at] = False
                break
