"""Repeated sequences of operations, ranked by the device time they stand for.

Runs of one symbol count as one. A suffix structure over the folded sequence gives every substring that repeats. Kept
are those that cannot be made longer without losing many occurrences: on each side the second most frequent neighbour
must stand there in half of the iterations, for with noise almost anything stands there once. Repetitions of a shorter
one are left out. Then the one that accounts for the most time not yet accounted for is taken, again and again: so
rotations and parts of a pattern do not appear beside it.

Where hardly any two iterations are equal, what the iterations have in common is searched instead (`typical`), and the
occurrences counted are those in the sequence itself, exact ones only.
"""

import heapq
from collections.abc import Iterable, Iterator
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from .extent import Extents, Work, extents, free_of
from .maximal import Repeats, find_word, maximal_repeats
from .sequence import Sequence
from .suffix import SuffixStructure, Symbols, build, non_overlapping

__all__ = ["LONGEST", "Pattern", "patterns"]

Ints = npt.NDArray[np.int64]
Bools = npt.NDArray[np.bool_]

LONGEST = 512
"""Operations in a pattern, at most; what repeats at a larger scale is an iteration."""
PART = 64
"""A longer pattern must occur more than once an iteration: else it is no unit, but a piece of the iteration."""
CANDIDATES = 2048
"""Substrings looked at, those that take the most time if all their occurrences are as long as one of them."""
LEAST_SHARE = 0.001
"""A pattern must account for this share of the sequence's time that no earlier pattern accounts for."""
LIMIT = 100
"""Patterns of a sequence, at most."""


@dataclass(frozen=True)
class Pattern:
    """A repeated sequence: its symbols, and its occurrences, which do not overlap.

    `first` and `last` are the ordinals of each occurrence's first and last operation in the mined sequence. `free`
    says which occurrences share no operation with what earlier patterns account for: the marginal ones.
    """

    symbols: tuple[int, ...]
    first: Ints
    last: Ints
    free: Bools
    extents: Extents


@dataclass(frozen=True, eq=False)
class _Text:
    """Symbols without runs, and the time of all before each of them; the last entry is the time of all."""

    symbols: Symbols
    before_ns: Ints

    def time(self, position: Ints, length: int) -> Ints:
        return self.before_ns[position + length] - self.before_ns[position]


