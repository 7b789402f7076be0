from collections import Counter

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tracelode.mining.likeness import best_likeness, pair_likeness


def _ranges(*parts: list[int]) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    stop = np.cumsum([len(part) for part in parts])
    return np.concatenate(parts), stop - [len(part) for part in parts], stop


def test_likeness_is_the_share_of_common_operations_whatever_their_order() -> None:
    same, half, other = pair_likeness(*_ranges([1, 2, 2, 3], [3, 2, 1, 2], [1, 2, 7, 7], [8, 9]))[0]
    assert (same, half, other) == (1.0, 0.5, 0.0)


def test_lengths_that_differ_count_as_difference() -> None:
    assert pair_likeness(*_ranges([1, 2, 3], [1, 2, 3, 4, 4]))[0].tolist() == [0.75]


def test_there_is_one_array_for_each_lag_that_has_pairs() -> None:
    symbols, first, stop = _ranges([1], [2], [1])
    assert [pair.tolist() for pair in pair_likeness(symbols, first, stop, lags=4)] == [[0.0, 0.0], [1.0]]


def test_variants_at_random_are_compared_with_the_like_of_them() -> None:
    symbols, first, stop = _ranges([1, 1], [1, 1], [2, 2], [1, 1], [2, 2], [2, 2], [1, 1])
    assert best_likeness(symbols, first, stop).tolist() == [1.0] * 7


def test_ranges_that_alternate_strictly_are_halves_of_a_cycle_and_not_alike() -> None:
    symbols, first, stop = _ranges(*[[1, 1], [2, 2]] * 4)
    assert best_likeness(symbols, first, stop).tolist() == [0.0] * 8


@pytest.mark.parametrize("ranges", [[[1, 2]], [[3]]])
def test_a_single_range_is_like_nothing(ranges: list[list[int]]) -> None:
    assert best_likeness(*_ranges(*ranges)).tolist() == [0.0]


@given(st.lists(st.lists(st.integers(0, 4), max_size=8), min_size=1, max_size=9), st.integers(1, 4))
def test_likeness_is_that_of_multisets(ranges: list[list[int]], lags: int) -> None:
    symbols, first, stop = _ranges(*ranges)
    found = pair_likeness(symbols.astype(np.int64), first, stop, lags)
    assert len(found) == min(lags, len(ranges) - 1)
    for lag, pairs in enumerate(found, start=1):
        for one, other, likeness in zip(ranges, ranges[lag:], pairs.tolist(), strict=False):
            common = (Counter(one) & Counter(other)).total()
            assert likeness == 2 * common / max(len(one) + len(other), 1)
