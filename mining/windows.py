"""Windows of a sequence by content, of one width after the other, and the distances at which contents return.

A window of the next width is two of the last: to count the first halves puts in order what is in the order of the
second halves. So the cost is linear in the windows for each width, but for a sort of the distances.
"""

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from ..store.compiled import jit
from .sorting import Ints, stable_order

__all__ = ["Distances", "Windows", "distances", "windows"]

Places = npt.NDArray[np.int32]


@dataclass(frozen=True, eq=False)
class Windows:
    """Where windows of one width begin, by content and then place; `begin` says where in that order each content does.

    The last entry of `begin` is the number of windows.
    """

    order: Places
    begin: Ints


@dataclass(frozen=True, eq=False)
class Distances:
    """Contents that occur often enough: the slice of `order` of each, and from one occurrence to the next.

    `period` is the (lower) median distance, `regular` how many come that near to it, by which they miss it in all.
    """

    start: Ints
    count: Ints
    period: Ints
    regular: Ints
    deviation: Ints


def windows(tokens: Ints, widest: int) -> Iterator[Windows]:
    """The windows of 1, 2, 4, ... tokens, until no two are equal or hardly one more fits."""
    n, width = len(tokens), 1
    order = stable_order(tokens)
    fresh = np.r_[True, tokens[order[1:]] != tokens[order[:-1]]]
    order, begin, rank = order.astype(np.int32), np.r_[np.flatnonzero(fresh), n], np.empty(n, np.int32)
    rank[order] = np.cumsum(fresh) - 1
    while True:
        yield Windows(order, begin)
        if width == widest or n <= 2 * width or len(begin) > len(order):
            return
        order, rank, begin = _widened(order, rank, width, len(begin) - 1)
        width *= 2


def distances(found: Windows, place: Ints, least: int, most: int, tolerance: float, position: Ints) -> Distances:
    """Measures the contents that occur so often; fills in the places of these, in the windows' order.

    `place` says where each token stands. A distance comes near the median if it misses it by the share `tolerance` of
    it, rounded down.
    """
    bits = int(place[-1]).bit_length()
    start, count, gap = _gaps(found.order, found.begin, place, least, most, bits, position)
    gap.sort(kind="stable")
    return Distances(start, count, *_measured(gap, count, bits, tolerance))


@jit()
def _widened(order: Places, rank: Places, width: int, classes: int) -> tuple[Places, Places, Ints]:
    """The windows of twice the width: in order, the rank of each, and where each content begins."""
    size = len(order) - width
    place = np.zeros(classes + 1, np.int32)
    for at in range(size):
        place[rank[at] + 1] += 1
    for one in range(classes):
        place[one + 1] += place[one]
    longer, wider, begin = np.empty(size, np.int32), np.empty(size, np.int32), np.empty(size + 1, np.int64)
    for second in order:
        at = second - width
        if 0 <= at < size:
            longer[place[rank[at]]] = at
            place[rank[at]] += 1
    count, before = 0, -1
    for k in range(size):
        at = longer[k]
        if k == 0 or rank[at] != rank[before] or rank[at + width] != rank[before + width]:
            begin[count] = k
            count += 1
        wider[at] = count - 1
        before = at
    begin[count] = size
    return longer, wider, begin[: count + 1].copy()


@jit()
def _gaps(
    order: Places, begin: Ints, place: Ints, least: int, most: int, bits: int, position: Ints
) -> tuple[Ints, Ints, Ints]:
    """Of each content that occurs often enough where its slice begins, its length, and its distances, all packed."""
    start, count, gap = np.empty(len(order), np.int64), np.empty(len(order), np.int64), np.empty(len(order), np.int64)
    found, gaps = 0, 0
    for one in range(len(begin) - 1):
        size = begin[one + 1] - begin[one]
        if not least <= size <= most:
            continue
        before = place[order[begin[one]]]
        position[begin[one]] = before
        for k in range(begin[one] + 1, begin[one + 1]):
            now = place[order[k]]
            position[k] = now
            gap[gaps] = (found << bits) | (now - before)
            gaps += 1
            before = now
        start[found], count[found] = begin[one], size
        found += 1
    return start[:found].copy(), count[:found].copy(), gap[:gaps]


@jit()
def _measured(gap: Ints, count: Ints, bits: int, tolerance: float) -> tuple[Ints, Ints, Ints]:
    """The median of each content's distances, which are sorted; how many come near, and by how much they miss it."""
    period, regular, deviation = np.empty_like(count), np.zeros_like(count), np.zeros_like(count)
    begin, mask = 0, (1 << bits) - 1
    for one in range(len(count)):
        stop = begin + count[one] - 1
        period[one] = gap[begin + (count[one] - 2) // 2] & mask
        width = int(tolerance * period[one])
        for at in range(begin, stop):
            miss = abs((gap[at] & mask) - period[one])
            if miss <= width:
                regular[one] += 1
                deviation[one] += miss
        begin = stop
    return period, regular, deviation
