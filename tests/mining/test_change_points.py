import json
from itertools import combinations, product

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.mining.otava_table import TABLE, asked, series
from tracelode.mining.change_points import ChangePoint, best_split, change_points, large_ones, without_bad_days

STEADY = [100.0, 101, 99, 100, 102, 98, 100, 101, 99, 100]


def mean_distances(one: list[float], other: list[float] | None = None) -> float:
    pairs = list(combinations(one, 2)) if other is None else list(product(one, other))
    return sum(abs(a - b) for a, b in pairs) / len(pairs) if pairs else 0.0


def statistic(values: list[float], split: int, end: int) -> float:
    left, right = values[:split], values[split:end]
    apart = 2 * mean_distances(left, right) - mean_distances(left) - mean_distances(right)
    return len(left) * len(right) / (len(left) + len(right)) * apart


@given(st.lists(st.integers(0, 20).map(float), min_size=2, max_size=12))
def test_the_best_split_is_that_of_the_definition(values: list[float]) -> None:
    each = {(split, end): statistic(values, split, end) for end in range(2, len(values) + 1) for split in range(1, end)}
    index, found = best_split(np.array(values))
    assert found == pytest.approx(max(each.values()), abs=1e-9)
    assert max(each[split, end] for split, end in each if split == index) == pytest.approx(found, abs=1e-9)


def test_a_step_is_found_where_it_is() -> None:
    found = change_points([*STEADY, *[value + 10 for value in STEADY]])
    assert [one.index for one in found] == [10]
    assert found[0].probability == 1 / 200


def test_several_steps_are_found_in_order_of_time() -> None:
    values = [*STEADY, *[value + 10 for value in STEADY], *[value - 10 for value in STEADY]]
    assert [one.index for one in change_points(values)] == [10, 20]


def test_what_comes_and_goes_is_two_changes() -> None:
    values = [*STEADY, *[value + 10 for value in STEADY], *STEADY]
    assert [one.index for one in change_points(values)] == [10, 20]


def test_one_bad_day_among_others_is_no_change() -> None:
    values = [*STEADY, *STEADY]
    values[7] = 150
    assert change_points(values) == []


def test_small_changes_are_taken_out_the_smallest_first() -> None:
    values = [100.0] * 5 + [101.0] * 5 + [102.5] * 5 + [120.0] * 5
    found = [ChangePoint(index, 1.0, 0.005) for index in (5, 10, 15)]
    assert [one.index for one in large_ones(values, found, 0.018)] == [10, 15]  # without 5, 10 is 100.5 to 102.5
    assert [one.index for one in large_ones(values, found, 0.025)] == [15]
    assert large_ones(values, found, 0.0) == found
    assert large_ones([0.0] * 5 + [3.0] * 5, found[:1], 0.5) == found[:1]
    assert large_ones(values, [], 0.1) == []


def test_a_bad_day_hides_no_step_once_it_is_taken_out() -> None:
    bad = [*STEADY, *[value + 10 for value in STEADY]]
    bad[4] = 250
    better = without_bad_days(bad)
    assert better == [*bad[:4], 100.0, *bad[5:]]  # 100 stands before it and 98 after
    assert [one.index for one in change_points(better)] == [10]


def test_a_step_is_no_bad_day_even_near_the_end() -> None:
    for values in ([*STEADY, 120.0, 121.0], [120.0, 121.0, *STEADY], [float(10 * at) for at in range(20)], [7.0], []):
        assert without_bad_days(values) == values
    assert without_bad_days([*STEADY, 120.0]) == [*STEADY, 100.0]
    assert without_bad_days([5.0, 5.0, 5.0, 6.0, 5.0, 5.0]) == [5.0] * 6


@pytest.mark.parametrize("values", [[], [1.0], [1.0, 1.0], [1.0, 2.0], [5.0] * 40])
def test_where_nothing_changes_nothing_is_found(values: list[float]) -> None:
    assert change_points(values) == []


def test_noise_alone_is_seldom_a_change() -> None:
    random = np.random.default_rng(8)
    told = sum(bool(change_points(list(random.normal(0, 1, 25)))) for _ in range(200))
    assert told <= 6  # 1 % of 200, and what chance allows


def test_the_frozen_table_is_of_the_series_that_are_made() -> None:
    rows = json.loads(TABLE.read_text())
    assert [row["values"] for row in rows] == list(series(len(rows)))
    assert len(rows) == 30


def test_otavas_splits_are_found_and_its_change_points_but_for_the_luck_of_shuffles() -> None:
    rows = json.loads(TABLE.read_text())
    for row in rows:
        index, found = best_split(np.array(row["values"]))
        assert (index, found) == (row["split"], pytest.approx(row["statistic"], rel=1e-9))
    same = [[one.index for one in change_points(row["values"], permutations=99)] == row["changes"] for row in rows]
    assert sum(same) >= 27


@pytest.mark.exhaustive
def test_otava_agrees_on_a_thousand_series() -> None:
    pytest.importorskip("otava", reason="apache-otava is installed by hand: its dependencies are heavy")
    same = 0
    for values in series(1_000):
        told = asked(values)
        index, found = best_split(np.array(values))
        assert (index, found) == (told["split"], pytest.approx(told["statistic"], rel=1e-9))
        same += [one.index for one in change_points(values, permutations=99)] == told["changes"]
    assert same >= 900
