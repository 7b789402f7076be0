"""Sorts suffixes by doubling the compared length, only those that are not yet told apart (Larsson, Sadakane 2007).

It serves whole texts in which repeats are short, and dictionaries of phrases: there each suffix ends with its phrase,
and equal ones stay together as one class.
"""

from typing import Any

from .arrays import Array, bit_count, sort_by, unpack
from .steps import Steps

__all__ = ["sort_suffixes"]

MOST_SYMBOLS_IN_A_KEY = 16


def sort_suffixes(steps: Steps, text: Array, ends: Array) -> tuple[Array, Array]:
    """Returns the order of the suffixes `text[i:ends[i]]` and, in that order, where a new class of equals begins.

    Symbols are at least -1. A suffix stands before those it is a prefix of, equal ones in the order of their starts.
    Costs one sort of all and one of those left per doubling of the length, with few left unless repeats are long.
    """
    xp, size = steps.xp, text.size
    index_bits = bit_count(size)
    symbol_bits = bit_count(int(text.max()) + 3)
    compared = min(MOST_SYMBOLS_IN_A_KEY, max(1, (63 - index_bits) // symbol_bits))
    order, first = unpack(xp, steps.pack_symbols(xp, text, ends, compared, symbol_bits, index_bits), index_bits)
    rank = xp.empty(size, xp.int32)
    rank[order] = _class_starts(xp, first)
    length = ends - xp.arange(size, dtype=xp.int32)
    slots = _unfinished(xp, first, length[order], compared)
    open_first = first[slots]
    while slots.size:
        members = order[slots]
        groups = xp.cumsum(open_first, dtype=xp.int32)
        group_bits = bit_count(int(groups[-1]) + 1)
        following = _following_rank(xp, rank, ends, members, compared)
        again, open_first = sort_by(xp, [(groups, group_bits), (following, bit_count(size + 1))])
        members = members[again]
        order[slots] = members
        first[slots] = open_first
        rank[members] = slots[_class_starts(xp, open_first)]
        compared *= 2
        left = _unfinished(xp, open_first, length[members], compared)
        slots, open_first = slots[left], open_first[left]
    return order, first


def _class_starts(xp: Any, first: Array) -> Array:
    """Returns for each row the number of the first row of its class."""
    starts = xp.flatnonzero(first).astype(xp.int32)
    return starts[xp.cumsum(first, dtype=xp.int32) - 1]


def _unfinished(xp: Any, first: Array, length: Array, compared: int) -> Array:
    """Returns the rows that share their class and are not shorter than what was compared.

    If one of a class is shorter, all of it are: they agree on where they end.
    """
    shared = ~first
    shared[:-1] |= ~first[1:]
    return xp.flatnonzero(shared & (length >= compared)).astype(xp.int32)


def _following_rank(xp: Any, rank: Array, ends: Array, members: Array, compared: int) -> Array:
    """Returns the rank of what follows the compared symbols of each member, from 1; 0 where nothing does."""
    following = xp.minimum(members, rank.size - 1 - compared) + compared
    return xp.where(members < ends[members] - compared, rank[following] + 1, 0)
