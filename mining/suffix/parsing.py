"""Cuts a text into phrases and names them: prefix-free parsing (Boucher et al. 2019), with array operations.

Where two neighbouring symbols hash to certain values a phrase begins, so equal stretches are cut alike. A phrase
includes the two symbols that begin the next one; hence no end of a phrase longer than these two is the beginning of
another, and comparing two suffixes means comparing the rests of their phrases and then, only if these are equal, the
phrases that follow. In repetitive text there are few different phrases: these are sorted, and the sequence of phrases,
the parse, is a text an eighth as long.
"""

from dataclasses import dataclass
from typing import Any

from .arrays import Array, bit_count, ragged, ragged_owner, sort_by
from .doubling import sort_suffixes
from .plain import PHRASE_END
from .steps import Steps

__all__ = ["Dictionary", "Parse", "parse"]

MOST_OF_DICTIONARY = 0.4
"""Share of the text beyond which sorting the dictionary costs more than sorting the text: its repeats are short."""
MOST_NEW_PHRASES = 0.5
"""Share of the phrases beyond which being different is the rule: no other seed would help."""
MOST_PHRASES = 0.25
"""Share of the text beyond which phrases are so short that the parse is long."""
SEEDS = 8
MOST_ATTEMPTS = 4
SAMPLE = 1 << 14
SAMPLED_STRETCHES = 4


@dataclass(frozen=True)
class Dictionary:
    """The different phrases, laid end to end, the most frequent first, and their suffixes in order."""

    begin: Array
    """Where each phrase begins."""
    owner: Array
    """The phrase of each symbol."""
    ends: Array
    """Where the phrase of each symbol ends."""
    order: Array
    """The suffixes longer than `PHRASE_END`, in lexicographic order, equal ones in the order of their phrases."""
    first: Array
    """Which suffixes in `order` differ from the one before."""


@dataclass(frozen=True)
class Parse:
    """A text as a sequence of phrases."""

    bounds: Array
    """Where each phrase begins in the text, and the end of the text."""
    names: Array
    """The phrases of the text, each as its rank among the different ones."""
    rank: Array
    """Rank of each phrase of the dictionary."""
    count: Array
    """Occurrences of each phrase of the dictionary."""
    dictionary: Dictionary


def parse(steps: Steps, enclosed: Array) -> Parse | None:
    """Returns the parse of an enclosed text, or None if parsing would not save work."""
    size = enclosed.size - 3
    collided = False
    for seed in _promising_seeds(steps, enclosed):
        bounds = steps.xp.flatnonzero(steps.mark_phrase_starts(steps.xp, enclosed, seed)).astype(steps.xp.int32)
        if not 4 <= bounds.size <= size // 2:
            continue
        hashes = steps.hash_phrases(steps.xp, enclosed, bounds, seed)
        group, example, count = _group(steps.xp, hashes, whole=collided)
        if example.size > MOST_NEW_PHRASES * hashes.size:
            return None
        lengths = bounds[example + 1] - bounds[example] + PHRASE_END
        total = int(lengths.sum())
        if total > MOST_OF_DICTIONARY * size:
            continue
        if steps.count_unlike(steps.xp, enclosed, bounds, example[group]) > 0:
            collided = True
            continue
        source = ragged(steps.xp, bounds[example], lengths, total)
        source += 1
        dictionary = _sort_dictionary(steps, enclosed[source], lengths)
        rank = _phrase_ranks(steps.xp, dictionary)
        return Parse(bounds, rank[group], rank, count, dictionary)
    return None  # its repeats are short, or phrases of equal hash differ time and again: that is made by hand


def _promising_seeds(steps: Steps, enclosed: Array) -> list[int]:
    """Returns some seeds, those first with which an edit of the text would make the shortest new phrases.

    A text of few different pairs of symbols is cut by luck. An edit falls into a phrase the more likely the longer that
    is, so what counts is the sum of the squared lengths, here in stretches of the text.
    """
    xp = steps.xp
    length = min(enclosed.size, SAMPLE)
    stretches = max(1, min(SAMPLED_STRETCHES, enclosed.size // SAMPLE))
    sample = xp.empty(stretches * length, xp.int32)
    for number in range(stretches):
        begin = (enclosed.size - length) * number // max(1, stretches - 1)
        sample[number * length : (number + 1) * length] = enclosed[begin : begin + length]
    costs: list[tuple[float, int]] = []
    for seed in range(SEEDS):
        bounds = xp.flatnonzero(steps.mark_phrase_starts(xp, sample, seed)).astype(xp.int64)
        lengths = bounds[1:] - bounds[:-1]
        lengths *= lengths
        too_many = bounds.size > MOST_PHRASES * sample.size
        costs.append((int(lengths.sum()) * (2 if too_many else 1), seed))
    return [seed for _, seed in sorted(costs)][:MOST_ATTEMPTS]


def _group(xp: Any, hashes: Array, *, whole: bool) -> tuple[Array, Array, Array]:
    """Returns group of each hash, the first member of each group and its size; the largest group first.

    Unless `whole`, only as many bits of the hashes count as fit with the row number into one sort key.
    """
    used = 63 - bit_count(hashes.size)
    if whole:
        keys = [((hashes >> 32).astype(xp.int64), 32), ((hashes & 0xFFFFFFFF).astype(xp.int64), 32)]
    else:
        keys = [((hashes >> (64 - used)).astype(xp.int64), used)]
    order, first = sort_by(xp, keys)
    begin = xp.flatnonzero(first).astype(xp.int32)
    count = xp.empty_like(begin)
    count[:-1] = begin[1:] - begin[:-1]
    count[-1:] = hashes.size - begin[-1:]
    by_count, _ = sort_by(xp, [(hashes.size - count, bit_count(hashes.size))])
    new_number = xp.empty_like(by_count)
    new_number[by_count] = xp.arange(by_count.size, dtype=xp.int32)
    group = xp.empty(hashes.size, xp.int32)
    group[order] = new_number[xp.cumsum(first, dtype=xp.int32) - 1]
    return group, order[begin][by_count], count[by_count]


def _sort_dictionary(steps: Steps, text: Array, lengths: Array) -> Dictionary:
    xp = steps.xp
    limits = xp.cumsum(lengths, dtype=xp.int32)
    owner = ragged_owner(xp, lengths, text.size)
    ends = limits[owner]
    order, first = sort_suffixes(steps, text, ends)
    long = ends[order] - order > PHRASE_END
    return Dictionary(limits - lengths, owner, ends, order[long], first[long])


def _phrase_ranks(xp: Any, dictionary: Dictionary) -> Array:
    """Returns the rank of each phrase: the order of those suffixes that are whole phrases."""
    owner = dictionary.owner[dictionary.order]
    in_order = owner[dictionary.begin[owner] == dictionary.order]
    rank = xp.empty_like(in_order)
    rank[in_order] = xp.arange(in_order.size, dtype=xp.int32)
    return rank
