"""Tiles the time of a device with stretches of one state, by one pass over its work in the order of starts."""

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from ..store.compiled import jit
from .sorting import Ints

__all__ = ["IDLE", "Tiles", "tile"]

IDLE = 3
"""The state in which none of the kinds 0, 1, 2 runs."""

NONE = -1


@dataclass(frozen=True, eq=False)
class Tiles:
    """Stretches from `cuts[i]` to `cuts[i + 1]` in `state[i]`, no two neighbours in the same one.

    For the idle ones, in order: `before`, the last operation of those that ended last before, and `after`, the first of
    those that start at its end. Operations of no length interrupt no stretch, but may bound the first and the last.
    """

    cuts: Ints
    state: Ints
    before: Ints
    after: Ints


def tile(start: Ints, end: Ints, kind: npt.NDArray[np.integer]) -> Tiles:
    """The stretches of work sorted by start: in each the least kind that runs is its state.

    There must be work. If none of it has a length, and all starts are one, there is one stretch of no length.
    """
    if int(end.max()) == int(start[0]):
        none = np.zeros(0, np.int64)
        return Tiles(np.repeat(start[:1], 2), np.array([int(kind.min())]), none, none)
    size = 2 * len(start) + 1  # every start and every end makes at most one stretch
    cuts, state = np.empty(size + 1, np.int64), np.empty(size, np.int64)
    before, after = np.empty(len(start), np.int64), np.empty(len(start), np.int64)
    count, idle = _tile(start, end, kind, cuts, state, before, after)
    return Tiles(cuts[: count + 1].copy(), state[:count].copy(), before[:idle].copy(), after[:idle].copy())


@jit()
def _tile(
    start: Ints, end: Ints, kind: npt.NDArray[np.integer], cuts: Ints, state: Ints, before: Ints, after: Ints
) -> tuple[int, int]:
    """Fills in the stretches; how many there are, and how many of them are idle."""
    until = np.full(3, start[0])
    now = latest = cuts[0] = start[0]
    count = idle = 0
    ended = first = 0  # which operation ended last so far, and which is the first that starts when the present one does
    for at in range(len(start) + 1):
        to = start[at] if at < len(start) else latest
        if at < len(start) and to != start[first]:
            first = at
        while now < to:
            step, found = to, IDLE
            for one in range(2, -1, -1):
                if until[one] > now:
                    step, found = min(to, until[one]), one
            if count == 0 or state[count - 1] != found:
                state[count] = found
                count += 1
                if found == IDLE:
                    before[idle] = ended
                    idle += 1
            if found == IDLE:
                after[idle - 1] = first
            cuts[count] = now = step
        if at < len(start):
            until[kind[at]] = max(until[kind[at]], end[at])
            if end[at] >= latest:
                latest, ended = end[at], at
    return count, idle
