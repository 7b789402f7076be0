import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from tracelode.mining.nested import NONE, nearest, nest


def test_the_innermost_span_holds_until_before_its_end() -> None:
    # lane 1: 0 [0, 100) holds 1 [10, 20) and 2 [20, 50) holds 3 [25, 30); lane 2: 4 [0, 5)
    spans = nest(*(np.array(column) for column in ([1, 1, 1, 1, 2], [0, 10, 20, 25, 0], [100, 20, 50, 30, 5])))
    lane = np.array([1, 1, 1, 1, 1, 1, 2, 3])
    moment = np.array([0, 10, 20, 29, 30, 100, 4, 4])
    assert spans.innermost(lane, moment).tolist() == [0, 1, 2, 3, 2, NONE, 4, NONE]


def test_a_span_of_no_length_holds_nothing() -> None:
    spans = nest(np.array([1, 1]), np.array([0, 5]), np.array([10, 5]))
    assert spans.innermost(np.array([1]), np.array([5])).tolist() == [0]


def test_no_spans_hold_nothing() -> None:
    none = np.zeros(0, np.int64)
    assert nest(none, none, none).innermost(np.array([1]), np.array([5])).tolist() == [NONE]


def test_nearest_is_the_item_itself_or_the_first_around_it_that_has_something() -> None:
    # 0 around 1 around 2 around 3; only 0 and 2 have something; 4 stands alone and has nothing
    parent = np.array([NONE, 0, 1, 2, NONE])
    has = np.array([True, False, True, False, False])
    assert nearest(parent, has).tolist() == [0, 0, 2, 2, NONE]
    assert nearest(np.zeros(0, np.int64), np.zeros(0, bool)).tolist() == []


TREES = st.lists(st.tuples(st.integers(0, 30), st.integers(1, 12), st.integers(0, 1)), max_size=12)


@given(TREES, st.integers(-1, 45))
def test_nested_spans_are_found_as_by_looking_at_all_of_them(found: list[tuple[int, int, int]], moment: int) -> None:
    kept: list[tuple[int, int, int]] = []  # those that nest in all before them
    for start, length, lane in found:
        one = (lane, start, start + length)
        apart = (a[0] != lane or a[2] <= one[1] or one[2] <= a[1] or (a[1] <= one[1] and one[2] <= a[2])
                 or (one[1] <= a[1] and a[2] <= one[2]) for a in kept)  # fmt: skip
        if one not in kept and all(apart):
            kept.append(one)
    if not kept:
        return
    lane, start, end = (np.array(column, np.int64) for column in zip(*kept, strict=True))
    answer = nest(lane, start, end).innermost(np.array([0, 1]), np.array([moment, moment])).tolist()
    for asked in (0, 1):
        holding = [(b - a, at) for at, (own, a, b) in enumerate(kept) if own == asked and a <= moment < b]
        assert (answer[asked] == NONE) == (not holding)
        assert not holding or kept[answer[asked]][2] - kept[answer[asked]][1] == min(holding)[0]
