import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from tracelode.reports.stretches import chosen

EVERY_TENTH = [np.arange(0, 1000, 10)]


def test_wanted_stretches_come_before_the_beginning() -> None:
    found = chosen(EVERY_TENTH, [(500, 600, "typical"), (800, 900, "slow")], 30)
    assert found == [(0, 100, "the beginning"), (500, 600, "typical"), (800, 900, "slow")]


def test_a_stretch_that_does_not_fit_is_passed_over_for_a_smaller_one() -> None:
    assert chosen(EVERY_TENTH, [(0, 900, "long"), (500, 600, "short")], 10) == [(500, 600, "short")]


def test_stretches_that_touch_become_one_with_both_labels() -> None:
    found = chosen(EVERY_TENTH, [(100, 200, "b"), (0, 100, "a")], 20)
    assert found == [(0, 200, "a, b")]


def test_the_same_stretch_wanted_twice_takes_room_once() -> None:
    found = chosen(EVERY_TENTH, [(0, 100, "first"), (0, 100, "longest"), (200, 300, "last")], 20)
    assert found == [(0, 100, "first, longest"), (200, 300, "last")]


def test_nothing_is_chosen_where_everything_starts_at_once_and_does_not_fit() -> None:
    assert chosen([np.zeros(50, dtype=np.int64)], [], 20) == []


STARTS = st.lists(st.lists(st.integers(0, 200), max_size=40).map(sorted), min_size=1, max_size=3)
WANTED = st.lists(st.tuples(st.integers(0, 200), st.integers(0, 200), st.just("w")), max_size=4)


@given(STARTS, WANTED, st.integers(0, 60))
def test_never_more_than_there_is_room_for_and_the_stretches_are_disjoint(
    starts: list[list[int]], wanted: list[tuple[int, int, str]], room: int
) -> None:
    found = chosen([np.array(one, dtype=np.int64) for one in starts], wanted, room)
    assert sum(first <= start < last for one in starts for start in one for first, last, _ in found) <= room
    edges = [edge for first, last, _ in found for edge in (first, last)]
    assert edges == sorted(set(edges))
