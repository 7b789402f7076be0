"""What differs between the operations of two traces: which sequences became more or less frequent, and what it costs.

A suffix array over the texts of both, runs folded and every stretch closed by a symbol of its own, gives all
substrings that repeat in either. Each is counted in both traces by sums over the sorted suffixes and per iteration. Of
those whose number changed the shortest matter: a substring that holds a changed one changed because of it. Changed
ones that lie side by side or overlap are one change.
"""

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from .maximal import branching, find_word
from .suffix import SuffixStructure, Symbols, build, non_overlapping

__all__ = ["Both", "Side", "changed_words"]

Ints = npt.NDArray[np.int64]
Bools = npt.NDArray[np.bool_]

LONGEST = 16
"""Symbols of the shortest substrings that changed, at most; side by side they make longer ones."""
DEVIATIONS = 3
"""A number must have changed by this many standard deviations of what chance does."""
RARE = 0.05
"""A word of chance, as edits make them, is seen less often than this share of the rarest of its symbols."""
AHEAD = 64
"""Symbols compared before all of a word are."""
PIECE = 4
"""A word within another that is this many times as frequent is what noise left of it."""


@dataclass(frozen=True, eq=False)
class Side:
    """What is compared of one trace: stretches of operations, one after the other, and its iterations.

    `symbols` are numbered alike in both traces; `time_ns` is the duration of each operation and `iteration` the number
    of the one it belongs to, of `iterations`; `begins` says where each stretch begins. `span_ns` is the time of all
    iterations, waits included.
    """

    symbols: Symbols
    time_ns: Ints
    iteration: Ints
    begins: Ints
    iterations: int
    span_ns: int


@dataclass(frozen=True, eq=False)
class Both:
    """The texts of base and candidate in one, without runs.

    `before_ns` is the time of all before each symbol, `iteration` the iteration of its trace that it belongs to, and
    the candidate begins at `middle`.
    """

    structure: SuffixStructure
    before_ns: Ints
    iteration: Ints
    middle: int
    iterations: tuple[int, int]

    @classmethod
    def of(cls, base: Side, candidate: Side) -> "Both":
        """Joins both sides: a suffix array in linear time."""
        top = int(max(base.symbols.max(initial=0), candidate.symbols.max(initial=0))) + 1
        one, two = _folded(base, top), _folded(candidate, top + len(base.begins))
        structure = build(np.concatenate([one[0], two[0]]))
        before = np.r_[0, np.cumsum(np.r_[one[1], two[1]])]
        iterations = base.iterations, candidate.iterations
        return cls(structure, before, np.concatenate([one[2], two[2]]), len(one[0]), iterations)

    def occurrences(self, word: Symbols) -> tuple[Ints, Ints]:
        """Where a word occurs in base and candidate without overlaps."""
        place = find_word(self.structure, word)
        sides = place[place < self.middle], place[place >= self.middle]
        base, candidate = (non_overlapping(side, len(word)).astype(np.int64) for side in sides)
        return base, candidate

    def time(self, place: Ints, length: int) -> int:
        """The time of stretches of that length."""
        return int((self.before_ns[place + length] - self.before_ns[place]).sum())


def changed_words(both: Both) -> list[Symbols]:
    """The sequences whose number per iteration changed by more than half, as words in the order of their first place.

    They occur at least half as often as there are iterations in the trace that has more of them, at least twice, and
    their number changed by more than its scatter from iteration to iteration explains. Linear in the operations of
    both.
    """
    length, more = _shortest_changed(both)
    place = np.flatnonzero(length)
    # A substring that ends before the next changed one after its beginning does holds no other one.
    end = np.where(length > 0, np.arange(len(length)) + length, np.iinfo(np.int64).max)
    earliest = np.minimum.accumulate(end[::-1])[::-1]
    place = place[(end[place] < np.r_[earliest[1:], np.iinfo(np.int64).max][place])]
    place = place[more[place] == (place >= both.middle)]
    symbols = both.structure.symbols
    often = [np.bincount(side) for side in (symbols[: both.middle], symbols[both.middle :])]
    return [word for word in _joined(both, place, length[place]) if _sure(both, word, often)]


def _folded(side: Side, separator: int) -> tuple[Symbols, Ints, Ints]:
    """The symbols of one side without runs, a symbol of its own behind each stretch; their times and iterations."""
    count = len(side.symbols)
    if not count:
        return side.symbols, side.time_ns, side.iteration
    fresh = np.r_[True, side.symbols[1:] != side.symbols[:-1]]
    fresh[side.begins] = True
    first = np.flatnonzero(fresh)
    ends = np.searchsorted(first, np.r_[side.begins[1:], count])
    closing = np.arange(separator, separator + len(ends), dtype=np.int32)
    time = np.add.reduceat(side.time_ns, first)
    iteration = side.iteration[first]
    return (
        np.insert(side.symbols[first], ends, closing),
        np.insert(time, ends, 0),
        np.insert(iteration, ends, iteration[ends - 1]),
    )


