import numpy as np
import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st

from data.generator.planted import Planted, Training, plant
from tracelode.mining.differences import Both, Side, changed_words


def _side(*iterations: list[int]) -> Side:
    """Iterations one after the other in one stretch; operation n takes n + 1 ns."""
    symbols = np.array([symbol for one in iterations for symbol in one], np.int32)
    number = np.repeat(np.arange(len(iterations)), [len(one) for one in iterations])
    time = symbols.astype(np.int64) + 1
    return Side(symbols, time, number, np.zeros(min(len(symbols), 1), np.int64), len(iterations), int(time.sum()))


def _planted(plan: Training) -> Side:
    planted: Planted = plant(plan)
    number = np.clip(np.searchsorted(planted.starts, np.arange(len(planted.symbols)), "right") - 1, 0, None)
    time = planted.end_ns - planted.start_ns
    return Side(planted.symbols, time, number, np.zeros(1, np.int64), plan.iterations, int(time.sum()))


def _words(base: Side, candidate: Side) -> list[list[int]]:
    return [word.tolist() for word in changed_words(Both.of(base, candidate))]


def test_one_kernel_that_became_three_is_two_changes() -> None:
    base, fused = [1, 2, 3, 4, 5], [1, 2, 7, 8, 9, 4, 5]
    assert _words(_side(base, base, base), _side(fused, fused, fused)) == [[3], [7, 8, 9]]


def test_known_operations_in_another_order_are_a_change_with_what_stands_around_them() -> None:
    base, other = [1, 2, 3, 4, 5, 6], [1, 3, 2, 4, 5, 6]
    assert _words(_side(base, base), _side(other, other)) == [[1, 2, 3, 4], [1, 3, 2, 4]]


def test_a_longer_run_is_no_other_sequence() -> None:
    base, other = [1, 2, 3], [1, 2, 2, 2, 3]
    assert _words(_side(base, base), _side(other, other)) == []


def test_a_number_that_grows_by_half_is_no_change() -> None:
    base, more = [1, 2, 3, 1, 2, 4], [1, 2, 3, 1, 2, 4, 1, 2, 5]
    assert _words(_side(base, base), _side(more, more)) == [[5]]


def test_a_layer_that_is_there_twice_as_often_is_found_once_not_as_its_repetition() -> None:
    base = [9, *[1, 2, 3] * 2, 8]
    more = [9, *[1, 2, 3] * 6, 8]
    assert _words(_side(base, base), _side(more, more)) == [[1, 2, 3]]


def test_texts_without_operations_do_not_differ() -> None:
    assert _words(_side([], []), _side([], [])) == []
    assert _words(_side([1, 2], [1, 2]), _side([], [])) == [[1, 2]]


def test_what_varies_from_iteration_to_iteration_is_no_change() -> None:
    base = _side([1, 2, 3], [1, 2, 3], [1, 2, 3, 7], [1, 2, 3])
    other = _side([1, 2, 3, 7], [1, 2, 3, 7], [1, 2, 3], [1, 2, 3])
    assert _words(base, other) == []


@pytest.mark.parametrize("noise", [0.0, 0.002, 0.01, 0.05])
def test_planted_fusions_are_found_and_nothing_else(noise: float) -> None:
    plan = Training(iterations=60, layers=24, seed=0, noise=noise)
    other = Training(iterations=60, layers=24, seed=10, noise=noise, fused=True)
    expected = sorted(list(word) for fusion in plant(other).fusions for word in (fusion.before, fusion.after))
    assert sorted(_words(_planted(plan), _planted(other))) == expected
    assert _words(_planted(plan), _planted(Training(iterations=60, layers=24, seed=20, noise=noise))) == []


@settings(deadline=None, max_examples=150)
@given(
    st.lists(st.lists(st.integers(0, 3), max_size=12), min_size=1, max_size=4),
    st.lists(st.lists(st.integers(0, 3), max_size=12), min_size=1, max_size=4),
    st.lists(st.integers(0, 3), min_size=1, max_size=3),
)
def test_occurrences_and_their_time_are_those_of_brute_force(
    base: list[list[int]], candidate: list[list[int]], word: list[int]
) -> None:
    sides = _side(*base), _side(*candidate)
    assume(
        max(word) <= max((symbol for one in base + candidate for symbol in one), default=0)
    )  # numbers beyond those of the traces close stretches
    both = Both.of(*sides)
    for found, side in zip(both.occurrences(np.array(word, np.int32)), sides, strict=True):
        runs = [s for at, s in enumerate(side.symbols.tolist()) if at == 0 or side.symbols[at - 1] != s]
        lengths = np.diff([*np.flatnonzero(np.r_[True, np.diff(side.symbols) != 0]), len(side.symbols)])
        count, time, at = 0, 0, 0
        while at < len(runs):
            if runs[at : at + len(word)] == word:
                count += 1
                time += sum((s + 1) * int(n) for s, n in zip(word, lengths[at:], strict=False))
                at += len(word)
            else:
                at += 1
        assert (len(found), both.time(found, len(word))) == (count, time)


@settings(deadline=None, max_examples=100)
@given(st.lists(st.lists(st.integers(0, 3), max_size=12), min_size=1, max_size=4))
def test_a_trace_does_not_differ_from_itself(rows: list[list[int]]) -> None:
    assert _words(_side(*rows), _side(*rows)) == []
