"""The CPU engine of the suffix structure: a few linear passes in machine code."""

from functools import partial

import numpy as np

from ...store.compiled import jit
from .engine import Bool, Found, Int32, Sorted
from .sais import sort_suffixes

__all__ = ["find_intervals", "lcp_array", "sort", "suffix_array", "take_apart"]


def sort(symbols: Int32) -> Sorted:
    """Sorts the suffixes of a text.

    The peak of memory is that of the arrays alive at once, `symbols` included: 16 bytes per symbol (symbols, both
    results and one work array) as long as every id is below the length of the text. Larger ids are first replaced by
    their ranks, and the peak rises with the number of distinct symbols up to 20 bytes.
    """
    if symbols.size == 0:
        sa, peak = np.empty(0, np.int32), 0
    else:
        sa, peak = suffix_array(symbols)
    lcp = lcp_array(symbols, sa)
    return Sorted(sa, lcp, max(peak, 16 * symbols.size), partial(find_intervals, symbols, sa, lcp))


def suffix_array(symbols: Int32) -> tuple[Int32, int]:
    """Returns the suffix array of a text that is not empty and the peak of memory in bytes."""
    text, alphabet = symbols, int(symbols.max()) + 1
    peak = 8 * symbols.size + 8 * alphabet
    if alphabet > symbols.size:
        text, alphabet = _ranks(symbols)
        peak = max(16 * symbols.size + 4 * alphabet, 12 * symbols.size + 8 * alphabet)
    sa = np.empty(symbols.size, np.int32)
    sort_suffixes(text, alphabet, sa)
    return sa, peak


def _ranks(symbols: Int32) -> tuple[Int32, int]:
    """Replaces each symbol by its rank among the distinct symbols; returns also their number."""
    ordered = np.sort(symbols)  # not np.unique: it hashes, which is many times slower
    first = np.ones(symbols.size, np.bool_)
    np.not_equal(ordered[1:], ordered[:-1], out=first[1:])
    distinct = ordered[first]
    del ordered, first
    return np.searchsorted(distinct, symbols).astype(np.int32), distinct.size


def lcp_array(symbols: Int32, sa: Int32) -> Int32:
    """Returns the length of the common prefix of each suffix in `sa` with the one before it; 0 for the first."""
    in_text_order = np.empty_like(sa)
    _permuted_lcp(symbols, sa, in_text_order)
    lcp = np.empty_like(sa)
    _gather(in_text_order, sa, lcp)
    return lcp


@jit()
def _permuted_lcp(symbols: Int32, sa: Int32, lcp: Int32) -> None:
    """Fills `lcp` in text order by the Phi algorithm (Kärkkäinen, Manzini, Puglisi 2009).

    If the sorted neighbours of positions i - 1 and i are themselves one apart, the prefix in common is one shorter at
    i, and nothing is compared. Elsewhere it is at least that long, so the comparison starts there.
    """
    before = -1
    for position in sa:
        lcp[position] = before  # the suffix before this one in sorted order, until its length is known
        before = position
    size = sa.size
    common = 0
    neighbour = -1
    for position in range(size):
        follows = common > 0 and lcp[position] == neighbour + 1
        neighbour = lcp[position]
        common = max(common - 1, 0) if neighbour >= 0 else 0
        if not follows and neighbour >= 0:
            limit = size - max(position, neighbour)
            while common < limit and symbols[position + common] == symbols[neighbour + common]:
                common += 1
        lcp[position] = common


@jit()
def _gather(source: Int32, index: Int32, target: Int32) -> None:
    # source[index] would first widen the index to 8 bytes per symbol
    for slot in range(index.size):
        target[slot] = source[index[slot]]


def find_intervals(symbols: Int32, sa: Int32, lcp: Int32, shortest: int, longest: int) -> Found:
    """Returns first slot, last slot, length and left diversity of the LCP intervals of the lengths asked for.

    The order is by first slot, then by length. Takes up to 21 bytes per symbol while it runs, besides the result.
    """
    longest = min(longest, sa.size)
    stack = np.empty((2, max(1, min(sa.size, longest - shortest + 2))), np.int32)
    left, right, length = (np.empty(sa.size, np.int32) for _ in range(3))
    diverse = np.empty(sa.size, np.bool_)
    unused = _fill_intervals(symbols, sa, lcp, shortest, longest, stack, left, right, length, diverse)
    # Copies, so that the result does not hold on to the unused room.
    return left[unused:].copy(), right[unused:].copy(), length[unused:].copy(), diverse[unused:].copy()


@jit()
def _fill_intervals(
    symbols: Int32,
    sa: Int32,
    lcp: Int32,
    shortest: int,
    longest: int,
    stack: Int32,
    left: Int32,
    right: Int32,
    length: Int32,
    diverse: Bool,
) -> int:
    """Fills the four arrays from their end and returns the first index used.

    The slots are visited from last to first with a stack of the intervals that are open, lengths rising (row 0) and
    last slots (row 1). An interval closes at its first slot, the longer ones first: the wanted order, reversed.
    Lengths out of bounds are cut to one beyond the bound, which opens fewer intervals and changes no wanted one.
    """
    unused = sa.size
    depth = 0
    last_change = sa.size  # nearest slot after this one whose left neighbour differs from that of the slot before it
    symbol = symbols[sa[-1] - 1] if sa.size and sa[-1] > 0 else -1
    for slot in range(sa.size - 1, -1, -1):
        value = lcp[slot] if slot > 0 else 0
        value = shortest - 1 if value < shortest else min(value, longest + 1)
        end = slot
        while depth > 0 and stack[0, depth - 1] > value:
            depth -= 1
            end = stack[1, depth]
            if stack[0, depth] <= longest:
                unused -= 1
                left[unused] = slot
                right[unused] = end
                length[unused] = stack[0, depth]
                diverse[unused] = last_change <= end
        if value >= shortest and (depth == 0 or stack[0, depth - 1] < value):
            stack[0, depth] = value
            stack[1, depth] = end
            depth += 1
        if slot > 0:
            symbol_before = symbols[sa[slot - 1] - 1] if sa[slot - 1] > 0 else -1
            if symbol_before != symbol:
                last_change = slot
            symbol = symbol_before
    return unused


@jit()
def take_apart(positions: Int32, length: int, kept: Int32) -> int:
    """Copies to `kept` each position at least `length` after the last one copied and returns how many there are."""
    count = 0
    free = 0
    for position in positions:
        if position >= free:
            kept[count] = position
            count += 1
            free = position + length
    return count