def _shortest_changed(both: Both) -> tuple[Ints, Bools]:
    """For each place the length of the shortest changed substring that begins there, and whether it became more.

    The length is 0 where none does.
    """
    structure = both.structure
    # Capped, so that the substrings of up to that length that go on the same way for longer are intervals too.
    found = branching(np.minimum(structure.lcp, LONGEST), 1, LONGEST, 1)
    left, right = (slots.astype(np.int64) for slots in found[:2])
    candidate = np.r_[0, np.cumsum(structure.sa >= both.middle)]
    count = candidate[right + 1] - candidate[left]
    # The substrings of an interval begin one symbol beyond the longer of the prefixes shared with its neighbours.
    lcp = np.r_[structure.lcp, 0]
    shortest = np.maximum(np.where(left > 0, lcp[left], 0), lcp[right + 1]).astype(np.int64) + 1
    more, less = _changed(right - left + 1 - count, count, both.iterations, shortest == 1)
    changed = np.flatnonzero(more | less)
    # Of intervals within one another only the outermost has the shortest substring.
    changed = changed[np.lexsort((-right[changed], left[changed]))]
    last = np.r_[-1, np.maximum.accumulate(right[changed])[:-1]] if len(changed) else changed
    outer = changed[left[changed] > last]
    size = right[outer] - left[outer] + 1
    slots = np.repeat(left[outer] - np.r_[0, np.cumsum(size)[:-1]], size) + np.arange(size.sum())
    length = np.zeros(len(structure.sa), np.int64)
    became_more = np.zeros(len(structure.sa), np.bool_)
    length[structure.sa[slots]] = np.repeat(shortest[outer], size)
    became_more[structure.sa[slots]] = np.repeat(more[outer], size)
    return length, became_more


def _changed(base: Ints, candidate: Ints, iterations: tuple[int, int], single: Bools) -> tuple[Bools, Bools]:
    """Which numbers rose and which fell by more than half, where there are enough of them.

    Chance must not explain it, unless it is a symbol of its own or on one side only: with noise in the traces long
    substrings come and go.
    """
    rate = base / iterations[0], candidate / iterations[1]
    enough = (np.maximum(*rate) >= 0.5) & (np.maximum(base, candidate) > 1)
    chance = np.sqrt((base + candidate) / sum(iterations) * (1 / iterations[0] + 1 / iterations[1]))
    sure = single | (base == 0) | (candidate == 0) | (np.abs(rate[1] - rate[0]) >= DEVIATIONS * chance)
    return enough & sure & (rate[1] > 1.5 * rate[0]), enough & sure & (rate[1] < 0.5 * rate[0])


def _joined(both: Both, place: Ints, length: Ints) -> Iterator[Symbols]:
    """The words that the changed substrings make which overlap or adjoin; a repetition is its body.

    Words that vary too much for one of them to be frequent fall apart into their substrings.
    """
    begin, end = place, place + length
    if not len(place):
        return
    stop = np.maximum.accumulate(end)
    fresh = np.flatnonzero(np.r_[True, begin[1:] > stop[:-1]])  # a stretch is closed by a symbol that is in no change
    size = np.diff(np.r_[fresh, len(place)])
    kept, held = _common(both, begin[fresh], np.maximum.reduceat(end, fresh))
    apart = ~np.repeat(held, size)
    pieces, _ = _common(both, begin[apart], end[apart])
    for (side, word), count in [*kept.items(), *((key, n) for key, n in pieces.items() if key not in kept)]:
        left_over = any(
            side == other_side and PIECE * count <= more and len(other) > len(word) and _within(word, other)
            for (other_side, other), more in kept.items()
        )
        if not left_over:
            yield np.frombuffer(word, np.int32).copy()


def _common(both: Both, first: Ints, last: Ints) -> tuple[dict[tuple[bool, bytes], int], Bools]:
    """How often each word occurs that is frequent enough for the iterations of its trace, and which ranges hold one.

    The key says whether it is of the candidate. A repetition counts as so many of its body.
    """
    symbols = both.structure.symbols
    counts: dict[tuple[bool, bytes], int] = {}
    bodies: dict[bytes, tuple[bytes, int]] = {}
    keys: list[tuple[bool, bytes]] = []
    # A Python loop: over the changes, not over all operations.
    for begin, end in zip(first.tolist(), last.tolist(), strict=True):
        word = symbols[begin:end].tobytes()
        if word not in bodies:
            body = _body(symbols[begin:end])
            bodies[word] = body.tobytes(), (end - begin) // len(body)
        keys.append((begin >= both.middle, bodies[word][0]))
        counts[keys[-1]] = counts.get(keys[-1], 0) + bodies[word][1]
    enough = {key: n for key, n in counts.items() if n > 1 and 2 * n >= both.iterations[int(key[0])]}
    return enough, np.array([key in enough for key in keys], np.bool_)


def _within(part: bytes, whole: bytes) -> bool:
    """Whether a word of 4-byte symbols is part of another."""
    at = whole.find(part)
    while at >= 0 and at % 4:
        at = whole.find(part, at + 1)
    return at >= 0


def _sure(both: Both, word: Symbols, often: list[Ints]) -> bool:
    """Whether the number of a word changed by more than its scatter from iteration to iteration explains.

    What comes by chance, one iteration so and one so, and is rare among all that its symbols do, is noise; `often`
    counts each symbol in both texts.
    """
    if min(both.iterations) < 2:
        return True
    places = both.occurrences(word)
    numbers = [np.bincount(both.iteration[at], minlength=n) for at, n in zip(places, both.iterations, strict=True)]
    scatter = np.sqrt(sum(number.var(ddof=1) / len(number) for number in numbers))
    if abs(numbers[1].mean() - numbers[0].mean()) <= DEVIATIONS * scatter:
        return False
    side = int(numbers[1].mean() > numbers[0].mean())
    rarest = int(often[side][word].min()) / both.iterations[side]
    rate = numbers[side].mean()
    return not (rate < RARE * rarest and numbers[side].var(ddof=1) > rate / 2)


def _body(word: Symbols) -> Symbols:
    """The part that a word is a repetition of, or the word."""
    for p in np.flatnonzero(word[1 : len(word) // 2 + 1] == word[0]) + 1:
        same = word[p : p + AHEAD], word[:AHEAD][: len(word) - p]
        if np.array_equal(*same) and np.array_equal(word[p:], word[:-p]):
            return word[:p]
    return word
