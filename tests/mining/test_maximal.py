from collections import Counter

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st

from tracelode.mining.maximal import find_word, maximal_repeats
from tracelode.mining.suffix import build

TEXTS = st.lists(st.integers(0, 3), max_size=60)


def _by_hand(text: list[int], shortest: int, longest: int, least: int) -> dict[tuple[int, ...], list[int]]:
    """Every substring whose second most frequent neighbours, on either side, are there often enough."""
    found: dict[tuple[int, ...], list[int]] = {}
    for length in range(shortest, min(longest, len(text)) + 1):
        places: dict[tuple[int, ...], list[int]] = {}
        for at in range(len(text) - length + 1):
            places.setdefault(tuple(text[at : at + length]), []).append(at)
        for word, at in places.items():
            before = Counter(text[p - 1] if p else "begin" for p in at)
            after = Counter(text[p + length] if p + length < len(text) else "end" for p in at)
            if all(len(side) > 1 and side.most_common(2)[1][1] >= least for side in (before, after)):
                found[word] = at
    return found


@settings(deadline=None, max_examples=300)
@given(TEXTS, st.integers(1, 3), st.integers(0, 8), st.integers(1, 4))
def test_the_repeats_are_those_of_brute_force(text: list[int], shortest: int, more: int, least: int) -> None:
    repeats = maximal_repeats(build(np.array(text, np.int32)), shortest, shortest + more, least)
    found = {
        tuple(text[repeats.occurrences(k)[0] :][: repeats.length[k]]): repeats.occurrences(k).tolist()
        for k in range(len(repeats))
    }
    assert found == _by_hand(text, shortest, shortest + more, least)
    assert len(found) == len(repeats)


@settings(deadline=None, max_examples=200)
@given(TEXTS, st.lists(st.integers(0, 3), min_size=1, max_size=4))
def test_a_word_is_found_wherever_it_stands(text: list[int], word: list[int]) -> None:
    found = find_word(build(np.array(text, np.int32)), np.array(word, np.int32))
    assert found.tolist() == [at for at in range(len(text)) if text[at : at + len(word)] == word]


def test_one_odd_neighbour_makes_no_robust_repeat() -> None:
    text = [1, 2, 3, 4] * 10
    text[21] = 9
    plain = maximal_repeats(build(np.array(text, np.int32)), 2, 3, 1)
    words = [tuple(text[plain.occurrences(k)[0] :][: plain.length[k]]) for k in range(len(plain))]
    assert sorted(words) == [(3, 4), (3, 4, 1)]
    assert len(maximal_repeats(build(np.array(text, np.int32)), 2, 3, 2)) == 0
