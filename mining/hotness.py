"""The hotness of memory: accesses by blocks of 2 MiB and windows of a clock, none of them lost."""

from dataclasses import dataclass

import numpy as np

from .managed_pages import BLOCK_BYTES
from .sorting import Ints

__all__ = ["NO_BLOCK", "WINDOW_ACCESSES", "Hotness", "access_clock", "hotness"]

WINDOW_ACCESSES = 1_000_000
"""Accesses in a window of the access clock, as PASTA has it."""
NO_BLOCK = -1
"""The block of accesses without an address."""


@dataclass(frozen=True, eq=False)
class Hotness:
    """The cells of the matrix that have accesses, by block and window: together all accesses there are."""

    block: Ints
    window: Ints
    accesses: Ints


def hotness(address: Ints, moment: Ints, accesses: Ints, *, length: int = 1) -> Hotness:
    """Adds up accesses by block and window: the moment over the window's length. An address below 0 is none.

    The last window counts however little of it there is. Block and shift are one number, so no block lies between two
    columns. Cost: one sort.

    >>> hotness(np.array([0, 1 << 20, 3 << 20]), np.array([0, 5, 12]), np.array([1, 2, 4]), length=10).accesses.tolist()
    [3, 4]
    """
    block = np.where(address < 0, NO_BLOCK, address // BLOCK_BYTES)
    window = moment // length
    order = np.lexsort((window, block))
    block, window = block[order], window[order]
    fresh = np.r_[np.ones(min(len(block), 1), bool), (np.diff(block) != 0) | (np.diff(window) != 0)]
    begin = np.flatnonzero(fresh)
    sums = np.add.reduceat(accesses[order], begin) if len(begin) else accesses[:0]
    return Hotness(block[begin], window[begin], sums)


def access_clock(launch: Ints, accesses: Ints) -> Ints:
    """The number of accesses of all earlier launches, for each row: a launch's accesses count to where it begins."""
    order = np.argsort(launch, kind="stable")
    before = np.cumsum(accesses[order]) - accesses[order]
    first = np.searchsorted(launch[order], launch, "left")
    return before[first]
