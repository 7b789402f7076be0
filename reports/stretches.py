"""Chooses the stretches of time whose operations a page carries in full, where it cannot carry all."""

from collections.abc import Sequence

import numpy as np

from .levels import Times

__all__ = ["Stretch", "chosen"]

Stretch = tuple[int, int, str]
"""Start, end (not in it) and what it is."""
WORTH = 0.05
"""Less room than this share is not filled up."""


def chosen(starts: Sequence[Times], wanted: Sequence[Stretch], room: int) -> list[Stretch]:
    """Those wanted stretches that fit, the first first; the room left is for the beginning of the trace.

    `starts` are the sorted starts of each lane. The stretches come disjoint and in order; in them start at most `room`
    operations.
    """
    taken: list[Stretch] = []
    for first, last, label in wanted:
        trial = _merged([*taken, (first, last, label)])
        if first < last and _size(starts, trial) <= room:
            taken = trial
    left = room - _size(starts, taken)
    if left < room * WORTH:
        return taken
    rest = np.sort(np.concatenate([_outside(one, taken) for one in starts]), kind="stable")
    last = int(rest[left]) if left < rest.size else int(rest[-1]) + 1 if rest.size else 0
    return _merged([(int(rest[0]), last, "the beginning"), *taken]) if rest.size and last > rest[0] else taken


def _size(starts: Sequence[Times], stretches: Sequence[Stretch]) -> int:
    return sum(int(np.diff(np.searchsorted(one, (f, t)))[0]) for one in starts for f, t, _ in stretches)


def _outside(start: Times, stretches: Sequence[Stretch]) -> Times:
    keep = np.ones(start.size, dtype=bool)
    for first, last, _ in stretches:
        a, b = np.searchsorted(start, (first, last))
        keep[a:b] = False
    return start[keep]


def _merged(stretches: Sequence[Stretch]) -> list[Stretch]:
    """Those that touch as one, with the labels of all."""
    found: list[Stretch] = []
    for first, last, label in sorted(stretches):
        if found and first <= found[-1][1]:
            before = found[-1]
            found[-1] = (before[0], max(before[1], last), f"{before[2]}, {label}")
        else:
            found.append((first, last, label))
    return found
