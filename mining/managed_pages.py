"""Pages of managed memory over the moves of a trace: which of them had been moved before, and which lie together."""

from collections.abc import Iterable
from dataclasses import dataclass

import numpy as np

from .covered import cover
from .sorting import Ints, distinct, ragged

__all__ = [
    "BLOCK_BYTES",
    "FROM_DEVICE",
    "LEAF_BYTES",
    "TO_DEVICE",
    "UNKNOWN",
    "Before",
    "clusters",
    "footprint",
    "moved_before",
]

BLOCK_BYTES = 2 << 20
"""What the driver manages, and evicts, as one."""
LEAF_BYTES = 65_536
"""What it moves at least, and the leaf of its prefetch tree."""
TO_DEVICE, FROM_DEVICE = 1, -1
"""Directions of a move between host and device."""
UNKNOWN = -1
"""Bytes of a move whose address or size is not known."""


@dataclass(frozen=True, eq=False)
class Before:
    """For each move the bytes of pages that had gone the same way before, and of those that last came the other way.

    `again` counts moves to a device only, others have 0: pages that a device had and lost.
    """

    again: Ints
    returned: Ints


def moved_before(address: Ints, size: Ints, direction: Ints) -> Before:
    """What moves in the order of time move again; an address below 0 or a size below 1 is not known.

    The addresses are cut wherever a move begins or ends, so pages count in bytes whatever their size. Cost: a sort,
    and for each move the pieces in it.
    """
    known = (address >= 0) & (size > 0)
    edges = distinct(np.r_[address[known], address[known] + size[known]])
    length = np.diff(edges)
    last = np.zeros(len(length), np.int8)
    had = np.zeros(len(length), bool)
    again, returned = np.where(known, 0, UNKNOWN), np.where(known, 0, UNKNOWN)
    first, stop = np.searchsorted(edges, address), np.searchsorted(edges, address + size)
    # A Python loop: every move changes what the later ones find.
    for at in np.flatnonzero(known).tolist():
        piece, way = slice(first[at], stop[at]), int(direction[at])
        returned[at] = length[piece][last[piece] == -way].sum()
        if way == TO_DEVICE:
            again[at] = length[piece][had[piece]].sum()
            had[piece] = True
        last[piece] = way
    return Before(again, returned)


def clusters(address: Ints, size: Ints) -> tuple[Ints, Ints]:
    """The blocks that hold what lies there, joined where they are next to each other: first addresses and sizes.

    A size below 1 counts as 1.
    """
    first, last = address // BLOCK_BYTES, (address + np.maximum(size, 1) - 1) // BLOCK_BYTES
    blocks = distinct(ragged(first, last - first + 1))
    fresh = np.r_[np.ones(min(len(blocks), 1), bool), np.diff(blocks) > 1]
    begin = np.flatnonzero(fresh)
    count = np.diff(np.r_[begin, len(blocks)])
    return blocks[begin] * BLOCK_BYTES, count * BLOCK_BYTES


def footprint(objects: Iterable[tuple[int, int]]) -> int:
    """The bytes of objects given by address and size; addresses that several of them had in turn count once."""
    known = np.array(list(objects), np.int64).reshape(-1, 2)
    return cover(known[:, 0], known.sum(axis=1)).total