def patterns(
    sequence: Sequence,
    work: Work | None = None,
    *,
    iterations: int = 2,
    typical: Iterable[tuple[Symbols, int]] = (),
    longest: int = LONGEST,
) -> list[Pattern]:
    """The repeated patterns of a sequence, in the order in which they account for its time; at most `LIMIT`.

    `iterations` is how many the sequence has, `longest` the most symbols in a pattern: half an iteration where there
    are some, or the iteration is all one finds. `typical` gives contents of iterations without noise, each with the
    number of iterations it stands for; patterns of these come first. `work` says what the operations are.

    Linear in the number of operations for the suffix structure, plus the occurrences of the candidates.
    """
    symbols, begins = _fold(sequence.symbols)
    if len(symbols) < 4:
        return []
    before = np.r_[0, np.cumsum(sequence.end_ns - sequence.start_ns)]
    text = _Text(symbols, before[begins])
    structure = build(symbols)
    covered = np.zeros(len(symbols), np.bool_)
    longest = max(2, min(longest, LONGEST))
    found: dict[bytes, tuple[Ints, int, Bools]] = {}
    for word in _words(_typical(text, list(typical)), longest):
        position = non_overlapping(find_word(structure, word), len(word)).astype(np.int64)
        free = free_of(covered, position, len(word))
        if free.sum() > 1:
            _claim(covered, position[free], len(word))
            found[word.tobytes()] = position, len(word), free
    repeats = maximal_repeats(structure, 2, longest, max(1, iterations // 2))
    for position, length, free in _cover(text, structure, repeats, iterations, covered):
        found.setdefault(symbols[position[0] : position[0] + length].tobytes(), (position, length, free))
        if len(found) >= LIMIT:
            break
    work = work if work is not None else Work.unknown(len(sequence.symbols))
    return [_pattern(sequence, work, begins, symbols, *one) for one in list(found.values())[:LIMIT]]


def _fold(symbols: Symbols) -> tuple[Symbols, Ints]:
    """The symbols without runs, and where each begins, with the end of all as last."""
    fresh = np.r_[np.ones(min(len(symbols), 1), np.bool_), symbols[1:] != symbols[:-1]]
    begins = np.flatnonzero(fresh)
    return symbols[begins].astype(np.int32), np.r_[begins, len(symbols)]


def _typical(text: _Text, typical: list[tuple[Symbols, int]]) -> tuple[_Text, int]:
    """The typical contents one after the other, no two of them adjacent, and their number.

    An operation takes the mean time of its symbol's runs, times the iterations that the content stands for.
    """
    if not typical:
        return _Text(text.symbols[:0], np.zeros(1, np.int64)), 0
    parts = [(_fold(content)[0], weight) for content, weight in typical]
    top = max([int(text.symbols.max()), *(int(part.max(initial=0)) for part, _ in parts)]) + 1
    count = np.bincount(text.symbols, minlength=top)
    mean = np.bincount(text.symbols, np.diff(text.before_ns), minlength=top) / np.maximum(count, 1)
    pieces: list[Symbols] = []
    times: list[Ints] = []
    for number, (part, weight) in enumerate(parts):
        pieces += [part, np.array([top + number], np.int32)]
        times += [np.rint(mean[part] * weight).astype(np.int64), np.zeros(1, np.int64)]
    return _Text(np.concatenate(pieces), np.r_[0, np.cumsum(np.concatenate(times))]), len(parts)


def _words(typical: tuple[_Text, int], longest: int) -> Iterator[Symbols]:
    """The patterns of typical contents, as words."""
    text, contents = typical
    if len(text.symbols) < 4:
        return
    covered, structure = np.zeros(len(text.symbols), np.bool_), build(text.symbols)
    repeats = maximal_repeats(structure, 2, longest, 1)
    for position, length, _ in _cover(text, structure, repeats, contents, covered):
        yield text.symbols[position[0] : position[0] + length]


def _cover(
    text: _Text, structure: SuffixStructure, repeats: Repeats, iterations: int, covered: Bools
) -> Iterator[tuple[Ints, int, Bools]]:
    """Takes the candidate with the most time not yet covered, while one has enough: lazy greedy.

    Gives its occurrences, their length and which of them were free. What a candidate can add only falls as others are
    taken, so an entry whose figure is fresh and still the largest is the best one.
    """
    least = LEAST_SHARE * int(text.before_ns[-1])
    heap: list[tuple[int, int]] = []
    kept: list[tuple[Ints, int]] = []
    for position, length in _candidates(text, structure, repeats, least):
        if len(position) > (1.5 * iterations if length > PART else 1):
            heap.append((-int(text.time(position, length).sum()), len(kept)))
            kept.append((position, length))
    heapq.heapify(heap)
    while heap and -heap[0][0] >= least:
        claimed, index = heapq.heappop(heap)
        position, length = kept[index]
        free = free_of(covered, position, length)
        gain = int(text.time(position[free], length).sum()) if free.sum() > 1 else -1
        if -gain > claimed:
            if gain >= least:
                heapq.heappush(heap, (-gain, index))
            continue
        _claim(covered, position[free], length)
        yield position, length, free


def _candidates(text: _Text, structure: SuffixStructure, repeats: Repeats, least: float) -> Iterator[tuple[Ints, int]]:
    """Occurrences that do not overlap, and length, of the repeats with the largest time of one times their count.

    Repetitions of a shorter one are left out. A body that follows itself may be maximal only together with the
    beginning of the next one, and then it overlaps itself: of such a repeat its smallest period is taken, the body.
    """
    position = repeats.sa[repeats.left].astype(np.int64)
    guess = (text.before_ns[position + repeats.length] - text.before_ns[position]) * repeats.count
    best = np.argsort(-guess, kind="stable")[:CANDIDATES]
    kept = repeats.take(best[guess[best] >= least])
    bodies: set[bytes] = set()
    for index in range(len(kept)):
        position, length = kept.occurrences(index), int(kept.length[index])
        word = text.symbols[position[0] : position[0] + length]
        period = _period(word)
        if len(position) > 1 and int((position[1:] - position[:-1]).min()) < length:
            body = word[:period]
            if period == 1 or body.tobytes() in bodies:
                continue
            bodies.add(body.tobytes())
            position, length = find_word(structure, body), period
        elif 2 * period <= length:
            continue
        yield non_overlapping(position, length).astype(np.int64), length


def _period(symbols: Symbols) -> int:
    """The smallest p with symbols[i + p] == symbols[i] for all i; the length when there is none below it."""
    for p in np.flatnonzero(symbols[1:] == symbols[0]) + 1:  # few: the places of the first symbol
        if np.array_equal(symbols[p:], symbols[:-p]):
            return int(p)
    return len(symbols)


def _claim(covered: Bools, position: Ints, length: int) -> None:
    covered[(position[:, None] + np.arange(length)).ravel()] = True


def _pattern(
    sequence: Sequence, work: Work, begins: Ints, symbols: Symbols, position: Ints, length: int, free: Bools
) -> Pattern:
    first, last = begins[position], begins[position + length] - 1
    return Pattern(
        tuple(symbols[position[0] : position[0] + length].tolist()),
        first,
        last,
        free,
        extents(sequence.start_ns, sequence.end_ns, work, first, last),
    )
