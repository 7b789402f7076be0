import numpy as np
import pytest

from tracelode.mining.cadence import cadences

ITERATION = [0, 1, 2, *[3, 4, 5] * 6, 6, 7]


def test_a_loop_inside_an_iteration_gives_a_cadence_of_each() -> None:
    found = {cadence.period: cadence for cadence in cadences(np.tile(ITERATION, 10))}
    assert {3, 23} <= set(found)
    assert found[23].significance > 100


def test_runs_count_as_one_symbol_in_windows_but_in_full_in_distances() -> None:
    iteration = [0, *[1] * 5, 2, *[3] * 7]
    assert cadences(np.tile(iteration, 8))[0].period == 14


def test_lengths_of_runs_tell_two_symbols_apart_when_runs_are_not_folded() -> None:
    sequence = np.tile([0, 1, 1, 0, 0, 0, 1, 0, 0, 1, 1, 1, 1], 12)
    assert 13 not in {cadence.period for cadence in cadences(sequence)}
    assert 13 in {cadence.period for cadence in cadences(sequence, fold=False)}


def test_distances_below_34_are_exact_unless_more_is_tolerated() -> None:
    sequence = np.concatenate([[50 + n % 2, *range(18 + n % 3)] for n in range(60)])
    exact, loose = cadences(sequence), cadences(sequence, tolerance=0.15)
    assert {cadence.slack for cadence in exact if cadence.period < 34} == {0}
    assert [cadence.slack for cadence in loose if cadence.period == 20] == [3]


def test_two_repeats_are_seen_in_windows_that_occur_twice() -> None:
    sequence = np.tile(np.arange(40), 2)
    assert cadences(sequence) == []
    assert [cadence.period for cadence in cadences(sequence, pairs=True)] == [40]


def test_anchors_are_occurrences_of_the_classes_that_voted() -> None:
    (cadence,) = cadences(np.tile([4, 9], 6))
    assert cadence.period == 2
    assert len(cadence.position) == len(cadence.owner) <= 12
    assert cadence.owner.max() + 1 == cadence.classes
    assert cadence.position[cadence.owner == cadence.reference].tolist() == [0, 2, 4, 6, 8, 10]


@pytest.mark.parametrize("kinds", [3, 20, 1000])
def test_random_symbols_have_no_significant_cadence(kinds: int) -> None:
    found = cadences(np.random.default_rng(0).integers(0, kinds, 10_000))
    assert max((cadence.significance for cadence in found), default=0.0) < 20


@pytest.mark.parametrize("symbols", [[], [1], [1, 2], [1, 1, 1], [1, 2, 3, 4]])
def test_short_or_unrepeated_sequences_have_no_cadence(symbols: list[int]) -> None:
    assert cadences(np.array(symbols, dtype=np.int32)) == []


def test_many_operations_are_anchored_by_a_part_of_them() -> None:
    long, short = np.tile(np.arange(40), 12_500), np.tile(np.arange(40), 1_000)
    (few,), (all_of_them,) = cadences(long), cadences(short)
    assert (few.period, all_of_them.period) == (40, 40)
    assert len(few.position) <= len(long) / 3
    assert len(all_of_them.position) == pytest.approx(len(short), rel=0.05)
