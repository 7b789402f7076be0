import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tracelode.mining.suffix.sais import sort_suffixes


def sort(text: list[int], alphabet: int) -> list[int]:
    sa = np.full(len(text), -1, np.int32)
    sort_suffixes(np.array(text, np.int32), alphabet, sa)
    return sa.tolist()


@settings(deadline=None)  # the first call compiles
@given(st.lists(st.integers(0, 3), max_size=40))
def test_suffixes_come_in_lexicographic_order(text: list[int]):
    assert sort(text, 4) == sorted(range(len(text)), key=lambda start: text[start:])


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        pytest.param([0, 1, 2], [0, 1, 2], id="rising, no turn"),
        pytest.param([2, 1, 0], [2, 1, 0], id="falling, no turn"),
        pytest.param([1, 0, 1], [1, 2, 0], id="one turn"),
        pytest.param([1, 0, 1, 0, 1], [3, 1, 4, 2, 0], id="two turns of different stretches"),
        pytest.param([1, 0, 1, 0, 1, 0, 1], [5, 3, 1, 6, 4, 2, 0], id="equal stretches, a second level"),
    ],
)
def test_each_number_of_turns_is_sorted(text: list[int], expected: list[int]):
    assert sort(text, 2 if max(text) < 2 else 3) == expected


def test_symbols_of_the_alphabet_need_not_occur():
    assert sort([9, 4, 9, 4], 1000) == [3, 1, 2, 0]


def test_many_levels_sort_right():
    text = [0]
    for _ in range(10):  # the Thue-Morse word halves about evenly from level to level
        text += [1 - symbol for symbol in text]
    assert sort(text, 2) == sorted(range(len(text)), key=lambda start: text[start:])
