import numpy as np
import polars as pl
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from data.generator.planted import Training, plant
from tracelode.mining.pattern import patterns
from tracelode.mining.sequence import Sequence
from tracelode.mining.typical import typical


def _sequence(symbols: list[int], *, duration: int = 10, gap: int = 0) -> Sequence:
    start = np.arange(len(symbols), dtype=np.int64) * (duration + gap)
    labels = [f"k{symbol}" for symbol in range(max(symbols, default=0) + 1)]
    return Sequence(0, 1, 0, None, np.array(symbols, np.int32), start, start + duration, start, labels, pl.DataFrame())


LAYER = [1, 2, 3, 4, 5, 6]
ITERATION = [10, 11, *LAYER * 4, 12, 13, 14]


def test_the_layer_is_found_whole_and_not_rotated() -> None:
    found = patterns(_sequence(ITERATION * 6), longest=len(ITERATION) // 2)
    first = found[0]
    assert first.symbols == (1, 2, 3, 4, 5, 6)
    assert len(first.first) == 24
    assert first.first[:5].tolist() == [2, 8, 14, 20, 31]
    assert first.last[:1].tolist() == [7]
    assert int(first.extents.busy_ns.sum()) == 24 * 6 * 10


def test_time_inside_an_occurrence_without_work_is_idle() -> None:
    first = patterns(_sequence(ITERATION * 6, gap=3), longest=len(ITERATION) // 2)[0]
    assert set(first.extents.idle_ns.tolist()) == {5 * 3}
    assert (first.extents.end_ns - first.extents.start_ns == first.extents.busy_ns + first.extents.idle_ns).all()


def test_runs_of_one_operation_count_as_one() -> None:
    ragged = [symbol for n in (1, 4, 2, 3, 1, 5) for symbol in [7] * n + [1, 2, 3]]
    first = patterns(_sequence(ragged))[0]
    assert first.symbols in ((7, 1, 2, 3), (1, 2, 3, 7))
    assert int((first.last - first.first + 1).sum()) >= 5 * 4


def test_a_pattern_is_no_repetition_of_a_shorter_one() -> None:
    for found in patterns(_sequence([1, 2] * 40 + [3, 4, 5] * 30)):
        symbols = found.symbols
        assert all(symbols != symbols[:n] * (len(symbols) // n) for n in range(1, len(symbols)))


def test_what_never_repeats_gives_no_pattern() -> None:
    assert patterns(_sequence(list(range(50)))) == []
    assert patterns(_sequence([])) == []
    assert patterns(_sequence([5])) == []
    assert patterns(_sequence([5] * 30)) == []


def test_work_without_duration_gives_patterns_without_time() -> None:
    found = patterns(_sequence(ITERATION * 3, duration=0))
    assert [(one.symbols, len(one.first), int(one.extents.busy_ns.sum())) for one in found] == [(tuple(LAYER), 12, 0)]


@settings(deadline=None, max_examples=150)
@given(st.lists(st.integers(0, 3), max_size=120))
def test_every_occurrence_is_what_it_says_and_none_overlap(symbols: list[int]) -> None:
    for found in patterns(_sequence(symbols)):
        assert len(found.first) >= 2
        assert (found.first[1:] > found.last[:-1]).all()
        for first, last in zip(found.first, found.last, strict=True):
            run = symbols[first : last + 1]
            folded = [s for i, s in enumerate(run) if i == 0 or run[i - 1] != s]
            assert tuple(folded) == found.symbols


def test_a_layer_is_found_through_noise_by_what_iterations_have_in_common() -> None:
    generator = np.random.default_rng(0)
    rows: list[int] = []
    for _ in range(60):
        for symbol in ITERATION:
            chance = generator.random()
            rows += [] if chance < 0.02 else [symbol] if chance > 0.06 else [symbol, int(generator.integers(1, 15))]
    sequence = _sequence(rows)
    found = patterns(sequence, iterations=60, typical=[(np.array(ITERATION, np.int32), 60)], longest=15)
    assert found[0].symbols == (1, 2, 3, 4, 5, 6)
    for first, last in zip(found[0].first.tolist(), found[0].last.tolist(), strict=True):
        run = rows[first : last + 1]
        assert [s for at, s in enumerate(run) if at == 0 or run[at - 1] != s] == [1, 2, 3, 4, 5, 6]


@pytest.mark.parametrize("layers", [12, 24, 96])
@pytest.mark.parametrize("noise", [0.0, 0.002, 0.01])
def test_the_backward_and_the_forward_layer_come_first(layers: int, noise: float) -> None:
    planted = plant(Training(iterations=40, layers=layers, seed=7, noise=noise))
    forward, backward = (planted.consensus[loop.offset :][: loop.period].tolist() for loop in planted.loops[:2])
    times = planted.start_ns, planted.end_ns, planted.launch_ns
    sequence = Sequence(0, 1, 0, None, planted.symbols, *times, [], pl.DataFrame())
    found = patterns(sequence, iterations=40, longest=len(planted.consensus) // 2)
    assert [list(one.symbols) for one in found[:2]] == [backward, forward]
    if not noise:
        assert [len(one.first) for one in found[:2]] == [40 * layers, 40 * layers]


def test_a_long_part_of_every_iteration_is_no_pattern_but_a_short_one_is() -> None:
    varied = [symbol for at in range(20) for symbol in [*range(100), 200 + at % 2, *range(100, 130), 202 + at // 2 % 2]]
    found = patterns(_sequence(varied), iterations=20)
    assert [one.symbols for one in found] == [tuple(range(100, 130))]


def test_marginal_occurrences_share_no_operation_with_those_of_earlier_patterns() -> None:
    symbols = ([1, 2, 3, 4, 9] * 3 + [2, 3, 8] * 4) * 5
    found = patterns(_sequence(symbols), iterations=5)
    taken: set[int] = set()
    for one in found:
        for first, last, free in zip(one.first.tolist(), one.last.tolist(), one.free.tolist(), strict=True):
            assert free == taken.isdisjoint(range(first, last + 1))
        for first, last in zip(one.first[one.free].tolist(), one.last[one.free].tolist(), strict=True):
            taken |= set(range(first, last + 1))
    assert len(found) > 1


def test_layers_of_each_shape_are_found_though_none_is_in_half_of_the_iterations() -> None:
    planted = plant(Training(iterations=48, layers=12, seed=1, variants=3))
    times = planted.start_ns, planted.end_ns, planted.launch_ns
    sequence = Sequence(0, 1, 0, None, planted.symbols, *times, [], pl.DataFrame())
    known = typical(planted.symbols, planted.starts, planted.stops - 1)
    found = patterns(sequence, iterations=48, typical=known, longest=len(planted.consensus) // 2)
    assert [len(one.symbols) for one in found[:6]] == [33, 33, 33, 16, 16, 16]
