import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st

from tracelode.mining.alignment import DELETION, INSERTION, SUBSTITUTION, Alignment, align, columns_of, unlike
from tracelode.mining.contents import Texts

compiled = settings(deadline=None)  # the first call compiles

TEXT = st.lists(st.integers(0, 3), max_size=14)


def _texts(*texts: list[int]) -> Texts:
    stop = np.cumsum([len(text) for text in texts], dtype=np.int64)
    symbols = np.array([symbol for text in texts for symbol in text], np.int32)
    return Texts(symbols, stop - np.array([len(text) for text in texts], np.int64), stop)


def _edits(one: list[int], other: list[int]) -> int:
    """The edit distance by the table of all prefixes."""
    row = list(range(len(other) + 1))
    for i, symbol in enumerate(one, start=1):
        last, row = row, [i]
        for j, there in enumerate(other, start=1):
            row.append(min(last[j] + 1, row[-1] + 1, last[j - 1] + (symbol != there)))
    return row[-1]


def _rebuilt(reference: list[int], found: Alignment, text: int, symbols: list[int]) -> list[int]:
    """The text that a reference and the edits give."""
    result: list[int] = []
    at = 0
    for edit in np.flatnonzero(found.text == text).tolist():
        result += reference[at : found.column[edit]]
        at = int(found.column[edit]) + (found.kind[edit] != INSERTION)
        if found.kind[edit] != DELETION:
            result.append(symbols[found.place[edit]])
    return result + reference[at:]


@compiled
@given(TEXT, st.lists(TEXT, max_size=4))
def test_edits_are_as_few_as_can_be_and_give_the_text(reference: list[int], texts: list[list[int]]) -> None:
    found = align(np.array(reference, np.int32), _texts(*texts), 100)
    assert found.distance.tolist() == [_edits(reference, text) for text in texts]
    for number, text in enumerate(texts):
        assert (found.text == number).sum() == found.distance[number]
        assert _rebuilt(reference, found, number, text) == text


@compiled
@given(TEXT, TEXT, st.integers(0, 6))
def test_a_text_with_more_edits_than_the_limit_has_none(reference: list[int], text: list[int], limit: int) -> None:
    found = align(np.array(reference, np.int32), _texts(text), limit)
    distance = _edits(reference, text)
    assert found.distance.tolist() == [distance if distance <= limit else -1]


@compiled
@given(TEXT, st.lists(TEXT, max_size=4))
def test_columns_name_equal_symbols_in_order(reference: list[int], texts: list[list[int]]) -> None:
    given_ = _texts(*texts)
    found = align(np.array(reference, np.int32), given_, 100)
    columns = columns_of(found, given_)
    for text in range(len(texts)):
        mine = columns[given_.first[text] : given_.stop[text]]
        kept = mine[mine >= 0]
        assert (np.diff(kept) > 0).all()
        assert [reference[column] for column in kept] == [s for s, c in zip(texts[text], mine, strict=True) if c >= 0]
        lost = ((found.text == text) & (found.kind != INSERTION)).sum()
        assert len(kept) == len(reference) - lost


@compiled
@given(TEXT, st.lists(TEXT, max_size=4))
def test_symbols_alone_ask_for_no_more_edits_than_there_are(reference: list[int], texts: list[list[int]]) -> None:
    least = unlike(np.array(reference, np.int32), _texts(*texts))
    assert all(low <= _edits(reference, text) for low, text in zip(least.tolist(), texts, strict=True))


def test_edits_stand_as_late_as_they_can() -> None:
    found = align(np.array([1, 1, 1, 2], np.int32), _texts([1, 1, 2], [1, 1, 1, 1, 2], [1, 1, 1, 3]), 9)
    assert found.kind.tolist() == [DELETION, INSERTION, SUBSTITUTION]
    assert found.column.tolist() == [2, 3, 3]
    assert found.place.tolist() == [2, 3, 3]


def test_a_text_with_too_many_edits_has_no_columns() -> None:
    texts = _texts([5, 6, 7], [1, 2])
    found = align(np.array([1, 2], np.int32), texts, 1)
    assert columns_of(found, texts).tolist() == [-1, -1, -1, 0, 1]
