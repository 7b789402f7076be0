"""The steps of the array engine as calls of the kernels, on whatever launches them."""

from collections.abc import Callable
from typing import Any

import numpy as np

from . import plain
from .arrays import Array
from .plain import PHRASE_END
from .steps import Steps

__all__ = ["fused_steps"]

LONGEST_PHRASE = 1 << 13
"""Symbols that one thread looks at, one after the other; longer phrases are worked on with array operations."""
COMPARED_AT_FIRST = 32
MOST_COMPARED = 1 << 28
STRETCH = 2048
LANES = 32

Launch = Callable[..., None]
"""Runs the kernel of a name with these arguments for so many items: `launch(name, items, *arguments)`."""


def fused_steps(xp: Any, launch: Launch) -> Steps:
    """Returns the steps as kernels; `launch` runs them, on arrays of `xp`."""

    def mark_phrase_starts(xp: Any, enclosed: Array, seed: int) -> Array:
        flags = xp.empty(enclosed.size - 2, xp.bool_)
        launch("mark_phrase_starts", flags.size, enclosed, np.uint32(seed * 0x27D4EB2F & 0xFFFFFFFF), flags)
        return flags

    def hash_phrases(xp: Any, enclosed: Array, bounds: Array, seed: int) -> Array:
        if _longest(bounds) > LONGEST_PHRASE:
            return plain.hash_phrases(xp, enclosed, bounds, seed)
        hashes = xp.empty(bounds.size - 1, xp.uint64)
        mixed_seed = np.uint64((seed + 1) * 0xA0761D6478BD642F & 0xFFFFFFFFFFFFFFFF)
        launch("hash_phrases", hashes.size, enclosed, bounds, np.int32(PHRASE_END), mixed_seed, hashes)
        return hashes

    def count_unlike(xp: Any, enclosed: Array, bounds: Array, example: Array) -> int:
        if _longest(bounds) > LONGEST_PHRASE:
            return plain.count_unlike(xp, enclosed, bounds, example)
        unlike = xp.zeros(1, xp.int32)
        launch("count_unlike", example.size, enclosed, bounds, example, np.int32(PHRASE_END), unlike)
        return int(unlike[0])

    def pack_symbols(xp: Any, text: Array, ends: Array, count: int, symbol_bits: int, index_bits: int) -> Array:
        packed = xp.empty(text.size, xp.int64)
        bits = np.int32(count), np.int32(symbol_bits), np.int32(index_bits)
        launch("pack_symbols", text.size, text, ends, *bits, packed)
        return packed

    def count_below(xp: Any, values: Array, begin: Array, length: Array, limit: Array) -> Array:
        found = xp.empty_like(begin)
        launch("count_below", begin.size, values, begin, length, limit, found)
        return found

    def common_prefixes(xp: Any, enclosed: Array, one: Array, other: Array) -> Array:
        size = np.int32(enclosed.size - 3)
        lengths = xp.empty(one.size, xp.int32)
        compared, step = COMPARED_AT_FIRST, STRETCH
        launch("compare_begin", one.size, enclosed, size, one, other, np.int32(compared), lengths)
        going = xp.flatnonzero(lengths == compared).astype(xp.int32)
        while going.size:
            lanes = step // STRETCH * LANES
            lengths[going] = compared + step
            numbers = np.int32(compared), np.int32(lanes)
            launch("compare_further", going.size * lanes, enclosed, size, one, other, going, *numbers, lengths)
            compared += step
            going = going[lengths[going] == compared]
            step = min(4 * step, MOST_COMPARED)
        return lengths

    def climb(name: str) -> Callable[[Any, Array, Array], Array]:
        def nearest(xp: Any, tree: Array, leaf: Array) -> Array:
            found = xp.empty_like(leaf)
            launch(name, leaf.size, tree, np.int32(tree.size // 2), leaf, found)
            return found

        return nearest

    return Steps(
        xp,
        mark_phrase_starts,
        hash_phrases,
        count_unlike,
        pack_symbols,
        count_below,
        common_prefixes,
        climb("previous_at_most"),
        climb("next_smaller"),
    )


def _longest(bounds: Array) -> int:
    return int((bounds[1:] - bounds[:-1]).max())
