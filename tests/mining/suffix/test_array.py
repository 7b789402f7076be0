from itertools import pairwise
from typing import Any

import numpy as np
import pydivsufsort
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.mining.suffix.strict import on_host, strict, to_device
from tests.mining.suffix.texts import FAMILIES, Symbols, text_of
from tracelode.mining.suffix import array, build, parsing
from tracelode.mining.suffix.array import sort_on, suffix_array
from tracelode.mining.suffix.cpu import sort
from tracelode.mining.suffix.steps import Steps

NUMPY = Steps(np)
STRICT = Steps(strict)

units = st.lists(st.integers(0, 3), max_size=8)
periodic = st.tuples(units, st.integers(1, 20), units).map(lambda parts: parts[0] * parts[1] + parts[2])
texts = st.one_of(st.lists(st.integers(0, 2), max_size=90), st.lists(st.integers(0, 2**31 - 1), max_size=30), periodic)


def test_thousand_random_texts_are_sorted_as_brute_force_sorts_them(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(parsing, "MOST_NEW_PHRASES", 1)
    monkeypatch.setattr(parsing, "MOST_OF_DICTIONARY", 9)  # short texts hardly repeat
    parsed = 0
    for seed in range(1000):
        random = np.random.default_rng(seed)
        text = text_of(FAMILIES[seed % len(FAMILIES)], int(random.integers(1, 201)), seed)
        symbols = text.tolist()
        expected = sorted(range(text.size), key=lambda start: symbols[start:])
        assert suffix_array(NUMPY, text, short=8).tolist() == expected, symbols
        parsed += array.parse(NUMPY, array.enclosed(np, text)) is not None
    assert parsed > 500  # the others have too few phrases or too many


@pytest.mark.parametrize("size", [1, 2, 3, 200, 1500])
@pytest.mark.parametrize("family", FAMILIES)
def test_what_runs_on_the_stand_in_for_cupy_gives_what_the_cpu_engine_gives(
    family: str, size: int, monkeypatch: pytest.MonkeyPatch
):
    monkeypatch.setattr(parsing, "MOST_NEW_PHRASES", 1)
    monkeypatch.setattr(parsing, "MOST_OF_DICTIONARY", 9)
    text = text_of(family, size)
    there, here = sort_on(STRICT, to_device(text), short=8), sort(text)
    assert there.sa.dtype == there.lcp.dtype == np.int32
    assert np.array_equal(on_host(there.sa), here.sa)
    assert np.array_equal(on_host(there.lcp), here.lcp)
    for bounds in ((1, size), (2, 5), (1, 64)):
        for one, other in zip(there.find_intervals(*bounds), here.find_intervals(*bounds), strict=True):
            assert one.dtype == other.dtype
            assert np.array_equal(on_host(one), other)


def test_the_stand_in_sorts_an_empty_text():
    nothing = sort_on(STRICT, to_device(np.empty(0, np.int32)))
    assert [part.size for part in (nothing.sa, nothing.lcp, *nothing.find_intervals(1, 5))] == [0] * 6


@pytest.mark.parametrize("family", FAMILIES)
def test_long_texts_are_sorted_as_divsufsort_sorts_them(family: str):
    text = text_of(family, 60_000)
    expected = pydivsufsort.divsufsort(text)
    found = sort_on(NUMPY, text)
    assert np.array_equal(found.sa, expected)
    assert np.array_equal(found.lcp[1:], pydivsufsort.kasai(text, expected)[:-1])


@settings(deadline=None)
@given(texts)
def test_suffixes_ascend_and_share_just_the_stated_prefix(symbols: list[int]):
    text = np.array(symbols, np.int32)
    found = sort_on(NUMPY, text)
    order = suffix_array(NUMPY, text, short=4).tolist() if symbols else []
    assert order == found.sa.tolist()
    assert sorted(order) == list(range(len(symbols)))
    for (one, other), length in zip(pairwise(order), found.lcp[1:].tolist(), strict=True):
        assert symbols[one:] < symbols[other:]
        assert symbols[one : one + length] == symbols[other : other + length]
        assert max(one, other) + length == len(symbols) or symbols[one + length] != symbols[other + length]


@settings(deadline=None)
@given(texts, st.integers(1, 9), st.integers(0, 9))
def test_intervals_are_those_of_the_cpu_engine(symbols: list[int], least: int, more: int):
    text = np.array(symbols, np.int32)
    ours, theirs = build(text, engine="array"), build(text, engine="cpu")
    for bounds in ((least, None), (least, least + more)):
        one, other = ours.intervals(*bounds), theirs.intervals(*bounds)
        for part in ("left", "right", "length", "left_diverse"):
            assert getattr(one, part).dtype == getattr(other, part).dtype
            assert np.array_equal(getattr(one, part), getattr(other, part))


def test_a_text_that_repeats_is_parsed_at_several_levels(monkeypatch: pytest.MonkeyPatch):
    sizes: list[int] = []
    parse = array.parse

    def watched(steps: Steps, enclosed: Symbols) -> Any:
        sizes.append(enclosed.size - 3)
        return parse(steps, enclosed)

    monkeypatch.setattr(array, "parse", watched)
    text = np.resize(np.random.default_rng(1).integers(0, 90, 1245), 300_000).astype(np.int32)
    suffix_array(NUMPY, text)
    assert sizes[0] == 300_000
    assert len(sizes) >= 2
    assert all(later < before / 4 for before, later in pairwise(sizes))


def test_the_stated_peak_is_that_of_the_arrays():
    text = text_of("periodic with edits", 100_000)
    structure = build(text, engine="array")
    assert structure.engine == "array"
    assert 12 * text.size < structure.peak_bytes < 50 * text.size
