"""Where a series of values changed for good: E-divisive, for the history of a metric.

A superb historian and a poor gate: it needs runs on both sides of a change, and tells of outliers when they are the
last (the gate is `mining.gate`). Distances instead of means: a change of spread or shape is found too, and no
distribution is assumed.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache
from itertools import pairwise

import numpy as np
import numpy.typing as npt

from .slow import ROBUST

__all__ = ["ChangePoint", "best_split", "change_points", "large_ones", "without_bad_days"]

Values = npt.NDArray[np.float64]

FAR = 5.0
"""How many deviations a bad day lies from the runs beside it."""
SEED = 20130617
"""Fixed, so that the same values give the same answer."""


@dataclass(frozen=True)
class ChangePoint:
    """`index` is the first value after the change, `statistic` how far the sides differ, by distances of values.

    `probability` is how often values in any order, between the changes found before, would show as much.
    """

    index: int
    statistic: float
    probability: float


def change_points(
    values: Sequence[float], *, level: float = 0.01, permutations: int = 199, seed: int = SEED
) -> list[ChangePoint]:
    """The changes that are less likely than `level` to be chance, in order of time.

    Matteson and James 2014: the strongest split of any stretch between changes is a change if it is stronger than those
    of the values shuffled within each stretch; until the strongest is none. Each step costs `permutations` times the
    square of the number of values.
    """
    series = np.asarray(values, np.float64)
    random = np.random.default_rng(seed)
    found: list[ChangePoint] = []
    while (split := _strongest(series, found)) is not None:
        probability = _probability(series, found, split[1], random, permutations, level)
        if probability > level:
            break
        found = sorted([*found, ChangePoint(*split, probability)], key=lambda one: one.index)
    return found


def without_bad_days(values: Sequence[float]) -> list[float]:
    """The values, those far above or below both neighbours replaced by the nearer one: distances feel a lone outlier.

    Steps stay where they are, but for one with the last value. How much values vary is taken from neighbours, so that
    steps do not count.
    """
    jumps = [after - before for before, after in pairwise(values)]
    far = FAR * ROBUST * float(np.median(np.abs(jumps))) / 2**0.5 if jumps else 0.0
    found = list(values)
    for at, (into, out) in enumerate(zip([None, *jumps], [*jumps, None], strict=True)) if jumps else ():
        sides = [side for side in (into, None if out is None else -out) if side is not None]
        if min(sides) > far or max(sides) < -far:
            found[at] = values[at] - min(sides, key=abs)
    return found


def large_ones(values: Sequence[float], found: Sequence[ChangePoint], least: float) -> list[ChangePoint]:
    """The changes of at least `least`, a share of the median before; the smallest is taken out first, again and again.

    A change is between the medians of the stretches on its sides, which grow when one is taken out.
    """
    kept = list(found)
    while kept:
        edges = [0, *(one.index for one in kept), len(values)]
        medians = [float(np.median(values[begin:stop])) for begin, stop in pairwise(edges)]
        sizes = [abs(after - before) - least * abs(before) for before, after in pairwise(medians)]
        smallest = min(range(len(kept)), key=lambda at: sizes[at])
        if sizes[smallest] >= 0:
            break
        del kept[smallest]
    return kept


def best_split(values: Values) -> tuple[int, float]:
    """The split of at least two values whose sides differ most, and by how much.

    The right side may end before the values do, so that a stretch that comes and goes is seen. With n and m values on
    the sides X and Y and mean distances d, it is the largest nm / (n + m) × (2 d(X, Y) - d(X, X) - d(Y, Y)).
    """
    count = len(values)
    sums = np.zeros((count + 1, count + 1))
    np.cumsum(np.cumsum(np.abs(values[:, None] - values), axis=0), axis=1, out=sums[1:, 1:])
    own = np.diagonal(sums) / 2  # distances among the first values
    apart, left, right = _weights(count)
    at_split = sums[1:count, 2:]
    before = own[1:count, None]
    # Distances between the sides are at_split - 2 before; among those on the right own + before - at_split.
    statistic = at_split * (apart + right) - before * (2 * apart + left + right) - own[2:] * right
    statistic[_early(count)] = -np.inf
    at = int(np.argmax(statistic))
    return at // (count - 1) + 1, float(statistic.flat[at])


@lru_cache(maxsize=8)
def _weights(count: int) -> tuple[Values, Values, Values]:
    """For each split (rows, from 1 on) and end (columns, from 2 on) of so many values: what sums of distances weigh.

    Of those between the sides, among the left one, among the right one.
    """
    split, end = np.arange(1, count)[:, None], np.arange(2, count + 1)
    left, right = split + 0 * end, end - split
    apart = 2 / end + 0 * split
    return apart, apart * right / np.maximum(left - 1, 1), apart * left / np.maximum(right - 1, 1)


@lru_cache(maxsize=8)
def _early(count: int) -> npt.NDArray[np.bool_]:
    """The ends that are not after the split."""
    return np.arange(2, count + 1) <= np.arange(1, count)[:, None]


def _stretches(count: int, found: Sequence[ChangePoint]) -> list[tuple[int, int]]:
    edges = [0, *(one.index for one in found), count]
    return [(begin, stop) for begin, stop in pairwise(edges) if stop - begin > 1]


def _strongest(series: Values, found: Sequence[ChangePoint]) -> tuple[int, float] | None:
    splits = [
        (begin + index, statistic)
        for begin, stop in _stretches(len(series), found)
        for index, statistic in [best_split(series[begin:stop])]
    ]
    return max(splits, key=lambda split: split[1], default=None)


def _probability(
    series: Values,
    found: Sequence[ChangePoint],
    statistic: float,
    random: np.random.Generator,
    permutations: int,
    level: float,
) -> float:
    """How often shuffled values have as strong a split; no further than to where it is above `level`."""
    exceeding = 1
    for _ in range(permutations):
        exceeding += _shuffled(series, found, random) >= statistic * (1 - 1e-9)  # sums in another order differ as much
        if exceeding > level * (permutations + 1):
            break
    return exceeding / (permutations + 1)


def _shuffled(series: Values, found: Sequence[ChangePoint], random: np.random.Generator) -> float:
    """The strongest split once the values of each stretch are shuffled."""
    return max(best_split(random.permutation(series[begin:stop]))[1] for begin, stop in _stretches(len(series), found))
