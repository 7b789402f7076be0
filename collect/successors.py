"""What follows what in the text of events, so that keys which come again need not be read: they are compared.

Profilers write all events of a kind alike, to the last blank.
"""

from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from .jsonscan import PADDING, copy_bytes, jit, word

__all__ = ["Successors", "follows", "new_successors", "remember", "slot_after"]

Bytes = npt.NDArray[np.uint8]
Ints = npt.NDArray[np.int64]


class Successors(NamedTuple):
    """What stood between a value and the next one the last time, by a slot for the keys that came before.

    Events of a kind are written alike: where the same text follows again, its key need not be read. `texts` has
    `LONGEST` bytes for each slot, of which `lengths` are used (0: nothing known); the key, which begins `keys` bytes
    into the text, has the id `ids` (or less than 0) and the hash `hashes`.
    """

    texts: Bytes
    lengths: Ints
    keys: Ints
    ids: Ints
    hashes: Ints


LONGEST, SLOTS = 64, 1024
"""Bytes of a text that is remembered, and how many are."""


def new_successors() -> Successors:
    """Nothing known yet."""
    numbers = [np.zeros(SLOTS, np.int64) for _ in range(4)]
    return Successors(np.zeros(SLOTS * LONGEST + PADDING, np.uint8), *numbers)


@jit()
def slot_after(path: int, h: int) -> int:
    """The slot after a key (or another thing that tells what follows), from that of what came before."""
    return (path * 31 + (h ^ (h >> 32))) & (SLOTS - 1)


@jit()
def follows(s: Successors, slot: int, buf: Bytes, p: int) -> int:
    """How long the text known for the slot is, if it stands at p; else 0."""
    length, at = s.lengths[slot], slot * LONGEST
    end = p + length
    while p + 8 <= end:
        if word(buf, p) != word(s.texts, at):
            return 0
        p, at = p + 8, at + 8
    if p < end and (word(buf, p) ^ word(s.texts, at)) & ((1 << (8 * (end - p))) - 1):
        return 0
    return length


@jit()
def remember(s: Successors, slot: int, buf: Bytes, begin: int, key: int, end: int, i: int, h: int) -> None:
    """Notes what stands at a slot between the end of a value and the next value, and where and what its key is."""
    if end - begin > LONGEST:
        return
    copy_bytes(s.texts, slot * LONGEST, buf, begin, end)
    s.lengths[slot], s.keys[slot], s.ids[slot], s.hashes[slot] = end - begin, key - begin, i, h
