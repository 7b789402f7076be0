"""Simulates which pages of managed memory lie on a device when it holds less than a program touches.

Pages come in leaves of 64 KiB, 32 to a block of 2 MiB; the block used least recently goes, whole, as in NVIDIA's
driver. On a fault the driver may fetch more of the block: the largest subtree of leaves of which a share is then there.
"""

from collections import OrderedDict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from .managed_pages import BLOCK_BYTES, LEAF_BYTES
from .sorting import Ints

__all__ = ["LEAVES", "Outcome", "Replay", "replay"]

LEAVES = BLOCK_BYTES // LEAF_BYTES
"""Leaves of a block."""
SUBTREES = (2, 4, 8, 16, 32)
"""Leaves of the subtrees of the driver's tree above a leaf."""


@dataclass(frozen=True)
class Outcome:
    """What moved, in leaves: on faults and by the plan; `again` of both had been there before.

    `faults` are touches of a leaf that was not there, `tree` the leaves that the driver fetched around them. `wasted`
    were prefetched and left, or lay there at the end, without a touch; `skipped` is what the plan asked for and no room
    was found for. `most` is the most that was resident at once. `brought` are the leaves that each step's plan moved.
    """

    faults: int
    tree: int
    prefetched: int
    again: int
    evicted: int
    wasted: int
    skipped: int
    most: int
    brought: tuple[tuple[int, ...], ...]

    @property
    def moved(self) -> int:
        """All leaves that moved to the device."""
        return self.faults + self.tree + self.prefetched


class Replay:
    """A device of so many leaves; blocks by their last use, each with bits for its leaves that are there.

    `tree_share` is the share of a subtree from which on a fault fetches the rest of it, None for no such fetching.
    """

    def __init__(self, capacity: int, tree_share: float | None = None) -> None:
        if capacity < LEAVES:
            raise ValueError(f"residency: a device of {capacity} leaves holds no block of {LEAVES}")
        self.capacity = capacity
        self.resident = self.most = 0
        self.faults = self.tree = self.prefetched = self.again = self.evicted = self.wasted = self.skipped = 0
        self._share = tree_share
        self._there: OrderedDict[int, int] = OrderedDict()
        self._unused: dict[int, int] = {}
        self._had: dict[int, int] = {}

    def touch(self, leaf: int) -> None:
        """Uses a leaf; brings it, and what the driver fetches with it, if it is not there."""
        block, bit = leaf // LEAVES, 1 << leaf % LEAVES
        if not self._there.get(block, 0) & bit:
            fetched = self._fetched(self._there.get(block, 0), leaf % LEAVES)
            self._make_room(fetched.bit_count(), frozenset((block,)))
            self.faults += 1
            self.tree += fetched.bit_count() - 1
            self._bring(block, fetched)
        self._there.move_to_end(block)
        self._unused[block] = self._unused.get(block, 0) & ~bit

    def prefetch(self, wanted: Mapping[int, int], *, checked: bool) -> list[int]:
        """Brings the leaves of a plan, given as bits by block, that are not there; the leaves that it brought.

        If `checked`, nothing of the plan is pushed out for the rest of it: what finds no room is skipped.
        """
        brought: list[int] = []
        whole = frozenset(wanted)
        for block in wanted:
            if block in self._there:
                self._there.move_to_end(block)
        for block, bits in wanted.items():
            missing = bits & ~self._there.get(block, 0)
            if not missing:
                continue
            kept = whole if checked else frozenset((block,))
            if not self._make_room(missing.bit_count(), kept):
                self.skipped += missing.bit_count()
                continue
            self.prefetched += missing.bit_count()
            self._bring(block, missing)
            self._there.move_to_end(block)
            self._unused[block] = self._unused.get(block, 0) | missing
            brought += [block * LEAVES + at for at in range(LEAVES) if missing >> at & 1]
        return brought

    def finish(self) -> None:
        """Counts what lies there unused at the end."""
        for block, bits in self._unused.items():
            self.wasted += (bits & self._there.get(block, 0)).bit_count()

    def _fetched(self, there: int, place: int) -> int:
        """The leaf with what is missing of the largest subtree above it that is full enough with it."""
        fetched = 1 << place
        if self._share is None:
            return fetched
        whole = there | fetched
        for size in SUBTREES:
            subtree = ((1 << size) - 1) << place // size * size
            if (whole & subtree).bit_count() >= self._share * size:
                fetched = subtree & ~there
        return fetched

    def _bring(self, block: int, bits: int) -> None:
        self.again += (bits & self._had.get(block, 0)).bit_count()
        self._had[block] = self._had.get(block, 0) | bits
        self._there[block] = self._there.get(block, 0) | bits
        self.resident += bits.bit_count()
        self.most = max(self.most, self.resident)

    def _make_room(self, count: int, kept: frozenset[int]) -> bool:
        """Pushes out the blocks used least recently, but those kept, until so many leaves have room; if they can."""
        gone: list[int] = []
        free = self.capacity - self.resident
        for block, bits in self._there.items():
            if free >= count:
                break
            if block not in kept:
                gone.append(block)
                free += bits.bit_count()
        if free < count:
            return False
        for block in gone:
            bits = self._there.pop(block)
            self.resident -= bits.bit_count()
            self.evicted += bits.bit_count()
            self.wasted += (bits & self._unused.pop(block, 0)).bit_count()
        return True


def replay(
    steps: Sequence[Ints],
    capacity: int,
    *,
    plan: Sequence[Ints] | None = None,
    tree_share: float | None = None,
    checked: bool = True,
) -> Outcome:
    """What moves when steps touch those leaves in order, on a device of so many leaves.

    A `plan` has the leaves to prefetch before each step. Not `checked`, it is followed blindly, as PASTA's is: it
    pushes out its own pages where they do not fit. Cost: a step for each leaf touched and planned.
    """
    device = Replay(capacity, tree_share)
    brought: list[tuple[int, ...]] = []
    for at, touched in enumerate(steps):
        wanted = _by_block(plan[at]) if plan is not None else {}
        brought.append(tuple(device.prefetch(wanted, checked=checked)))
        for leaf in touched.tolist():
            device.touch(leaf)
    device.finish()
    counts = ("faults", "tree", "prefetched", "again", "evicted", "wasted", "skipped", "most")
    return Outcome(**{name: getattr(device, name) for name in counts}, brought=tuple(brought))


def _by_block(leaves: Ints) -> Mapping[int, int]:
    """The leaves as bits of their blocks, the blocks in the order in which they come first."""
    if not len(leaves):
        return {}
    block, first, place = np.unique(leaves // LEAVES, return_index=True, return_inverse=True)
    bits = np.zeros(len(block), np.int64)
    np.bitwise_or.at(bits, place, np.left_shift(np.int64(1), leaves % LEAVES))
    order = np.argsort(first)
    return dict(zip(block[order].tolist(), bits[order].tolist(), strict=True))
