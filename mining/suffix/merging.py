"""Puts the suffixes of a text in order, given those of its phrases and of its parse.

Suffixes whose phrases end alike form a class; classes are in the order of the dictionary, and inside a class the order
is that of the phrases that follow. All occurrences of one phrase are in that order in the suffix array of the parse
already. So of each class the occurrences of its most frequent phrase are copied as they stand, and only the others,
the strays, are sorted and put between them.
"""

from dataclasses import dataclass
from typing import Any

from .arrays import Array, bit_count, ragged, ragged_owner
from .parsing import Parse
from .plain import PHRASE_END
from .steps import Steps

__all__ = ["suffixes_of_text"]


@dataclass(frozen=True)
class _Classes:
    """The classes in order; `stray_*` are the entries of the dictionary other than the main one of their class."""

    slot: Array
    """First slot of each class in the suffix array."""
    block: Array
    """Where the occurrences of the main phrase begin in the suffix array of the parse."""
    count: Array
    """How many these are."""
    offset: Array
    """Where in the main phrase the suffixes begin."""
    rest: Array
    """From there to the begin of the next phrase."""
    stray_class: Array
    stray_block: Array
    stray_count: Array


def suffixes_of_text(steps: Steps, parsed: Parse, parse_order: Array) -> Array:
    """Returns the suffix array of a text from its parse and the suffix array of the parse."""
    xp = steps.xp
    size, phrases = int(parsed.bounds[-1]), parse_order.size
    classes = _classes(xp, parsed, phrases)
    begins = xp.empty(phrases + 1, xp.int32)
    begins[:-1] = parsed.bounds[parse_order]
    begins[-1:] = 0  # read where a class ends with strays, then overwritten
    slot, position = _place_strays(steps, parsed, parse_order, classes, begins)
    index = xp.ones(size + 1, xp.int32)
    index[slot + 1] = 0
    jump = classes.block.copy()
    jump[1:] -= classes.block[:-1] + classes.count[:-1]
    jump[:1] -= 1
    index[classes.slot] += jump
    xp.cumsum(index, dtype=xp.int32, out=index)
    order = begins[index[:-1]]
    index[:] = 0
    jump = classes.offset.copy()
    jump[1:] -= classes.offset[:-1]
    index[classes.slot] = jump
    xp.cumsum(index, dtype=xp.int32, out=index)
    order += index[:-1]
    order[slot] = position
    return order


def _classes(xp: Any, parsed: Parse, phrases: int) -> _Classes:
    dictionary = parsed.dictionary
    by_rank = xp.empty_like(parsed.count)
    by_rank[parsed.rank] = parsed.count
    block_of_phrase = (xp.cumsum(by_rank, dtype=xp.int32) - by_rank)[parsed.rank]
    owner = dictionary.owner[dictionary.order]
    count = parsed.count[owner]
    block = block_of_phrase[owner]
    main = xp.flatnonzero(dictionary.first).astype(xp.int32)
    stray = xp.flatnonzero(~dictionary.first).astype(xp.int32)
    start = dictionary.order[main]
    main_owner = owner[main]
    return _Classes(
        slot=(xp.cumsum(count, dtype=xp.int32) - count)[main],
        block=block[main],
        count=count[main],
        offset=start - dictionary.begin[main_owner],
        rest=dictionary.ends[start] - start - PHRASE_END,
        stray_class=(xp.cumsum(dictionary.first, dtype=xp.int32) - 1)[stray],
        stray_block=block[stray],
        stray_count=count[stray],
    )


def _place_strays(
    steps: Steps, parsed: Parse, parse_order: Array, classes: _Classes, begins: Array
) -> tuple[Array, Array]:
    """Returns the slot and the position of each occurrence that is not of the main phrase of its class."""
    xp, phrases = steps.xp, parse_order.size
    total = int(classes.stray_count.sum())
    if total == 0:
        return xp.empty(0, xp.int32), xp.empty(0, xp.int32)
    rank = xp.zeros(phrases + 1, xp.int32)
    rank[parse_order] = xp.arange(phrases, dtype=xp.int32)
    following = rank[parse_order + 1]  # ascends inside each block; the last phrase of the text has a block of its own
    # Class and rank of what follows tell an occurrence from all others, so that no row number is needed.
    keys = classes.stray_class[ragged_owner(xp, classes.stray_count, total)].astype(xp.int64)
    rank_bits = bit_count(phrases)
    keys <<= rank_bits
    keys |= following[ragged(xp, classes.stray_block, classes.stray_count, total)]
    keys.sort()
    after = (keys & ((1 << rank_bits) - 1)).astype(xp.int32)
    keys >>= rank_bits
    owner = keys.astype(xp.int32)
    del keys
    before = steps.count_below(xp, following, classes.block[owner], classes.count[owner], after)
    # Strays of earlier classes come before this class's first slot, which counts them already.
    in_class = xp.zeros(classes.slot.size + 1, xp.int32)
    in_class[:-1] = classes.slot
    in_class[-1:] = int(parsed.bounds[-1])
    strays = in_class[1:] - in_class[:-1] - classes.count
    earlier = xp.cumsum(strays, dtype=xp.int32) - strays
    slot = classes.slot[owner] - earlier[owner] + xp.arange(total, dtype=xp.int32) + before
    return slot, begins[after] - classes.rest[owner]
