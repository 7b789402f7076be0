"""What iterations have in common, where noise leaves hardly two of them equal, or there are several kinds of them."""

import numpy as np
import numpy.typing as npt

from .contents import Symbols, Texts
from .variants import types_of

__all__ = ["typical"]

Ints = npt.NDArray[np.int64]

NOISY = 0.015
"""Iterations are noisy if they differ from what most agree on in more than this share of their operations."""
KIND = 0.1
"""Where a second content stands for this share of the iterations there are kinds of them, for example shapes."""
SAMPLE, LEAST_SAMPLE, SAMPLE_OPERATIONS = 128, 8, 400_000
"""Iterations looked at, spread over the sequence: at most, at least; operations of them, if they are several."""


def typical(symbols: Symbols, first: Ints, last: Ints) -> list[tuple[Symbols, int]]:
    """The contents that iterations agree on, the most frequent first, and how many of a sample have each.

    Iterations go from operation `first` to `last`, both included. Empty where they are of one kind and not noisy: then
    they show better themselves what repeats. Cost: that of aligning the sample.
    """
    count = len(first)
    if not count:
        return []
    usual = max(1, int(np.median(last - first + 1)))
    wanted = min(count, max(LEAST_SAMPLE, min(SAMPLE, SAMPLE_OPERATIONS // usual)))
    chosen = np.arange(wanted) * count // wanted
    types = types_of(Texts(symbols, first[chosen], last[chosen] + 1))
    weights = np.bincount(types.of, minlength=len(types.consensus))
    one_kind = int((weights >= KIND * wanted).sum()) <= 1
    if one_kind and np.median(types.distance) < NOISY * usual:
        return []
    return list(zip(types.consensus, weights.tolist(), strict=True))
