import statistics

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tracelode.mining.column_times import medians, node_sums, node_times
from tracelode.mining.folding import fold

compiled = settings(deadline=None)  # the first call compiles


@compiled
@given(st.lists(st.tuples(st.integers(-1, 3), st.integers(-50, 50)), max_size=40))
def test_medians_are_the_lower_ones_of_each_column(pairs: list[tuple[int, int]]) -> None:
    columns = np.array([column for column, _ in pairs], np.int32)
    values = np.array([value for _, value in pairs], np.int64)
    expected = [[value for column, value in pairs if column == wanted] for wanted in range(4)]
    assert medians(columns, values, 4).tolist() == [statistics.median_low(part) if part else 0 for part in expected]


def test_times_of_loops_are_those_of_their_passes() -> None:
    tree = fold(np.array([9, 1, 2, 1, 2, 8], np.int32))  # root, 9, loop(1, 2), 8
    columns = np.array([0, 1, 2, 3, 4, 5, 0, 1, 2, -1, 4, 5], np.int32)  # the second text lacks column 3
    values = np.array([1, 10, 20, 30, 40, 5, 3, 10, 20, 99, 60, 7], np.int64)
    times = node_times(tree, columns, np.array([0, 6, 12]), values)
    assert tree.symbol.tolist() == [-1, 9, -1, 1, 2, 8]
    assert times.count.tolist() == [2, 2, 4, 3, 4, 2]
    assert times.total_ns.tolist() == [206, 4, 190, 50, 140, 12]
    assert times.min_ns.tolist() == [100, 1, 30, 10, 20, 5]
    assert times.max_ns.tolist() == [106, 3, 70, 30, 60, 7]
    assert times.mean_ns.tolist() == [103.0, 2.0, 47.5, 50 / 3, 35.0, 6.0]
    passes = [30, 70, 30, 60]
    assert times.std_ns[2] == pytest.approx(statistics.pstdev(passes))
    assert node_sums(tree, columns, values).tolist() == times.total_ns.tolist()


def test_without_texts_nothing_is_counted() -> None:
    tree = fold(np.array([1, 2], np.int32))
    times = node_times(tree, np.zeros(0, np.int32), np.array([0]), np.zeros(0, np.int64))
    assert times.count.tolist() == [0, 0, 0]
    assert times.total_ns.tolist() == [0, 0, 0]
    assert np.isnan(times.mean_ns).all()


@compiled
@given(st.lists(st.integers(0, 2), min_size=1, max_size=12), st.lists(st.integers(0, 99), min_size=1, max_size=3))
def test_the_times_of_children_add_up_to_those_of_their_parent(text: list[int], factors: list[int]) -> None:
    tree = fold(np.array(text, np.int32))
    columns = np.tile(np.arange(len(text), dtype=np.int32), len(factors))
    values = np.concatenate([factor * (np.arange(len(text)) + 1) for factor in factors])
    times = node_times(tree, columns, np.arange(len(factors) + 1) * len(text), values)
    for node in tree.passes():
        assert times.total_ns[tree.parent == node].sum() == times.total_ns[node]
