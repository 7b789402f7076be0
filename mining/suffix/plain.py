"""The steps of the array engine that a device does in one kernel each, written in array operations.

They run on any array module and are what the kernels in `kernels.py` are tested against. Long inputs are worked on in
pieces, so that what is needed in between stays small.
"""

from collections.abc import Iterator
from typing import Any

import numpy as np

from .arrays import Array, ragged_owner

__all__ = [
    "PHRASE_END",
    "common_prefixes",
    "count_below",
    "count_unlike",
    "hash_phrases",
    "mark_phrase_starts",
    "next_smaller",
    "pack_symbols",
    "previous_at_most",
]

PHRASE_END = 2
"""How many symbols of the next phrase belong to a phrase too: the window that decides where one begins."""

PIECE = 1 << 14
LEAST_GALLOP = 4
MOST_IN_A_ROUND = 1 << 19


def mark_phrase_starts(xp: Any, enclosed: Array, seed: int) -> Array:
    """Returns a flag for each position of an enclosed text, and one for its end, that tells where a phrase begins.

    One does where the next two symbols hash to a multiple of 8; also at the first position and at the end.
    """
    flags = xp.ones(enclosed.size - 2, xp.bool_)
    symbols = enclosed.view(xp.uint32)
    for begin in range(1, flags.size - 2, 1 << 20):
        end = min(begin + (1 << 20), flags.size - 2)
        mixed = symbols[begin + 1 : end + 1] * np.uint32(0x9E3779B1)
        mixed += symbols[begin + 2 : end + 2] * np.uint32(0x85EBCA77)
        mixed += np.uint32(seed * 0x27D4EB2F & 0xFFFFFFFF)
        mixed ^= mixed >> 15
        mixed *= np.uint32(0x2C1B3C6D)
        mixed ^= mixed >> 12
        mixed &= 7
        xp.equal(mixed, 0, out=flags[begin:end])
    flags[max(1, flags.size - 2) : flags.size - 1] = False
    return flags


def hash_phrases(xp: Any, enclosed: Array, bounds: Array, seed: int) -> Array:
    """Returns a 64-bit hash of each phrase: the sum of a mix of each symbol with its place in the phrase."""
    hashes = xp.empty(bounds.size - 1, xp.uint64)
    for first, last, begin, owner, offset in _pieces(xp, bounds):
        mixed = _mix(enclosed[begin + 1 : begin + 1 + owner.size], offset, seed)
        total = xp.zeros(owner.size + 1, xp.uint64)
        xp.cumsum(mixed, dtype=xp.uint64, out=total[1:])
        marks = bounds[first : last + 1] - begin
        found = total[marks[1:]] - total[marks[:-1]]
        length = bounds[first + 1 : last + 1] - bounds[first:last]
        for tail in range(PHRASE_END):
            found += _mix(enclosed[bounds[first + 1 : last + 1] + (tail + 1)], length + tail, seed)
        hashes[first:last] = found
    return hashes


def _mix(symbols: Array, offset: Array, seed: int) -> Array:
    mixed = symbols.astype(np.uint64)
    mixed *= np.uint64(0x9E3779B97F4A7C15)
    mixed += offset.astype(np.uint64) * np.uint64(0xD6E8FEB86659FD93)
    mixed += np.uint64((seed + 1) * 0xA0761D6478BD642F & 0xFFFFFFFFFFFFFFFF)
    mixed ^= mixed >> 32
    mixed *= np.uint64(0xBF58476D1CE4E5B9)
    mixed ^= mixed >> 29
    return mixed


def count_unlike(xp: Any, enclosed: Array, bounds: Array, example: Array) -> int:
    """Returns 0 if every phrase is like the phrase named as its example, else how many differences were counted."""
    unlike = 0
    for first, last, begin, owner, offset in _pieces(xp, bounds):
        examples = example[first:last]
        length = bounds[first + 1 : last + 1] - bounds[first:last]
        unlike += int((bounds[examples + 1] - bounds[examples] != length).sum())
        source = bounds[examples][owner] + offset
        source = xp.minimum(source, enclosed.size - 2)
        unlike += int((enclosed[source + 1] != enclosed[begin + 1 : begin + 1 + owner.size]).sum())
        for tail in range(1, PHRASE_END + 1):
            unlike += int(
                (enclosed[bounds[examples + 1] + tail] != enclosed[bounds[first + 1 : last + 1] + tail]).sum()
            )
    return unlike


def _pieces(xp: Any, bounds: Array) -> Iterator[tuple[int, int, int, Array, Array]]:
    """Yields first phrase, phrase after the last, start, and of each symbol its phrase in the piece and its place."""
    for first in range(0, bounds.size - 1, PIECE):
        last = min(first + PIECE, bounds.size - 1)
        begin, end = int(bounds[first]), int(bounds[last])
        own = bounds[first:last]
        owner = ragged_owner(xp, bounds[first + 1 : last + 1] - own, end - begin)
        yield first, last, begin, owner, xp.arange(begin, end, dtype=xp.int32) - own[owner]


