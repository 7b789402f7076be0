import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from tracelode.mining.numbering import numbered

NUMBER = st.integers(-2, 2) | st.integers(-(2**61), 2**61) | st.sampled_from([0, 2**40, -(2**40)])
ROWS = st.integers(1, 4).flatmap(lambda width: st.lists(st.tuples(*[NUMBER] * width), min_size=1, max_size=30))


@given(ROWS)
def test_rows_are_numbered_by_first_appearance(rows: list[tuple[int, ...]]) -> None:
    seen: dict[tuple[int, ...], int] = {}
    for at, row in enumerate(rows):
        seen.setdefault(row, at)
    places = list(seen)
    number, first = numbered([np.array(column, np.int64) for column in zip(*rows, strict=True)])
    assert number.tolist() == [places.index(row) for row in rows]
    assert first.tolist() == list(seen.values())


def test_columns_of_narrow_types_are_as_those_of_wide_ones() -> None:
    number, first = numbered([np.array([127, -128, 127], np.int8), np.array([2**31 - 1, -(2**31), 5], np.int32)])
    assert (number.tolist(), first.tolist()) == ([0, 1, 2], [0, 1, 2])
