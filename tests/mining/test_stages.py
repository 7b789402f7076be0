import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tracelode.mining.stages import turning_point

ONE, TWO = np.tile(np.arange(10), 30), np.tile(np.arange(20, 28), 40)


def test_a_stage_begins_where_the_kinds_of_operations_change() -> None:
    assert turning_point(np.concatenate([ONE, TWO])) == 300


def test_strays_of_the_other_stage_do_not_move_it() -> None:
    symbols = np.concatenate([ONE, TWO])
    symbols[[5, 150, 280]], symbols[[340, 500, 610]] = [21, 24, 20], [3, 9, 1]
    assert turning_point(symbols) == 300


def test_what_both_stages_share_at_the_border_ends_the_first() -> None:
    shared = np.full(4, 99)
    symbols = np.concatenate([np.tile(np.r_[np.arange(10), shared], 20), np.tile(np.r_[np.arange(20, 30), shared], 20)])
    assert turning_point(symbols) == 280


@pytest.mark.parametrize("symbols", [[], [1], [1, 2], np.tile(np.arange(7), 50).tolist(), [3] * 40])
def test_work_of_one_kind_has_no_stages(symbols: list[int]) -> None:
    assert turning_point(np.array(symbols, dtype=np.int64)) is None


def test_a_short_beginning_is_no_stage() -> None:
    assert turning_point(np.concatenate([np.arange(100, 150), np.tile(ONE, 3)])) is None


@given(st.lists(st.integers(0, 6), max_size=80))
def test_a_stage_begins_inside_the_sequence(symbols: list[int]) -> None:
    place = turning_point(np.array(symbols, dtype=np.int64))
    assert place is None or len(symbols) // 5 <= place <= len(symbols) - len(symbols) // 5
