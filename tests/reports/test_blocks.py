import doctest

from hypothesis import given
from hypothesis import strategies as st

from tracelode.reports import blocks
from tracelode.reports.blocks import bars, sparkline


def test_the_examples_in_its_docstrings_run() -> None:
    assert doctest.testmod(blocks).failed == 0


def test_a_line_of_more_values_than_room_shows_the_largest_of_each_group() -> None:
    assert sparkline([1, 1, 1, 8, 1, 1], 3) == "▁█▁"
    assert sparkline([1, 8], 1) == "█"


def test_a_line_can_have_a_top_that_no_value_reaches() -> None:
    assert sparkline([0, 0.5, 1], 10, top=1) == " ▄█"
    assert sparkline([0.01, 0.2], 10, top=1) == "▁▂"


def test_nothing_and_zeros_draw_nothing() -> None:
    assert sparkline([], 10) == ""
    assert sparkline([0, 0], 10) == "  "
    assert bars([], 10) == []
    assert bars([0, 0], 10) == ["", ""]


def test_bars_are_as_long_as_their_share_of_the_largest() -> None:
    assert bars([8, 4, 1, 0], 8) == ["████████", "████", "█", ""]
    assert bars([8, 1], 1) == ["█", "▏"]


@given(st.lists(st.floats(0, 1e18), max_size=50), st.integers(1, 20))
def test_what_is_drawn_fits_its_width(values: list[float], width: int) -> None:
    assert len(sparkline(values, width)) == min(len(values), width)
    assert all(len(bar) <= width for bar in bars(values, width))
