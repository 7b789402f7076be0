import numpy as np
import polars as pl
from hypothesis import given, settings
from hypothesis import strategies as st

from tracelode.mining.pattern import patterns
from tracelode.mining.sequence import Sequence


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
    assert int(first.busy_ns.sum()) == 24 * 6 * 10


def test_time_inside_an_occurrence_without_work_is_idle() -> None:
    first = patterns(_sequence(ITERATION * 6, gap=3), longest=len(ITERATION) // 2)[0]
    assert set(first.idle_ns.tolist()) == {5 * 3}
    assert (first.end_ns - first.start_ns == first.busy_ns + first.idle_ns).all()


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


def test_work_without_duration_gives_patterns_without_time_or_none() -> None:
    assert all(int(p.busy_ns.sum()) == 0 for p in patterns(_sequence(ITERATION * 3, duration=0)))


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
