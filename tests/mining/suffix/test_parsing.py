from itertools import pairwise
from typing import Any

import numpy as np
import pytest

from tests.mining.suffix.texts import FAMILIES, Symbols, text_of
from tracelode.mining.suffix import plain
from tracelode.mining.suffix.array import suffix_array
from tracelode.mining.suffix.arrays import enclosed
from tracelode.mining.suffix.cpu import sort
from tracelode.mining.suffix.parsing import MOST_OF_DICTIONARY, Parse, parse
from tracelode.mining.suffix.plain import PHRASE_END
from tracelode.mining.suffix.steps import Steps

PERIODIC = np.resize(np.random.default_rng(5).integers(0, 60, 300), 20_000).astype(np.int32)


def phrases_of(text: Symbols, parsed: Parse) -> list[tuple[int, ...]]:
    whole = [*text.tolist(), -1, -1]
    bounds = parsed.bounds.tolist()
    return [tuple(whole[a : b + PHRASE_END]) for a, b in pairwise(bounds)]


def test_phrases_overlap_by_two_symbols_and_are_named_in_order():
    parsed = parse(Steps(np), enclosed(np, PERIODIC))
    assert parsed is not None
    assert parsed.bounds[0] == 0
    assert parsed.bounds[-1] == PERIODIC.size
    phrases = phrases_of(PERIODIC, parsed)
    rank = {phrase: number for number, phrase in enumerate(sorted(set(phrases)))}
    assert parsed.names.tolist() == [rank[phrase] for phrase in phrases]
    assert parsed.count.tolist() == sorted(parsed.count.tolist(), reverse=True)
    assert parsed.count.sum() == len(phrases)


def test_no_phrase_end_begins_another():
    parsed = parse(Steps(np), enclosed(np, PERIODIC))
    assert parsed is not None
    ends = {phrase[start:] for phrase in set(phrases_of(PERIODIC, parsed)) for start in range(len(phrase) - PHRASE_END)}
    assert not any(one != other and other[: len(one)] == one for one in ends for other in ends)


def test_hashes_that_collide_are_noticed_and_drawn_anew():
    seeds: list[int] = []

    def colliding(xp: Any, text: Symbols, bounds: Symbols, seed: int) -> Any:
        seeds.append(seed)
        hashes = plain.hash_phrases(xp, text, bounds, seed)
        return hashes if len(seeds) == 3 else hashes & np.uint64(7 << 61)

    steps = Steps(np, hash_phrases=colliding)
    assert np.array_equal(suffix_array(steps, PERIODIC, short=10_000), sort(PERIODIC).sa)
    assert len(set(seeds)) == 3


def test_a_text_whose_hashes_always_collide_is_sorted_by_doubling():
    def colliding(xp: Any, _text: Symbols, bounds: Symbols, _seed: int) -> Any:
        return xp.zeros(bounds.size - 1, xp.uint64)

    steps = Steps(np, hash_phrases=colliding)
    assert parse(steps, enclosed(np, PERIODIC)) is None
    assert np.array_equal(suffix_array(steps, PERIODIC, short=10_000), sort(PERIODIC).sa)


def test_phrases_whose_hashes_begin_alike_are_told_apart_by_the_rest_of_them():
    def low_bits_only(xp: Any, text: Symbols, bounds: Symbols, seed: int) -> Any:
        return plain.hash_phrases(xp, text, bounds, seed) >> np.uint64(40)

    steps = Steps(np, hash_phrases=low_bits_only)
    parsed = parse(steps, enclosed(np, PERIODIC))
    assert parsed is not None
    assert parsed.count.size == len(set(phrases_of(PERIODIC, parsed)))


@pytest.mark.parametrize("family", ["all distinct", "large ids", "many symbols", "one symbol"])
def test_a_text_that_parsing_would_not_shorten_is_not_parsed(family: str):
    assert parse(Steps(np), enclosed(np, text_of(family, 20_000))) is None


@pytest.mark.parametrize("family", FAMILIES)
def test_the_dictionary_is_never_more_than_its_share_of_the_text(family: str):
    text = text_of(family, 20_000)
    parsed = parse(Steps(np), enclosed(np, text))
    assert parsed is None or parsed.dictionary.owner.size <= MOST_OF_DICTIONARY * text.size
