import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.mining.suffix.strict import on_host, strict, to_device
from tracelode.mining.suffix.doubling import sort_suffixes
from tracelode.mining.suffix.steps import Steps

phrases = st.lists(st.lists(st.sampled_from([-1, 0, 1, 2, 2**31 - 1]), min_size=1, max_size=30), min_size=1, max_size=8)


@settings(deadline=None)
@given(phrases)
def test_suffixes_end_with_their_phrase_and_equal_ones_are_one_class(phrases: list[list[int]]):
    suffixes = [tuple(phrase[start:]) for phrase in phrases for start in range(len(phrase))]
    expected = sorted(range(len(suffixes)), key=lambda number: (suffixes[number], number))
    ends = np.repeat(np.cumsum([len(phrase) for phrase in phrases]), [len(phrase) for phrase in phrases])
    text = np.concatenate([np.array(phrase, np.int32) for phrase in phrases])
    order, first = sort_suffixes(Steps(strict), to_device(text), to_device(ends.astype(np.int32)))
    assert on_host(order).tolist() == expected
    assert on_host(first).tolist() == [
        place == 0 or suffixes[number] != suffixes[expected[place - 1]] for place, number in enumerate(expected)
    ]


def test_a_long_run_of_one_symbol_is_sorted_by_what_is_left_of_it():
    size = 5000
    order, first = sort_suffixes(Steps(np), np.zeros(size, np.int32), np.full(size, size, np.int32))
    assert order.tolist() == list(range(size - 1, -1, -1))
    assert first.all()
