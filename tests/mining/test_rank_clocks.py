import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from tracelode.mining.rank_clocks import Clock, Shared, clock, clocks

SECOND = 1_000_000_000


def _ints(*values: int) -> np.ndarray:
    return np.array(values, dtype=np.int64)


@given(
    st.integers(-5_000_000, 5_000_000),
    st.lists(st.tuples(st.integers(2_000, 400_000), st.floats(-1, 1)), min_size=1, max_size=30),
)
def test_the_true_offset_is_never_further_off_than_the_uncertainty(truth: int, met: list[tuple[int, float]]) -> None:
    shortest = np.array([bound for bound, _ in met], dtype=np.int64)
    difference = truth + np.array([int(bound * part) for bound, part in met], dtype=np.int64)
    at = np.zeros(len(met), dtype=np.int64)  # no time passes: no drift can be told
    found = clock(difference, shortest, at)
    assert abs(found.offset_ns - truth) <= found.uncertainty_ns
    assert found.agreed == found.matched == len(met)


def test_a_few_collectives_that_do_not_end_together_do_no_harm() -> None:
    difference = _ints(5_000_100, 4_999_900, 5_000_000, 9_000_000, 1_000_000)
    found = clock(difference, np.full(5, 50_000), np.zeros(5, dtype=np.int64))
    assert (found.offset_ns, found.matched, found.agreed) == (5_000_000, 5, 3)
    assert found.uncertainty_ns == 49_900


def test_a_drift_is_told_and_taken_out() -> None:
    at = np.arange(20, dtype=np.int64) * SECOND
    difference = 3_000_000 + (at - at.max() // 2) // 100_000  # 10 ppm
    found = clock(difference, np.full(20, 20_000), at)
    assert abs(found.drift - 1e-5) < 1e-8
    assert abs(found.offset_ns - 3_000_000) <= 10
    assert np.abs(found.aligned(at + difference) - at).max() < 200


def test_jitter_of_a_microsecond_is_no_drift_and_no_reason_to_correct_a_clock() -> None:
    at = np.arange(12, dtype=np.int64) * 1_000_000
    found = clock(np.repeat(_ints(1_000, -1_000), 6), np.full(12, 20_000), at)
    assert found.drift == 0
    assert not found.needed
    assert found.aligned(at).tolist() == at.tolist()


def test_a_rank_that_never_meets_the_reference_is_compared_by_way_of_another() -> None:
    end = np.array([[100_000, 200_000, 300_000, 0, 0], [110_000, 210_000, 310_000, 410_000, 0], [0, 0, 0, 430_000, 0]])
    there = np.array([[1, 1, 1, 0, 1], [1, 1, 1, 1, 0], [0, 0, 0, 1, 0]], dtype=bool)
    found = clocks(Shared(end, there, np.full(5, 2_000)))
    assert found[0] == Clock(0, matched=4, agreed=4)
    assert [(one.base, one.offset_ns) for one in found[1:] if one] == [(0, 10_000), (1, 20_000 + 10_000)]


def test_no_clock_is_told_where_the_ends_never_agree_or_nothing_is_shared() -> None:
    end = np.array([[0, 0, 0, 0], [0, 90_000, 200_000, 400_000], [0, 0, 0, 0]])
    there = np.array([[1, 1, 1, 1], [1, 1, 1, 1], [0, 0, 0, 0]], dtype=bool)
    assert clocks(Shared(end, there, np.full(4, 2_000)))[1:] == [None, None]
    assert clocks(Shared(end[:, :0], there[:, :0], end[0, :0])) == [None, None, None]
