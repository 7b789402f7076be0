from fractions import Fraction

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tracelode.mining.delta import apart, rounded

RATE = st.fractions(0, 50, max_denominator=12)
TIME = st.fractions(0, 10_000, max_denominator=12)


@pytest.mark.parametrize(
    ("calls", "times", "change", "by_calls", "by_speed"),
    [
        ((0, 2), (0, 30), "appeared", 30, 0),
        ((2, 0), (30, 0), "vanished", -30, 0),
        ((2, 3), (20, 30), "more", 10, 0),
        ((3, 2), (30, 20), "fewer", -10, 0),
        ((2, 2), (20, 50), "slower", 0, 30),
        ((2, 2), (50, 20), "faster", 0, -30),
        ((2, 2), (20, 20), "same", 0, 0),
        ((2, 3), (20, 90), "slower", 10, 60),
    ],
)
def test_a_difference_is_parted_by_calls_and_speed(
    calls: tuple[int, int], times: tuple[int, int], change: str, by_calls: int, by_speed: int
) -> None:
    before, now = (Fraction(one) for one in calls)
    assert apart((before, now), (Fraction(times[0]), Fraction(times[1]))) == {
        "change": change,
        "delta_ns": times[1] - times[0],
        "calls_ns": by_calls,
        "speed_ns": by_speed,
    }


@given(st.lists(st.tuples(RATE, RATE, TIME, TIME), max_size=20))
def test_rounded_rows_add_up_to_the_rounded_sum_and_their_parts_to_them(
    rows: list[tuple[Fraction, Fraction, Fraction, Fraction]],
) -> None:
    parts = [
        apart((before, now), (one if before else Fraction(0), two if now else Fraction(0)))
        for before, now, one, two in rows
    ]
    found = list(rounded(parts))
    assert sum(row["delta_ns"] for row in found) == round(sum((row["delta_ns"] for row in parts), Fraction(0)))
    assert all(row["calls_ns"] + row["speed_ns"] == row["delta_ns"] for row in found)
