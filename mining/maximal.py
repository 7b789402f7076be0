"""Substrings that repeat and cannot be made longer without losing many of their occurrences, noise or not."""

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from ..store.compiled import jit
from .suffix import SuffixStructure, Symbols

__all__ = ["Repeats", "branching", "find_word", "maximal_repeats"]

Int32 = npt.NDArray[np.int32]


@dataclass(frozen=True, eq=False)
class Repeats:
    """Substrings that repeat: each the common prefix, `length` long, of the suffixes `sa[left]` to `sa[right]`."""

    sa: Int32
    left: Int32
    right: Int32
    length: Int32

    def __len__(self) -> int:
        return len(self.left)

    @property
    def count(self) -> Int32:
        """The number of occurrences of each, overlapping ones included."""
        return self.right - self.left + np.int32(1)

    def occurrences(self, index: int) -> Int32:
        """The positions where one of them occurs, ascending."""
        return np.sort(self.sa[self.left[index] : self.right[index] + 1])

    def take(self, index: npt.NDArray[np.intp]) -> "Repeats":
        """Those of the repeats, in that order."""
        return Repeats(self.sa, self.left[index], self.right[index], self.length[index])


def maximal_repeats(structure: SuffixStructure, shortest: int, longest: int, least: int) -> Repeats:
    """The repeats that are followed, and also preceded, by a second most frequent symbol at least `least` times.

    With `least` 1 these are the maximal repeats. In a text with noise nearly every repeat is maximal, since something
    odd stands before one of its occurrences; a larger `least` asks that it happens often. The beginning and the end
    of the text are symbols of their own. Two passes over the slots; the second one visits only what passes the first.
    """
    symbols, sa = structure.symbols, structure.sa
    if len(symbols) == 0:
        none = np.zeros(0, np.int32)
        return Repeats(sa, none, none, none)
    left, right, length = branching(structure.lcp, shortest, longest, least)
    before = np.where(sa > 0, symbols[sa - 1] + 1, 0).astype(np.int32)
    seen = np.zeros(int(symbols.max()) + 2, np.int32)
    keep = np.empty(len(left), np.bool_)
    _preceded(before, left, right, least, seen, keep)
    return Repeats(sa, left[keep], right[keep], length[keep])


def branching(lcp: Int32, shortest: int, longest: int, least: int) -> tuple[Int32, Int32, Int32]:
    """First slot, last slot and length of the LCP intervals that a second next symbol follows `least` times.

    An interval comes after those within it.
    """
    left, right, length = (np.empty(len(lcp) // max(least, 1) + 1, np.int32) for _ in range(3))
    longest = min(longest, len(lcp))
    stack = np.empty((4, max(longest - shortest, 0) + 4), np.int32)
    count = _branching(lcp, shortest, longest, least, stack, left, right, length)
    return left[:count].copy(), right[:count].copy(), length[:count].copy()  # without the room not used


def find_word(structure: SuffixStructure, word: Symbols) -> Int32:
    """The positions where a word occurs, ascending; overlapping ones included."""
    begin, stop = _word_slots(structure.symbols, structure.sa, word)
    return np.sort(structure.sa[begin:stop])


@jit()
def _branching(
    lcp: Int32, shortest: int, longest: int, least: int, stack: Int32, left: Int32, right: Int32, length: Int32
) -> int:
    """Fills in the intervals whose second largest child has `least` suffixes; a child is one next symbol.

    The stack holds the open intervals: length, first slot, and the sizes of the two largest children so far. Lengths
    above the bound are one beyond it, so that they are children but open no interval of their own.
    """
    count = 0
    depth = 0
    stack[0, 0], stack[1, 0], stack[2, 0], stack[3, 0] = shortest - 1, 0, 0, 0
    for slot in range(1, lcp.size + 1):
        value = min(max(lcp[slot], shortest - 1), longest + 1) if slot < lcp.size else shortest - 1
        begin, size = slot - 1, 1
        while stack[0, depth] > value:
            _add_child(stack, depth, size)
            begin = stack[1, depth]
            if stack[3, depth] >= least and stack[0, depth] <= longest:
                left[count], right[count], length[count] = begin, slot - 1, stack[0, depth]
                count += 1
            size = slot - begin
            depth -= 1
        if stack[0, depth] < value:
            depth += 1
            stack[0, depth], stack[1, depth], stack[2, depth], stack[3, depth] = value, begin, 0, 0
        _add_child(stack, depth, size)
    return count


@jit()
def _add_child(stack: Int32, depth: int, size: int) -> None:
    if size > stack[2, depth]:
        stack[3, depth] = stack[2, depth]
        stack[2, depth] = size
    elif size > stack[3, depth]:
        stack[3, depth] = size


@jit()
def _preceded(before: Int32, left: Int32, right: Int32, least: int, seen: Int32, keep: npt.NDArray[np.bool_]) -> None:
    """Whether two symbols stand before the suffixes of each interval at least `least` times; stops when it is so."""
    for index in range(left.size):
        enough = 0
        last = left[index]
        while last <= right[index] and enough < 2:
            symbol = before[last]
            seen[symbol] += 1
            if seen[symbol] == least:
                enough += 1
            last += 1
        keep[index] = enough == 2
        for slot in range(left[index], last):
            seen[before[slot]] = 0


@jit()
def _word_slots(symbols: Int32, sa: Int32, word: Int32) -> tuple[int, int]:
    """The slots of the suffixes that begin with a word: two binary searches."""
    low, high = 0, sa.size
    while low < high:
        middle = (low + high) // 2
        if _compare(symbols, sa[middle], word) < 0:
            low = middle + 1
        else:
            high = middle
    begin, high = low, sa.size
    while low < high:
        middle = (low + high) // 2
        if _compare(symbols, sa[middle], word) <= 0:
            low = middle + 1
        else:
            high = middle
    return begin, low


@jit()
def _compare(symbols: Int32, position: int, word: Int32) -> int:
    """-1, 0 or 1 as the suffix sorts before the word, begins with it, or sorts after it."""
    for step in range(word.size):
        if position + step >= symbols.size:
            return -1
        if symbols[position + step] != word[step]:
            return -1 if symbols[position + step] < word[step] else 1
    return 0
