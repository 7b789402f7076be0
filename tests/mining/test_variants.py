import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from data.generator.planted import Training, plant
from tracelode.mining.contents import Texts
from tracelode.mining.variants import Types, types_of

LONG = list(range(100, 200))
OTHER = list(range(300, 380))


def _types(*texts: list[int]) -> Types:
    stop = np.cumsum([len(text) for text in texts], dtype=np.int64)
    symbols = np.array([symbol for text in texts for symbol in text], np.int32)
    return types_of(Texts(symbols, stop - np.array([len(text) for text in texts], np.int64), stop))


def test_contents_of_their_own_are_types_by_frequency() -> None:
    found = _types(OTHER, LONG, LONG, OTHER, LONG)
    assert [text.tolist() for text in found.consensus] == [LONG, OTHER]
    assert found.of.tolist() == [1, 0, 0, 1, 0]
    assert found.distance.tolist() == [0] * 5


def test_an_edited_text_is_of_the_type_it_is_nearest_to() -> None:
    found = _types(LONG, LONG[:50] + LONG[53:], LONG, OTHER, OTHER, [7, *OTHER], LONG)
    assert found.of.tolist() == [0, 0, 0, 1, 1, 1, 0]
    assert found.distance.tolist() == [0, 3, 0, 0, 0, 1, 0]


def test_a_content_that_recurs_is_a_type_however_near_it_is() -> None:
    logging = [*LONG, 1]
    found = _types(*[LONG, LONG, LONG, logging] * 4)
    assert [text.tolist() for text in found.consensus] == [LONG, logging]
    assert found.of.tolist() == [0, 0, 0, 1] * 4


def test_few_edited_texts_are_no_type() -> None:
    found = _types(*[LONG] * 8, [*LONG, 1], [*LONG, 1], [2, *LONG])
    assert len(found.consensus) == 1
    assert found.distance.tolist() == [0] * 8 + [1, 1, 1]


def test_a_text_unlike_all_others_is_alone_in_its_type() -> None:
    found = _types(LONG, LONG, [1, 2, 3], LONG)
    assert [text.tolist() for text in found.consensus] == [LONG, [1, 2, 3]]
    assert found.of.tolist() == [0, 0, 1, 0]


def test_an_iteration_with_much_more_work_is_an_edited_one() -> None:
    found = _types(LONG + list(range(40)), LONG, LONG, LONG)
    assert found.of.tolist() == [0, 0, 0, 0]
    assert found.distance.tolist() == [40, 0, 0, 0]


def test_without_texts_there_are_no_types() -> None:
    found = _types()
    assert found.consensus == []
    assert found.of.tolist() == []


@pytest.mark.parametrize("noise", [0, 0.01, 0.02])
def test_variants_are_told_apart_under_noise(noise: float) -> None:
    planted = plant(Training(iterations=80, variants=3, noise=noise, seed=3))
    found = types_of(Texts(planted.symbols, planted.starts, planted.stops))
    assert len(found.consensus) == 3
    assert any(text.tolist() == planted.consensus.tolist() for text in found.consensus)
    assert bool((found.distance < 0.08 * 1245).all())


@settings(deadline=None)  # the first call compiles
@given(st.lists(st.lists(st.integers(0, 2), max_size=6), max_size=12))
def test_every_text_has_a_type_and_equal_ones_have_the_same(texts: list[list[int]]) -> None:
    found = _types(*texts)
    count = np.bincount(found.of, minlength=len(found.consensus)).tolist()
    assert count == sorted(count, reverse=True)
    assert all(count)
    for one, text in enumerate(texts):
        assert found.of[one] == found.of[texts.index(text)]
        assert (found.distance[one] == 0) == (found.consensus[found.of[one]].tolist() == text)
