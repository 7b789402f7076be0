"""How well found iterations agree with planted ones."""

from collections.abc import Sequence

import numpy as np
import numpy.typing as npt

from tracelode.mining.iterations import Level

__all__ = ["rotated_f1", "rotation", "strict_f1"]

Ints = npt.NDArray[np.int64]

TOLERANCE = 0.02
"""Starts agree if they are this share of a period apart, and at least one operation."""


def strict_f1(found: Sequence[Level], starts: Ints) -> float:
    """F1 of the starts of all iteration levels against the planted ones, each of which counts once."""
    return _f1([level.begin for level in found], [_tolerance(level) for level in found], starts)


def rotated_f1(found: Sequence[Level], starts: Ints) -> float:
    """The same after each level was moved as a whole to where it agrees best: its iterations may begin anywhere.

    A level's iterations all move by one number of operations, less than a period. Stages of a program are levels of
    their own. A rotated cut loses the iteration at one end of the recording, so that it scores a little less.
    """
    moved = [level.begin + rotation(level, starts) for level in found]
    return _f1(moved, [_tolerance(level) for level in found], starts)


def rotation(level: Level, starts: Ints) -> int:
    """The number of operations that moves most of a level's starts to planted ones, the least in doubt."""
    if len(starts) == 0:
        return 0
    after = np.searchsorted(starts, level.begin)
    near = np.concatenate([starts[np.minimum(after, len(starts) - 1)], starts[np.maximum(after - 1, 0)]]) - np.tile(
        level.begin, 2
    )
    near = np.sort(near[np.abs(near) < level.period])
    if len(near) == 0:
        return 0
    reach = _tolerance(level)
    stop = np.searchsorted(near, near + 2 * reach, side="right")
    size = stop - np.arange(len(near))
    if int((np.abs(near) <= reach).sum()) >= int(size.max()):
        return 0
    best = int(np.argmax(size))
    return int(np.median(near[best : stop[best]]))


def _tolerance(level: Level) -> int:
    return max(1, int(TOLERANCE * level.period))


def _f1(begins: list[Ints], reaches: list[int], starts: Ints) -> float:
    hit: set[int] = set()
    for begin, reach in zip(begins, reaches, strict=True):
        at = np.searchsorted(starts, begin - reach)
        whole = at < len(starts)
        hit.update(at[whole][np.abs(starts[at[whole]] - begin[whole]) <= reach].tolist())
    total = sum(map(len, begins)) + len(starts)
    return 2 * len(hit) / total if total else 1.0
