import numpy as np
import pytest

from tracelode.mining.cadence import cadences
from tracelode.mining.cadence_level import Level, choose_level, leaves_room, measure, name_levels, prefer, spans
from tracelode.mining.phase import Times


def _level(
    period: int, begin: list[int], stop: list[int], operations: int, *, pause: bool = False, similarity: float = 1.0
) -> Level:
    first, last = np.array(begin), np.array(stop)
    return Level(
        period=period,
        slack=int(0.03 * period),
        kind="micro",
        first=begin[0],
        last=stop[-1] - 1,
        count=len(begin),
        coverage=float((last - first).sum()) / operations,
        regularity=1.0,
        similarity=similarity,
        significance=1000.0,
        confidence=0.9,
        phase_confidence=0.9,
        phase_evidence="",
        pause=pause,
        begin=first,
        stop=last,
    )


def _tiling(period: int, count: int, operations: int, *, pause: bool = False) -> Level:
    begin = [n * period for n in range(count)]
    return _level(period, begin, [at + period for at in begin], operations, pause=pause)


def _groups(period: int, each: int, cycle: int, cycles: int, *, pause: bool = False) -> Level:
    """A level of `each` repeats in a row, begun anew every `cycle` operations."""
    begin = [c * cycle + n * period for c in range(cycles) for n in range(each)]
    return _level(period, begin, [at + period for at in begin], cycle * cycles, pause=pause)


def test_measuring_counts_operations() -> None:
    sequence = np.tile(np.arange(50), 6)
    start = np.arange(300) * 10
    (cadence,) = cadences(sequence)
    level = measure(cadence, sequence, Times(start, start + 5), None)
    assert level is not None
    assert (level.period, level.count) == (50, 6)
    assert (level.first, level.last, level.coverage, level.similarity, level.regularity) == (0, 299, 1.0, 1.0, 1.0)


def test_spans_are_from_the_earliest_start_to_the_latest_end() -> None:
    times = Times(np.array([5, 3, 9, 20]), np.array([6, 30, 10, 21]))
    low, high = spans(np.array([0, 3]), np.array([3, 4]), times)
    assert (low.tolist(), high.tolist()) == ([3, 20], [30, 21])


def test_the_level_that_covers_all_is_preferred_to_a_loop_within() -> None:
    layer, step = _groups(33, 24, 1245, 5), _tiling(1245, 5, 6225)
    assert choose_level([layer, step]) is step


def test_an_optimizer_after_every_fourth_batch_makes_four_batches_the_iteration() -> None:
    batch, step = _groups(1000, 4, 4048, 6), _tiling(4048, 6, 24288)
    assert choose_level([batch, step]) is step


def test_an_evaluation_after_twenty_iterations_makes_them_a_cycle() -> None:
    step, cycle = _groups(1000, 20, 21500, 4), _tiling(21500, 4, 86000)
    assert choose_level([step, cycle]) is step


def test_many_layers_are_an_iteration_where_only_those_pause() -> None:
    layer, step = _groups(150, 36, 5418, 4), _tiling(5418, 4, 21672, pause=True)
    assert choose_level([layer, step]) is step


def test_twice_the_iteration_is_not_preferred_and_not_named() -> None:
    once, twice = _tiling(100, 12, 1200), _tiling(200, 6, 1200)
    assert choose_level([once, twice]) is once
    assert [(level.period, level.kind) for level in name_levels([once, twice], once)] == [(100, "iteration")]


def test_levels_are_named_by_their_place_relative_to_the_iteration() -> None:
    layer, step, cycle = _groups(30, 20, 1000, 40), _groups(1000, 20, 21500, 2), _tiling(21500, 2, 43000)
    named = name_levels([layer, step, cycle], step)
    assert [level.kind for level in named] == ["micro", "iteration", "cycle"]


def test_nothing_is_chosen_where_levels_explain_little() -> None:
    assert choose_level([_level(10, [0, 10], [10, 20], 100)]) is None


def test_the_rhythm_of_few_unchanging_operations_is_enough_when_nothing_else_is() -> None:
    begin = [0, 100, 200, 300, 400]
    shapes_change = _level(100, begin, [at + 100 for at in begin], 500, similarity=0.1)
    assert choose_level([shapes_change]) is shapes_change


@pytest.mark.parametrize(("level", "room"), [(_tiling(100, 12, 1200), False), (_groups(100, 4, 450, 5), True)])
def test_only_an_interrupted_level_leaves_room_for_a_longer_one(level: Level, room: bool) -> None:
    assert leaves_room(level) is room


def test_a_shorter_level_is_never_preferred_to_a_longer_one() -> None:
    assert not prefer(_tiling(200, 6, 1200), _tiling(100, 12, 1200))


def test_what_one_launch_repeats_is_replayed_and_never_the_iteration() -> None:
    sequence = np.tile(np.concatenate([np.tile(np.arange(10), 6), np.arange(20, 25)]), 8)
    start = np.arange(len(sequence)) * 10
    times = Times(start, start + 5, np.repeat(start[::65], 65) - 1)
    found = [measure(cadence, sequence, times, None) for cadence in cadences(sequence)]
    levels = {level.period: level for level in found if level is not None}
    assert (levels[10].replayed, levels[65].replayed) == (True, False)
    chosen = choose_level(list(levels.values()))
    assert chosen is not None
    assert chosen.period == 65
