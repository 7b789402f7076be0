import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from tracelode.mining.rank_steps import Steps, steps
from tracelode.mining.ranks import Rank


def _rank(own: list[int], wait: list[int] | int = 0) -> Rank:
    """A rank whose iterations have that time of their own, and wait so long in communication."""
    waits = np.array([wait] * len(own) if isinstance(wait, int) else wait, dtype=np.int64)
    number = np.arange(len(own), dtype=np.int64)
    return Rank(1, number, np.full(len(own), 50), np.array(own, dtype=np.int64) + waits, waits)


def _together(own: list[list[int]]) -> Steps:
    """All are done when the slowest is, so that each rank's iterations last as long, and are matched one by one."""
    most = np.max(own, axis=0)
    return steps([_rank(row, (most - row).tolist()) for row in own])


@given(st.lists(st.lists(st.integers(1, 10_000), min_size=3, max_size=3), min_size=2, max_size=7))
def test_lateness_is_own_time_less_the_median_of_the_others(own: list[list[int]]) -> None:
    found = _together(own)
    for rank, row in enumerate(own):
        others = np.median(np.delete(np.array(own), rank, axis=0), axis=0)
        assert found.others_ns[rank].tolist() == others.tolist()
        assert found.late_ns[rank].tolist() == (np.array(row) - others).tolist()


def test_a_step_in_which_one_rank_is_late_stands_out() -> None:
    usual = [1000, 1002, 998, 1001, 999, 1000, 1003, 997]
    late = [*usual[:5], 1400, *usual[6:]]
    found = _together([usual, late, usual[::-1]])
    assert np.argwhere(found.late).tolist() == [[1, 5]]


def test_a_rank_that_was_recorded_shorter_is_compared_where_it_took_part() -> None:
    times = [1000, 1500, 900, 1700, 1200, 1100, 1900, 1300]
    found = steps([_rank(times), _rank(times[2:])])
    assert found.at.tolist() == [[0, 1, 2, 3, 4, 5, 6, 7], [-1, -1, 0, 1, 2, 3, 4, 5]]
    assert np.isnan(found.late_ns[:, :2]).all()
    assert (found.late_ns[:, 2:] == 0).all()


def test_ranks_without_iterations_are_late_in_none() -> None:
    found = steps([_rank([]), _rank([1000, 1001, 1002])])
    assert not found.late.any()
    assert np.isnan(found.late_ns).all()
    assert steps([_rank([]), _rank([])]).at.shape == (2, 0)
