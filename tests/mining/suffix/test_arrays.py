import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.mining.suffix.strict import on_host, strict, to_device
from tracelode.mining.suffix.arrays import bit_count, enclosed, ragged, ragged_owner, sort_by

rows = st.lists(st.tuples(st.integers(0, 3), st.integers(0, 2), st.integers(0, 3)), min_size=1, max_size=40)


@given(rows, st.sampled_from([2, 20, 31, 50, 57]))
def test_rows_are_sorted_by_all_keys_whether_they_fit_into_one_number_or_not(
    rows: list[tuple[int, int, int]], bits: int
):
    expected = sorted(range(len(rows)), key=lambda row: (rows[row], row))
    keys = [(to_device(np.array(key, np.int64)), bits) for key in zip(*rows, strict=True)]
    order, first = sort_by(strict, keys)
    assert on_host(order).tolist() == expected
    assert on_host(first).tolist() == [
        place == 0 or rows[row] != rows[expected[place - 1]] for place, row in enumerate(expected)
    ]


@pytest.mark.parametrize(("values", "bits"), [(1, 1), (2, 1), (3, 2), (4, 2), (5, 3), (2**31, 31), (2**31 + 1, 32)])
def test_bits_hold_all_values(values: int, bits: int):
    assert bit_count(values) == bits


@given(st.lists(st.tuples(st.integers(0, 99), st.integers(1, 5)), min_size=1, max_size=20))
def test_stretches_are_laid_end_to_end(stretches: list[tuple[int, int]]):
    starts, lengths = (to_device(np.array(part, np.int32)) for part in zip(*stretches, strict=True))
    total = sum(length for _, length in stretches)
    expected = [start + k for start, length in stretches for k in range(length)]
    owner = [number for number, (_, length) in enumerate(stretches) for _ in range(length)]
    assert on_host(ragged(strict, starts, lengths, total)).tolist() == expected
    assert on_host(ragged_owner(strict, lengths, total)).tolist() == owner


def test_an_enclosed_text_has_its_ends_marked():
    text = to_device(np.array([4, 5], np.int32))
    assert on_host(enclosed(strict, text)).tolist() == [-1, 4, 5, -1, -1]