def pack_symbols(xp: Any, text: Array, ends: Array, count: int, symbol_bits: int, index_bits: int) -> Array:
    """Returns for each position its first `count` symbols, none from `ends` on, and the position in one number.

    Symbols are raised by 2, so that the end of the text counts less than any.
    """
    length = ends - xp.arange(text.size, dtype=xp.int32)
    packed = xp.zeros(text.size, xp.int64)
    for offset in range(count):
        packed <<= symbol_bits
        if offset < text.size:
            part = text[offset:].astype(xp.int64)
            part += 2
            part *= length[: text.size - offset] > offset
            packed[: text.size - offset] |= part
    packed <<= index_bits
    packed |= xp.arange(text.size, dtype=xp.int64)
    return packed


def count_below(xp: Any, values: Array, begin: Array, length: Array, limit: Array) -> Array:
    """Returns how many of the ascending `values[begin[k]:begin[k] + length[k]]` are below `limit[k]`."""
    low = begin.astype(xp.int32)
    high = low + length
    for _ in range(_bits_of_greatest(length)):
        middle = (low + high) >> 1
        below = values[xp.minimum(middle, values.size - 1)] < limit
        below &= low < high
        low = xp.where(below, middle + 1, low)
        high = xp.where(below, high, middle)
    return low - begin


def _bits_of_greatest(numbers: Array) -> int:
    """Returns the bits of the greatest of the numbers; none if there are no numbers."""
    return int(numbers.max()).bit_length() if numbers.size else 0


def common_prefixes(xp: Any, enclosed: Array, one: Array, other: Array) -> Array:
    """Returns how many symbols two suffixes each have in common; `one[k]` and `other[k]` differ, the end is allowed.

    Each round compares twice as many further symbols of the pairs that have not differed yet.
    """
    lengths = xp.zeros(one.size, xp.int32)
    going = xp.arange(one.size, dtype=xp.int32)
    compared, step = 0, LEAST_GALLOP
    while going.size:
        rows = max(1, MOST_IN_A_ROUND // step)
        for first in range(0, going.size, rows):
            part = going[first : first + rows]
            lengths[part] += _equal_symbols(xp, enclosed, one[part] + compared, other[part] + compared, step)
        compared += step
        going = going[lengths[going] == compared]
        step = min(2 * step, MOST_IN_A_ROUND)
    return lengths


def _equal_symbols(xp: Any, enclosed: Array, one: Array, other: Array, step: int) -> Array:
    """Returns how many of the next `step` symbols are equal; the end of the text equals nothing before it."""
    end = enclosed.size - 2
    offset = xp.arange(1, step + 1, dtype=xp.int32)
    same = enclosed[xp.minimum(one[:, None] + offset, end)] == enclosed[xp.minimum(other[:, None] + offset, end)]
    return xp.where(same.all(axis=1), step, same.argmin(axis=1)).astype(xp.int32)


def previous_at_most(xp: Any, tree: Array, leaf: Array) -> Array:
    """Returns for leaves of a tree of minima the nearest leaf before it that is not greater; there must be one."""
    return _climb(xp, tree, leaf, -1, 0)


def next_smaller(xp: Any, tree: Array, leaf: Array) -> Array:
    """Returns for leaves of a tree of minima the nearest leaf after it that is smaller, or the number of leaves."""
    return _climb(xp, tree, leaf, 1, 1)


def _climb(xp: Any, tree: Array, leaf: Array, side: int, below: int) -> Array:
    """Goes up from each leaf until a subtree on the side asked for holds what is looked for, then down into it."""
    leaves = tree.size // 2
    node = leaf + leaves
    limit = tree[node] - below
    found = xp.zeros(leaf.size, xp.int32)
    going = xp.arange(leaf.size, dtype=xp.int32)
    while going.size:
        at = node[going]
        has_sibling = (at > 1) & ((at & 1) == (1 if side < 0 else 0))
        sibling = xp.where(has_sibling, at + side, 0)
        hit = has_sibling & (tree[sibling] <= limit[going])
        found[going[hit]] = sibling[hit]
        node[going] = at >> 1
        going = going[~hit & (at > 1)]
    going = xp.flatnonzero((found > 0) & (found < leaves)).astype(xp.int32)
    while going.size:
        near = 2 * found[going] + (1 if side < 0 else 0)
        found[going] = xp.where(tree[near] <= limit[going], near, near + side)
        going = going[found[going] < leaves]
    return xp.where(found > 0, found - leaves, leaves)
