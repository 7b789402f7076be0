"""Disturbs a sequence of operations at random and says where each operation has gone."""

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

__all__ = ["Edited", "edited", "swapped"]

Ints = npt.NDArray[np.int64]
Bools = npt.NDArray[np.bool_]


@dataclass(frozen=True, eq=False)
class Edited:
    """A disturbed sequence: its symbols; for each the operation it comes from; for each operation its place now.

    An inserted operation comes from the one before it. A deleted one has the place of the next that is left.
    """

    symbols: Ints
    source: Ints
    place: Ints


def edited(symbols: Ints, share: float, random: np.random.Generator, protected: Bools) -> Edited:
    """Edits that share of the operations: a third each replaced, deleted and followed by an inserted one.

    New symbols are drawn from those that occur. Protected operations stay as they are.
    """
    edit = np.where(random.random(len(symbols)) < share, random.integers(1, 4, len(symbols)), 0)
    edit[protected] = 0
    count = np.array([1, 1, 0, 2])[edit]
    place = np.cumsum(count) - count
    source = np.repeat(np.arange(len(symbols)), count)
    result = symbols[source]
    changed = np.r_[place[edit == 1], place[edit == 3] + 1]
    result[changed] = random.choice(np.flatnonzero(np.bincount(symbols)), len(changed))
    return Edited(result, source, place)


def swapped(symbols: Ints, share: float, random: np.random.Generator, protected: Bools) -> Ints:
    """The order in which that share of neighbours has changed places; protected operations stay."""
    order = np.arange(len(symbols))
    pair = 2 * np.flatnonzero(random.random(len(symbols) // 2) < share)
    pair = pair[~protected[pair] & ~protected[pair + 1]]
    order[pair], order[pair + 1] = pair + 1, pair
    return order
