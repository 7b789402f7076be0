import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st

from tracelode.mining.contents import Texts, _lead, equal_groups

compiled = settings(deadline=None)  # the first call compiles

TEXTS = st.lists(st.lists(st.integers(0, 2), max_size=4), max_size=12)


def _texts(texts: list[list[int]]) -> Texts:
    stop = np.cumsum([len(text) for text in texts], dtype=np.int64)
    symbols = np.array([symbol for text in texts for symbol in text], np.int32)
    return Texts(symbols, stop - np.array([len(text) for text in texts], np.int64), stop)


@compiled
@given(TEXTS)
def test_each_text_leads_to_the_first_equal_one(texts: list[list[int]]) -> None:
    assert equal_groups(_texts(texts)).tolist() == [texts.index(text) for text in texts]


@compiled
@given(TEXTS)
def test_texts_that_share_a_hash_are_told_apart(texts: list[list[int]]) -> None:
    given_ = _texts(texts)
    leader = np.arange(len(texts))
    _lead(given_.symbols, given_.first, given_.stop, np.zeros(len(texts), np.uint64), np.arange(len(texts)), leader)
    assert leader.tolist() == [texts.index(text) for text in texts]


def test_a_text_is_the_range_of_symbols_it_stands_for() -> None:
    texts = _texts([[1, 2], [], [3]])
    assert [texts[at].tolist() for at in range(len(texts))] == [[1, 2], [], [3]]
    assert texts.take(np.array([2, 0])).size.tolist() == [1, 2]
