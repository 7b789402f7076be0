"""What each operation adds to the time of its iteration: the wait before it and its own work, nothing counted twice."""

import numpy as np

from ..store.compiled import jit
from .sorting import Ints

__all__ = ["charges"]


def charges(start_ns: Ints, end_ns: Ints, first: Ints, stop: Ints, from_ns: Ints) -> tuple[Ints, Ints]:
    """For each operation of a sequence the wait before it and the time it then adds; 0 outside the ranges.

    `first` and `stop` are half-open ranges of operations (iterations), and the time of each begins at `from_ns`. Going
    through its operations by their start, one that starts after everything before it has ended waits for so long; and
    it adds as much as it ends later than all before it. So within a range both sum to its end minus `from_ns`, exactly,
    if it ends later than that. A sort within each range.
    """
    wait, work = np.zeros_like(start_ns), np.zeros_like(start_ns)
    _charge(start_ns, end_ns, first, stop, from_ns, wait, work)
    return wait, work


@jit()
def _charge(start: Ints, end: Ints, first: Ints, stop: Ints, begin: Ints, wait: Ints, work: Ints) -> None:
    for number in range(len(first)):
        latest = begin[number]
        order = _by_start(start[first[number] : stop[number]])
        for place in order:
            at = first[number] + place
            wait[at] = max(0, start[at] - latest)
            work[at] = max(0, end[at] - max(start[at], latest))
            latest = max(latest, end[at])


@jit()
def _by_start(start: Ints) -> Ints:
    """The stable order by start; most ranges are in that order already."""
    for at in range(1, len(start)):
        if start[at] < start[at - 1]:
            return np.argsort(start, kind="mergesort")
    return np.arange(len(start))
