from typing import Any

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st

from tracelode.mining.covered import Cover, cover

Spans = list[tuple[int, int]]
SPANS = st.lists(st.tuples(st.integers(0, 40), st.integers(0, 40)), max_size=12)


def _cover(spans: Spans) -> Cover:
    return cover(*_arrays(spans))


def _arrays(spans: Spans) -> Any:
    return np.array([a for a, _ in spans], np.int64), np.array([b for _, b in spans], np.int64)


def _moments(spans: Spans) -> set[int]:
    return {at for a, b in spans for at in range(a, b)}


def test_overlapping_and_touching_intervals_count_once() -> None:
    found = _cover([(0, 10), (5, 20), (20, 25), (30, 40), (32, 35)])
    assert found.start.tolist() == [0, 30]
    assert found.end.tolist() == [25, 40]
    assert found.total == 25 + 10


def test_an_interval_that_ends_at_its_start_or_before_covers_nothing() -> None:
    assert _cover([(5, 5), (9, 3)]).total == 0


def test_how_much_of_an_interval_is_covered() -> None:
    found = _cover([(10, 20), (30, 40)])
    # [15, 35) holds 5 of the first and 5 of the second; [0, 5) and [20, 30) hold none; [0, 100) holds both.
    start, end = _arrays([(15, 35), (0, 5), (20, 30), (0, 100)])
    assert found.within(start, end).tolist() == [10, 0, 0, 20]


@settings(max_examples=40)
@given(SPANS, SPANS)
def test_it_equals_the_moments_counted_one_by_one(some: Spans, others: Spans) -> None:
    one, other = _cover(some), _cover(others)
    assert one.total == len(_moments(some))
    assert one.common(other) == other.common(one) == len(_moments(some) & _moments(others))
    start, end = _arrays(others)
    assert one.within(start, end).tolist() == [len(_moments(some) & set(range(a, b))) for a, b in others]
