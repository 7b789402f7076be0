"""Repeated sequences of operations, ranked by the device time they stand for.

A suffix structure over the folded sequence gives every substring that repeats. Kept are those that are maximal (longer
on either side, an occurrence is lost) and primitive (not themselves a repetition). Then the one that accounts for the
most time not yet accounted for is taken, again and again: so rotations and parts of a pattern do not appear beside it.
"""

import heapq
from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from .sequence import Sequence
from .suffix import Intervals, build, non_overlapping

__all__ = ["LONGEST", "Pattern", "patterns"]

Ints = npt.NDArray[np.int64]

LONGEST = 512
"""Operations in a pattern, at most; what repeats at a larger scale is an iteration."""
CANDIDATES = 4096
"""Substrings looked at, those with the largest bound on their time."""
LEAST_SHARE = 0.001
"""A pattern must account for this share of the sequence's time that no earlier pattern accounts for."""


@dataclass(frozen=True)
class Pattern:
    """A repeated sequence: its symbols, and its occurrences, which do not overlap.

    `first` and `last` are the ordinals of each occurrence's first and last operation in the mined sequence;
    `start_ns`, `end_ns` its extent; `busy_ns` the summed duration of its operations; `idle_ns` the time within it when
    none of them runs. Runs of one symbol count as one symbol.
    """

    symbols: tuple[int, ...]
    first: Ints
    last: Ints
    start_ns: Ints
    end_ns: Ints
    busy_ns: Ints
    idle_ns: Ints


@dataclass(frozen=True)
class _Folded:
    """A sequence with runs of one symbol as one: where each run begins, and the time before it."""

    symbols: npt.NDArray[np.int32]
    begins: Ints
    before_ns: Ints

    def time(self, position: Ints, length: int) -> Ints:
        return self.before_ns[position + length] - self.before_ns[position]


def patterns(sequence: Sequence, *, longest: int = LONGEST, limit: int = 100) -> list[Pattern]:
    """The repeated patterns of a sequence, in the order in which they account for its time; at most `limit`.

    `longest` is the most symbols in one; where the iteration is known, half of it, or the iteration is all one finds.

    n log n in the number of operations for the suffix structure, plus the occurrences of the candidates.
    """
    folded = _fold(sequence)
    if len(folded.symbols) < 4:
        return []
    found = build(folded.symbols).intervals(2, max(2, min(longest, LONGEST)))
    least = LEAST_SHARE * folded.before_ns[-1]
    chosen: list[Pattern] = []
    for position, length in _cover(folded, found, _candidates(folded, found), least):
        chosen.append(_pattern(sequence, folded, position, length))
        if len(chosen) == limit:
            break
    return chosen


def _fold(sequence: Sequence) -> _Folded:
    symbols = sequence.symbols
    begins = np.flatnonzero(np.r_[True, symbols[1:] != symbols[:-1]]) if len(symbols) else np.zeros(0, np.int64)
    before = np.r_[0, np.cumsum(sequence.end_ns - sequence.start_ns)]
    return _Folded(symbols[begins].astype(np.int32), np.r_[begins, len(symbols)], before[np.r_[begins, len(symbols)]])


def _candidates(folded: _Folded, found: Intervals) -> list[int]:
    """Maximal repeats with the largest time of one occurrence times their count, the largest first."""
    usable = np.flatnonzero(found.left_diverse)
    bound = _time_of_one(folded, found, usable) * found.count[usable]
    return usable[np.argsort(-bound, kind="stable")[:CANDIDATES]].tolist()


def _time_of_one(folded: _Folded, found: Intervals, index: npt.NDArray[np.intp]) -> Ints:
    position = found.sa[found.left[index]].astype(np.int64)
    return folded.before_ns[position + found.length[index]] - folded.before_ns[position]


def _cover(folded: _Folded, found: Intervals, candidates: list[int], least: float) -> Iterator[tuple[Ints, int]]:
    """Takes the candidate with the most time not yet covered, while one has enough: lazy greedy.

    What a candidate can add only falls as others are taken, so an entry whose figure is fresh and still the largest is
    the best one.
    """
    covered = np.zeros(len(folded.symbols) + 1, bool)
    heap: list[tuple[int, int, int]] = []
    for order, index in enumerate(candidates):
        kept, length = _apart(folded, found, index)
        if len(kept) > 1:
            heap.append((-int(folded.time(kept, length).sum()), order, index))
    heapq.heapify(heap)
    while heap and -heap[0][0] >= least:
        claimed, order, index = heapq.heappop(heap)
        kept, length = _apart(folded, found, index)
        hidden = np.r_[0, np.cumsum(covered)]
        free = kept[hidden[kept + length] == hidden[kept]]
        gain = int(folded.time(free, length).sum()) if len(free) > 1 else 0
        if -gain > claimed:
            if gain >= least:
                heapq.heappush(heap, (-gain, order, index))
            continue
        covered[(free[:, None] + np.arange(length)).ravel()] = True
        yield kept, length


def _apart(folded: _Folded, found: Intervals, index: int) -> tuple[Ints, int]:
    """Occurrences that do not overlap, and their length; none for a repetition.

    A body that follows itself is maximal only together with the beginning of the next one, and then it overlaps
    itself: of such a substring its smallest period is taken, which is the body.
    """
    length = int(found.length[index])
    position = found.occurrences(index)
    period = _period(folded.symbols[position[0] : position[0] + length])
    if len(position) > 1 and int((position[1:] - position[:-1]).min()) < length:
        length = period
    elif 2 * period <= length:
        return np.zeros(0, np.int64), length
    return (non_overlapping(position, length) if length > 1 else position[:0]).astype(np.int64), length


def _period(symbols: npt.NDArray[np.int32]) -> int:
    """The smallest p with symbols[i + p] == symbols[i] for all i; the length when there is none below it."""
    for p in np.flatnonzero(symbols[1:] == symbols[0]) + 1:  # few: the places of the first symbol
        if np.array_equal(symbols[p:], symbols[:-p]):
            return int(p)
    return len(symbols)


def _pattern(sequence: Sequence, folded: _Folded, position: Ints, length: int) -> Pattern:
    first, last = folded.begins[position], folded.begins[position + length] - 1
    sizes = last - first + 1
    owner = np.repeat(np.arange(len(first)), sizes)
    member = np.arange(len(owner)) - np.repeat(np.cumsum(sizes) - sizes, sizes) + np.repeat(first, sizes)
    start, end = sequence.start_ns[member], sequence.end_ns[member]
    order = np.lexsort((start, owner))
    owner, start, end = owner[order], start[order], end[order]
    begins = np.flatnonzero(np.r_[True, owner[1:] != owner[:-1]])
    # Latest end so far within each occurrence: lift each occurrence above the ones before it, then take the maximum.
    lift = owner * (int(end.max() - start.min()) + 1)
    latest = np.maximum.accumulate(end - start.min() + lift) - lift + start.min()
    gap = np.zeros(len(start), np.int64)
    gap[1:] = np.maximum(0, start[1:] - latest[:-1])
    gap[begins] = 0
    return Pattern(
        tuple(folded.symbols[position[0] : position[0] + length].tolist()),
        first,
        last,
        np.minimum.reduceat(start, begins),
        np.maximum.reduceat(end, begins),
        np.add.reduceat(end - start, begins),
        np.add.reduceat(gap, begins),
    )
