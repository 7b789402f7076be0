"""LCP intervals from nearest smaller values: of each interval the first slot with its length stands for it."""

from typing import Any

from .arrays import Array, bit_count
from .steps import Steps

__all__ = ["find_intervals", "tree_of_minima"]


def find_intervals(
    steps: Steps, lcp: Array, changes: Array, shortest: int, longest: int
) -> tuple[Array, Array, Array, Array]:
    """Returns first slot, last slot, length and left diversity of the intervals of the lengths asked for.

    `changes` are the slots before whose suffix another symbol stands than before that of the slot before. The order is
    by first slot, then by length. Slots with longer common prefixes than asked for cannot bound an interval and are
    left out from the start: in repetitive text most of them.
    """
    xp, size = steps.xp, lcp.size
    kept = xp.flatnonzero(lcp <= min(longest, size)).astype(xp.int32)
    values = lcp[kept]
    tree = tree_of_minima(xp, values)
    asked = xp.flatnonzero(values >= shortest).astype(xp.int32)
    before = steps.previous_at_most(xp, tree, asked)
    new = values[before] < values[asked]
    asked, before = asked[new], before[new]
    # Of intervals with the same first slot the longer one is met first.
    bits = bit_count(values.size)
    packed = before.astype(xp.int64)
    packed <<= bits
    packed |= values.size - 1 - asked
    packed.sort()
    asked = (values.size - 1 - (packed & ((1 << bits) - 1))).astype(xp.int32)
    packed >>= bits
    left = kept[packed.astype(xp.int32)]
    after = steps.next_smaller(xp, tree, asked)
    limits = xp.empty(kept.size + 1, xp.int32)
    limits[:-1] = kept
    limits[-1:] = size
    right = limits[xp.minimum(after, kept.size)] - 1
    diverse = xp.searchsorted(changes, right, side="right") > xp.searchsorted(changes, left, side="right")
    return left, right, values[asked], diverse


def tree_of_minima(xp: Any, values: Array) -> Array:
    """Returns a binary tree as an array: the children of node k are 2 k and 2 k + 1, the second half are the values."""
    leaves = 1 << bit_count(values.size)
    tree = xp.empty(2 * leaves, xp.int32)
    tree[leaves : leaves + values.size] = values
    tree[leaves + values.size :] = 2**31 - 1
    tree[:1] = 2**31 - 1
    while leaves > 1:
        half = leaves // 2
        xp.minimum(tree[leaves : 2 * leaves : 2], tree[leaves + 1 : 2 * leaves : 2], out=tree[half:leaves])
        leaves = half
    return tree
