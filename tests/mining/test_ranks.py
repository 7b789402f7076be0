import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from tracelode.mining.ranks import Rank, match, slower

TIMES = [1000, 1050, 990, 1200, 1010, 1080, 970, 1110]


def _rank(times: list[int], communication: int = 100, first: int = 0) -> Rank:
    number = first + np.arange(len(times))
    return Rank(1, number, np.full(len(times), 50), np.array(times), np.full(len(times), communication))


def test_iterations_that_begin_together_are_matched_one_to_one() -> None:
    found = match(_rank(TIMES), _rank([time + 1 for time in TIMES]))
    assert found is not None
    assert found.base.iteration.tolist() == found.other.iteration.tolist() == list(range(8))


@given(st.integers(0, 3))
def test_a_recording_that_begins_later_is_matched_where_the_times_agree(missing: int) -> None:
    found = match(_rank(TIMES), _rank(TIMES[missing:]))
    assert found is not None
    assert found.base.iteration.tolist() == list(range(missing, 8))
    back = match(_rank(TIMES[missing:]), _rank(TIMES))
    assert back is not None
    assert back.other.iteration.tolist() == list(range(missing, 8))


def test_equal_times_leave_iterations_where_they_are() -> None:
    found = match(_rank([1000] * 6), _rank([1000] * 5))
    assert found is not None
    assert found.other.iteration.tolist() == found.base.iteration.tolist() == [0, 1, 2, 3, 4]


def test_a_rank_without_iterations_has_no_match() -> None:
    assert match(_rank(TIMES), _rank([])) is None


def test_the_rank_that_communicates_less_in_the_same_time_is_slower() -> None:
    found = match(_rank(TIMES, communication=300), _rank(TIMES, communication=100))
    assert found is not None
    share, sure = slower(found)
    assert (round(share, 3), sure) == (round(200 / 730, 3), True)
    back = match(_rank(TIMES, communication=100), _rank(TIMES, communication=300))
    assert back is not None
    share, sure = slower(back)
    assert (share < 0, sure) == (True, True)


def test_a_rank_that_only_communicates_waits_for_the_one_that_works() -> None:
    found = match(_rank([100] * 4, communication=100), _rank([100] * 4, communication=60))
    assert found is not None
    assert slower(found) == (40.0, True)


def test_a_little_more_is_chance() -> None:
    found = match(_rank(TIMES, communication=110), _rank(TIMES, communication=100))
    assert found is not None
    assert slower(found)[1] is False
