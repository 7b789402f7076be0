"""How much is allocated over time: from allocations or from totals, and its ramp-up, peak and ramp-down."""

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from .sorting import Ints

__all__ = ["STAGES", "Curve", "alive_at", "is_flat", "of_lives", "returns", "stages", "values_at"]

STAGES = ("ramp-up", "peak", "ramp-down")

EARLIEST, LATEST = np.iinfo(np.int64).min, np.iinfo(np.int64).max
"""Birth and death of what lived before or after the recording."""

RELEASE, ALLOCATION, AT_ONCE = range(3)
"""What happens at one moment, in this order: releases make room for allocations; what lives for no time dies last."""

GRID = 48
"""Candidates for a change point in a round; the next round looks between the neighbours of the best."""
WORTH = 0.02
"""A ramp must explain this share of the squared deviations."""

FLAT = 0.1
"""A curve that varies by no more than this share of its peak is all peak."""
NEAR = 0.1
"""A level is near another when they differ by no more than this share of what the curve varies by."""

Floats = npt.NDArray[np.float64]


@dataclass(frozen=True, eq=False)
class Curve:
    """Bytes allocated after each change, by time."""

    time_ns: Ints
    bytes: Ints


def of_lives(bytes_: Ints, birth: Ints, death: Ints) -> Curve:
    """The curve of some allocations; what was there before (`EARLIEST`) is a first row, at the first change.

    Cost: one sort.
    """
    born, dead = np.flatnonzero(birth != EARLIEST), np.flatnonzero(death != LATEST)
    time = np.r_[birth[born], death[dead]]
    if not len(time):
        return Curve(time, time.copy())
    acts = np.r_[np.full(len(born), ALLOCATION), np.where(birth[dead] == death[dead], AT_ONCE, RELEASE)]
    order = np.lexsort((acts, time))
    base = int(bytes_[birth == EARLIEST].sum())
    level = base + np.cumsum(np.r_[bytes_[born], -bytes_[dead]][order])
    time = time[order]
    return Curve(np.r_[time[:1], time], np.r_[base, level]) if base else Curve(time, level)


def alive_at(moment: int, birth: Ints, death: Ints) -> npt.NDArray[np.bool_]:
    """Which allocations count at a moment, once all that happens then is done but the end of what lives for no time."""
    return (birth <= moment) & ((death > moment) | ((birth == moment) & (death == moment)))


def values_at(curve: Curve, moment: Ints) -> tuple[Ints, npt.NDArray[np.bool_]]:
    """Bytes allocated at each moment, and whether that is known: before the first change it is not, and 0 stands."""
    at = np.searchsorted(curve.time_ns, moment, "right") - 1
    return np.where(at < 0, 0, curve.bytes[at]), at >= 0


def is_flat(bytes_: Ints) -> bool:
    """Whether a curve hardly varies, by no more than a tenth of its peak; one of no changes does not."""
    return not len(bytes_) or _span(bytes_) <= FLAT * float(abs(bytes_).max())


def returns(bytes_: Ints) -> bool:
    """Whether the last level is near the first: apart by no more than a tenth of what the curve varies by."""
    return abs(float(bytes_[-1] - bytes_[0])) <= NEAR * _span(bytes_)


def stages(bytes_: Ints) -> tuple[int, int]:
    """The first change of the peak and the first of the ramp-down: the two change points that fit the curve best.

    The curve is taken as a line up, a constant, a line down, each fitted by least squares over the numbers of the
    changes; a ramp may be missing, and a curve that hardly varies has none. Exact for up to 48 changes; of more, a
    search from coarse to fine.
    """
    count = len(bytes_)
    if is_flat(bytes_):
        return 0, count
    fit = _Fit((bytes_ - bytes_.min()) / _span(bytes_))
    low, high, step = (0, 0), (count, count), max(1, -(-count // GRID))
    while True:
        first, last = (np.unique(np.r_[np.arange(a, b, step), b]) for a, b in zip(low, high, strict=True))
        best = fit.best(first, last)
        if step == 1:
            return best
        low = (max(0, best[0] - step), max(0, best[1] - step))
        high = (min(count, best[0] + step), min(count, best[1] + step))
        step = max(1, 2 * step // GRID)


def _span(bytes_: Ints) -> float:
    return float(bytes_.max() - bytes_.min())


class _Fit:
    """Squared errors of fits to slices, each from sums up to its ends."""

    def __init__(self, y: Floats) -> None:
        x = np.arange(len(y), dtype=np.float64)
        y = y - y.mean()
        self._count = len(y)
        self._sums = [np.r_[0.0, np.cumsum(values)] for values in (y, y * y, x, x * x, x * y)]
        self._fine = WORTH * float((y * y).sum())

    def best(self, first: Ints, last: Ints) -> tuple[int, int]:
        a, b = (grid.ravel() for grid in np.meshgrid(first, last, indexing="ij"))
        a, b = a[a < b], b[a < b]
        none, every = np.zeros_like(a), np.full_like(b, self._count)
        up, middle, down = self._line(none, a, 1), self._flat(a, b), self._line(b, every, -1)
        error = up + middle + down + self._fine * ((a > 0) + 1.0 * (b < self._count))
        level = self._mean(a, b)
        lower = (self._mean(none, a) <= level) & (self._mean(b, every) <= level)
        error = np.where(lower | ((a == 0) & (b == self._count)), error, np.inf)
        at = int(np.lexsort((a - b, np.round(error, 9)))[0])  # of equal fits that with the longest peak
        return int(a[at]), int(b[at])

    def _of(self, a: Ints, b: Ints) -> tuple[Floats, ...]:
        return (np.maximum(b - a, 1).astype(np.float64), *(total[b] - total[a] for total in self._sums))

    def _mean(self, a: Ints, b: Ints) -> Floats:
        """The mean of each slice; of an empty one less than any."""
        n, y, *_ = self._of(a, b)
        return np.where(b > a, y / n, -np.inf)

    def _flat(self, a: Ints, b: Ints) -> Floats:
        n, y, yy, *_ = self._of(a, b)
        return np.maximum(yy - y * y / n, 0)

    def _line(self, a: Ints, b: Ints, direction: int) -> Floats:
        """The error of a line up (1) or down (-1); that of a constant where the best line goes the other way."""
        n, y, _, x, xx, xy = self._of(a, b)
        spread, common = xx - x * x / n, xy - x * y / n
        gain = np.where(common * direction > 0, common * common / np.where(spread > 0, spread, 1), 0)
        return np.maximum(self._flat(a, b) - gain, 0)
