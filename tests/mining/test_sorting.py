import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from tracelode.mining.sorting import distinct, lexical_order, ragged, runs, stable_order


@given(st.lists(st.integers(-(2**62), 2**62), max_size=50) | st.lists(st.integers(-3, 3), max_size=50))
def test_the_order_is_that_of_a_stable_argsort(values: list[int]) -> None:
    array = np.array(values, dtype=np.int64)
    assert stable_order(array).tolist() == np.argsort(array, kind="stable").tolist()


KEYS = st.tuples(
    st.integers(-3, 3), st.integers(-(2**62), 2**62) | st.integers(0, 2), st.integers(0, 2**40), st.booleans()
)


@given(st.lists(KEYS, max_size=40), st.permutations(range(4)))
def test_the_order_by_several_keys_is_that_of_a_lexical_sort(rows: list[tuple[int, ...]], turn: list[int]) -> None:
    keys = [np.array([row[at] for row in rows], dtype=np.int64) for at in turn]
    assert lexical_order(*keys).tolist() == np.lexsort(keys[::-1]).tolist()


def test_runs_are_of_rows_that_are_alike_in_all_keys() -> None:
    assert runs(np.array([1, 1, 1, 2, 2, 1]), np.array([5, 5, 6, 6, 6, 6])) == [(0, 2), (2, 3), (3, 5), (5, 6)]
    assert runs(np.array([7])) == [(0, 1)]
    assert runs(np.zeros(0, np.int64)) == []


def test_slices_are_spelled_out_one_after_the_other() -> None:
    assert ragged(np.array([5, 0, 9]), np.array([2, 0, 3])).tolist() == [5, 6, 9, 10, 11]
    assert ragged(np.zeros(0, np.int64), np.zeros(0, np.int64)).tolist() == []


def test_distinct_values_are_ascending_and_once() -> None:
    assert distinct(np.array([5, -1, 5, 3, -1])).tolist() == [-1, 3, 5]
    assert distinct(np.zeros(0, np.int64)).tolist() == []
