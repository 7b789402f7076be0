import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from tracelode.mining.lookup import until

NUMBERS = st.lists(st.integers(-5, 5), max_size=20)


@given(NUMBERS, NUMBERS, st.booleans())
def test_as_many_are_passed_as_a_search_finds_whatever_the_order_of_the_values(
    ordered: list[int], values: list[int], including: bool
) -> None:
    there = np.array(sorted(ordered), np.int64)
    for asked in (np.array(values, np.int64), np.array(sorted(values), np.int64)):
        expected = np.searchsorted(there, asked, "right" if including else "left")
        assert until(there, asked, including=including).tolist() == expected.tolist()
