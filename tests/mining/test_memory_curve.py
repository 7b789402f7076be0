import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tracelode.mining.memory_curve import (
    EARLIEST,
    LATEST,
    Curve,
    alive_at,
    is_flat,
    of_lives,
    returns,
    stages,
    values_at,
)


def _curve(*lives: tuple[int, int, int]) -> list[tuple[int, int]]:
    found = of_lives(*(np.array(column, np.int64) for column in zip(*lives, strict=True)))
    return list(zip(found.time_ns.tolist(), found.bytes.tolist(), strict=True))


def test_a_release_makes_room_before_an_allocation_of_the_same_moment() -> None:
    # 100 B live from 0 to 10, 60 B from 10 to 20: at 10 first 0, then 60
    assert _curve((100, 0, 10), (60, 10, 20)) == [(0, 100), (10, 0), (10, 60), (20, 0)]


def test_what_was_there_before_and_is_there_at_the_end_counts() -> None:
    # 5 B are older and never released, 7 B are older and released at 4: the curve begins with 12
    assert _curve((5, EARLIEST, LATEST), (7, EARLIEST, 4), (1, 6, LATEST)) == [(4, 12), (4, 5), (6, 6)]


def test_a_release_of_what_was_never_seen_allocated_is_one_of_an_older_allocation() -> None:
    assert _curve((7, EARLIEST, 4)) == [(4, 7), (4, 0)]


def test_what_lives_for_no_time_is_there_for_a_moment() -> None:
    assert _curve((3, 5, 5)) == [(5, 3), (5, 0)]
    assert alive_at(5, np.array([5]), np.array([5])).tolist() == [True]


def test_values_between_changes_are_those_after_the_last_change() -> None:
    curve = Curve(np.array([10, 20]), np.array([100, 50]))
    bytes_, known = values_at(curve, np.array([5, 10, 15, 20, 99]))
    assert known.tolist() == [False, True, True, True, True]
    assert bytes_.tolist() == [0, 100, 100, 50, 50]


LIVES = st.lists(st.tuples(st.integers(1, 50), st.integers(0, 9), st.integers(0, 9)), min_size=1, max_size=12)


@given(LIVES)
def test_the_curve_is_what_is_alive_added_up(found: list[tuple[int, int, int]]) -> None:
    lives = [(size, birth, birth + length) for size, birth, length in found]
    size, birth, death = (np.array(column, np.int64) for column in zip(*lives, strict=True))
    curve = of_lives(size, birth, death)
    assert curve.bytes.min() >= 0
    assert curve.bytes[-1] == 0
    moment = int(curve.time_ns[np.argmax(curve.bytes)])
    assert size[alive_at(moment, birth, death)].sum() == curve.bytes.max()


def test_change_points_of_a_trapezoid_are_found_within_one_change() -> None:
    # 10 changes up to 100, 8 about 100, 6 down: the peak begins at 9 or 10 and the fall at 18 or 17
    up, flat, down = range(10, 101, 10), [100, 98, 101, 99, 100, 102, 99, 100], range(85, -1, -17)
    first, last = stages(np.array([*up, *flat, *down]))
    assert abs(first - 10) <= 1
    assert abs(last - 18) <= 1


@pytest.mark.parametrize("count", [1, 4])
def test_a_constant_curve_is_all_peak(count: int) -> None:
    assert stages(np.full(count, 7)) == (0, count)


def test_a_curve_that_hardly_varies_has_no_ramps() -> None:
    assert stages(np.array([100, 95, 98, 100, 93])) == (0, 5)


def test_a_curve_is_flat_up_to_a_tenth_of_its_peak() -> None:
    assert is_flat(np.array([90, 100]))
    assert not is_flat(np.array([89, 100]))


def test_a_level_returns_up_to_a_tenth_of_what_the_curve_varies_by() -> None:
    # from 1000 up by 100: back to 1010, or only to 1011
    assert returns(np.array([1000, 1100, 1010]))
    assert not returns(np.array([1000, 1100, 1011]))


def test_a_missing_ramp_is_no_change() -> None:
    assert stages(np.array([100, 100, 100, 100, 80, 60, 40, 20, 0])) == (0, 4)


def test_long_curves_are_searched_from_coarse_to_fine() -> None:
    noise = np.random.default_rng(7).normal(0, 2e7, 10_000)
    ideal = np.r_[np.linspace(0, 1e9, 5000), np.full(2000, 1e9), np.linspace(1e9, 0, 3000)]
    first, last = stages((ideal + noise).astype(np.int64))
    assert abs(first - 5000) <= 60
    assert abs(last - 7000) <= 60
