"""Sorts all suffixes of a text in linear time by induced sorting (SA-IS; Nong, Zhang, Chan 2009).

A suffix is *small* if it is less than the suffix that starts one position later, else *large*; the last one is large.
A *turn* is a small suffix with a large one before it; turns are at least two positions apart. Once they are sorted, a
forward scan places all large suffixes and a backward scan all small ones. To sort the turns, each stretch from one
turn to the next is named by its rank, and the names, at most half as many, are the text of the next level.

The array `sa` is the work space of all levels: the names go to its end, their sorted order to its front. During the
scans an entry is a position, or the complement `~position` if the scan under way must not continue from it; 0 is also
"empty", since nothing stands before position 0. Each level needs two counters per distinct symbol besides.
"""

import numpy as np
import numpy.typing as npt

from ...store.compiled import jit

__all__ = ["sort_suffixes"]

Int32 = npt.NDArray[np.int32]


def sort_suffixes(text: Int32, alphabet: int, sa: Int32) -> None:
    """Fills `sa` with the suffix array of a text of symbols below `alphabet`; calls itself once per level."""
    if text.size < 2:
        sa[:] = 0
        return
    counts, bucket = _counters(text, alphabet)
    turns = _sort_stretches(text, counts, bucket, sa)
    names = _name_stretches(text, sa, turns)
    if names < turns:
        del counts, bucket  # the levels below may need the room
        sort_suffixes(sa[text.size - turns :], names, sa[:turns])
        _names_to_positions(text, sa, turns)
        counts, bucket = _counters(text, alphabet)
    _induce_from_turns(text, counts, bucket, sa, turns)


def _counters(text: Int32, alphabet: int) -> tuple[Int32, Int32]:
    counts = np.zeros(alphabet, np.int32)
    _count(text, counts)
    return counts, np.empty_like(counts)


@jit()
def _count(text: Int32, counts: Int32) -> None:
    for symbol in text:
        counts[symbol] += 1


@jit()
def _bucket_starts(counts: Int32, bucket: Int32) -> None:
    total = 0
    for symbol in range(counts.size):
        bucket[symbol] = total
        total += counts[symbol]


@jit()
def _bucket_ends(counts: Int32, bucket: Int32) -> None:
    total = 0
    for symbol in range(counts.size):
        total += counts[symbol]
        bucket[symbol] = total


@jit()
def _is_small(text: Int32, position: int, next_is_small: bool) -> bool:
    return text[position] < text[position + 1] or (text[position] == text[position + 1] and next_is_small)


@jit()
def _place_large(text: Int32, bucket: Int32, sa: Int32, final: bool) -> None:
    """Scans forward and puts each large suffix behind those already in its bucket.

    What the backward scan continues from is left as a position: suffixes whose predecessor is small. In the final
    round all others stay as complements, before it they are erased.
    """
    last = text.size - 1
    start = bucket[text[last]]  # the end of the text is less than any symbol, so the last suffix comes first
    bucket[text[last]] = start + 1
    sa[start] = last if last > 0 and text[last - 1] >= text[last] else ~last
    for slot in range(text.size):
        position = sa[slot]
        if position > 0:
            sa[slot] = ~position if final else 0
            before = position - 1
            symbol = text[before]
            target = bucket[symbol]
            bucket[symbol] = target + 1
            sa[target] = before if before > 0 and text[before - 1] >= symbol else ~before
        elif position < 0:
            sa[slot] = ~position


@jit()
def _place_small(text: Int32, bucket: Int32, sa: Int32, final: bool) -> None:
    """Scans backward and puts each small suffix in front of those already in its bucket.

    In the final round this completes the suffix array; before it only the turns stay, as complements.
    """
    for slot in range(text.size - 1, -1, -1):
        position = sa[slot]
        if position > 0:
            if not final:
                sa[slot] = 0
            before = position - 1
            symbol = text[before]
            target = bucket[symbol] - 1
            bucket[symbol] = target
            go_on = before > 0 and text[before - 1] <= symbol
            sa[target] = before if go_on or (before == 0 and not final) else ~before
        elif position < 0 and final:
            sa[slot] = ~position


@jit()
def _sort_stretches(text: Int32, counts: Int32, bucket: Int32, sa: Int32) -> int:
    """Puts the turns at the front of `sa`, sorted by their stretch to the next turn, and returns their number."""
    sa[:] = 0
    _bucket_ends(counts, bucket)
    small = False
    for i in range(text.size - 2, -1, -1):
        was_small = small
        small = _is_small(text, i, was_small)
        if was_small and not small:
            symbol = text[i + 1]
            bucket[symbol] -= 1
            sa[bucket[symbol]] = i + 1
    _bucket_starts(counts, bucket)
    _place_large(text, bucket, sa, False)
    _bucket_ends(counts, bucket)
    _place_small(text, bucket, sa, False)
    turns = 0
    for slot in range(text.size):
        if sa[slot] < 0:
            sa[turns] = ~sa[slot]
            turns += 1
    return turns


@jit()
def _name_stretches(text: Int32, sa: Int32, turns: int) -> int:
    """Names equal stretches alike and returns the number of names.

    If some are equal, the names in text order are left at the end of `sa`. In between, `sa[turns + p // 2]` belongs to
    the turn at p: first the length of its stretch, the next turn's first symbol included, then its name from 1.
    """
    size = text.size
    sa[turns:] = 0
    small = False
    end = size
    for i in range(size - 2, -1, -1):
        was_small = small
        small = _is_small(text, i, was_small)
        if was_small and not small:
            sa[turns + (i + 1) // 2] = end - i
            end = i + 1
    names = 0
    other = 0
    other_length = 0
    for k in range(turns):
        turn = sa[k]
        length = sa[turns + turn // 2]
        # The last stretch includes the end of the text and equals no other.
        equal = length == other_length and turn + length <= size and other + length <= size
        offset = 0
        while equal and offset < length:
            equal = text[turn + offset] == text[other + offset]
            offset += 1
        if not equal:
            names += 1
            other, other_length = turn, length
        sa[turns + turn // 2] = names
    if names < turns:
        target = size
        for k in range(turns + (size - 1) // 2, turns - 1, -1):
            if sa[k] > 0:
                target -= 1
                sa[target] = sa[k] - 1
    return names


@jit()
def _names_to_positions(text: Int32, sa: Int32, turns: int) -> None:
    """Replaces the sorted numbers of the turns at the front of `sa` by their positions in the text."""
    target = text.size
    small = False
    for i in range(text.size - 2, -1, -1):
        was_small = small
        small = _is_small(text, i, was_small)
        if was_small and not small:
            target -= 1
            sa[target] = i + 1
    for k in range(turns):
        sa[k] = sa[target + sa[k]]


@jit()
def _induce_from_turns(text: Int32, counts: Int32, bucket: Int32, sa: Int32, turns: int) -> None:
    """Completes the suffix array from the sorted turns at the front of `sa`."""
    sa[turns:] = 0
    _bucket_ends(counts, bucket)
    for k in range(turns - 1, -1, -1):
        turn = sa[k]
        sa[k] = 0  # before the write below, which may hit the same slot
        bucket[text[turn]] -= 1
        sa[bucket[text[turn]]] = turn
    _bucket_starts(counts, bucket)
    _place_large(text, bucket, sa, True)
    _bucket_ends(counts, bucket)
    _place_small(text, bucket, sa, True)
