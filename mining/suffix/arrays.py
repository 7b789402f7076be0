"""Array operations that NumPy and CuPy both have, put together: sorting by packed keys, ragged ranges, packing.

`xp` is the module in use. All of it keeps to what CuPy can do: nothing accumulates but sums, and sorts take keys only.
"""

from collections.abc import Sequence
from typing import Any

__all__ = ["Array", "bit_count", "enclosed", "first_of_each", "ragged", "ragged_owner", "sort_by", "unpack"]

Array = Any
"""An array of the module in use, on whichever device that module computes."""

KEY_BITS = 63  # of a signed 64-bit number that is not negative


def bit_count(values: int) -> int:
    """Returns how many bits hold any of the numbers 0 to `values - 1`."""
    return max(1, (values - 1).bit_length())


def enclosed(xp: Any, text: Array) -> Array:
    """Returns a copy of the text with -1 before it and twice after it.

    From index 1 it is the text with its end marked; indexed by a position it gives the symbol before that position.
    """
    buffer = xp.empty(text.size + 3, xp.int32)
    buffer[1:-2] = text
    buffer[:1] = -1
    buffer[-2:] = -1
    return buffer


def sort_by(xp: Any, keys: Sequence[tuple[Array, int]]) -> tuple[Array, Array]:
    """Returns the stable order by `keys` and, in that order, a flag for each row that differs from the one before.

    A key is an array of numbers that are not negative with their number of bits; the first key counts most. Key and
    row number go into one 64-bit number, so that a sort of plain numbers is enough: on the CPU that is several times
    faster than sorting indices, on a device it is the fastest sort there is. Keys that do not fit together are sorted
    one after the other, the last one first.
    """
    size = keys[0][0].size
    index_bits = bit_count(size)
    if sum(bits for _, bits in keys) + index_bits <= KEY_BITS:
        packed = _pack(xp, keys)
        packed <<= index_bits
        packed |= xp.arange(size, dtype=xp.int64)
        return unpack(xp, packed, index_bits)
    order, first = sort_by(xp, keys[1:])
    major, bits = keys[0]
    again, differs = sort_by(xp, [(major[order], bits)])
    # Where the first key stays the same, neighbours were in this order before; there the flags of the others hold,
    # but only between rows that were neighbours then too.
    order = order[again]
    rest = xp.cumsum(first, dtype=xp.int32)[again]
    differs[1:] |= rest[1:] != rest[:-1]
    return order, differs


def unpack(xp: Any, packed: Array, index_bits: int) -> tuple[Array, Array]:
    """Sorts numbers made of a key and a row number; returns the rows in order and where the key changes.

    Overwrites `packed`.
    """
    packed.sort()
    order = (packed & ((1 << index_bits) - 1)).astype(xp.int32)
    packed >>= index_bits
    return order, first_of_each(xp, packed)


def _pack(xp: Any, keys: Sequence[tuple[Array, int]]) -> Array:
    packed = keys[0][0].astype(xp.int64)
    for key, bits in keys[1:]:
        packed <<= bits
        packed |= key
    return packed


def first_of_each(xp: Any, ordered: Array) -> Array:
    """Returns which elements differ from the one before them; the first one does."""
    first = xp.ones(ordered.size, xp.bool_)
    xp.not_equal(ordered[1:], ordered[:-1], out=first[1:])
    return first


def ragged(xp: Any, starts: Array, lengths: Array, total: int) -> Array:
    """Returns `starts[k], starts[k] + 1, ...` of each stretch, `lengths[k]` numbers, none of them empty, in one."""
    steps = xp.ones(total, xp.int32)
    before = xp.cumsum(lengths, dtype=xp.int32) - lengths
    jumps = starts.astype(xp.int32)
    jumps[1:] -= starts[:-1] + lengths[:-1] - 1
    steps[before] = jumps
    return xp.cumsum(steps, dtype=xp.int32, out=steps)


def ragged_owner(xp: Any, lengths: Array, total: int) -> Array:
    """Returns the number of its stretch for each element of stretches laid end to end, none of them empty."""
    steps = xp.zeros(total, xp.int32)
    before = xp.cumsum(lengths, dtype=xp.int32) - lengths
    steps[before[1:]] = 1
    return xp.cumsum(steps, dtype=xp.int32, out=steps)
