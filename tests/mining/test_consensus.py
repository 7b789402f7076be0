import numpy as np
import pytest

from data.generator.planted import Training, plant
from tracelode.mining.consensus import consensus
from tracelode.mining.contents import Texts, equal_groups

USUAL = [7, 1, 2, 3, 3, 4, 8]


def _agreed(reference: list[int], texts: list[list[int]], weight: list[int] | None = None) -> list[int]:
    stop = np.cumsum([len(text) for text in texts], dtype=np.int64)
    symbols = np.array([symbol for text in texts for symbol in text], np.int32)
    given = Texts(symbols, stop - np.array([len(text) for text in texts], np.int64), stop)
    return consensus(np.array(reference, np.int32), given, np.array(weight or [1] * len(texts)), 9).tolist()


def test_a_column_becomes_what_most_have_there() -> None:
    assert _agreed([7, 1, 9, 3, 3, 4, 8], [USUAL, USUAL, [7, 1, 9, 3, 3, 4, 8]]) == USUAL


def test_a_column_that_most_lack_goes() -> None:
    assert _agreed([7, 1, 2, 9, 3, 3, 4, 8], [USUAL, USUAL, [7, 1, 2, 9, 3, 3, 4, 8]]) == USUAL


def test_what_most_have_between_columns_is_inserted() -> None:
    assert _agreed([7, 1, 4, 8], [USUAL, USUAL, [7, 1, 4, 8]]) == USUAL


def test_weights_decide() -> None:
    assert _agreed(USUAL, [USUAL, [7, 1, 2, 3, 4, 8]], [2, 3]) == [7, 1, 2, 3, 4, 8]


def test_of_equals_the_present_symbol_stays_and_then_the_smallest_wins() -> None:
    assert _agreed([1, 2, 3], [[1, 2, 3], [1, 9, 3]]) == [1, 2, 3]
    assert _agreed([1, 2, 3], [[1, 9, 3], [1, 8, 3], [1, 2, 3], [1, 9, 3], [1, 8, 3]]) == [1, 8, 3]


def test_without_texts_the_reference_stays() -> None:
    assert _agreed(USUAL, []) == USUAL


@pytest.mark.parametrize("seed", range(4))
def test_the_planted_iteration_comes_out_of_edited_ones(seed: int) -> None:
    for noise in (0.002, 0.01, 0.02, 0.03):
        planted = plant(Training(iterations=120, noise=noise, seed=seed))
        texts = Texts(planted.symbols, planted.starts, planted.stops)
        head = int(np.argmax(np.bincount(equal_groups(texts))))
        agreed = consensus(texts[head], texts, np.ones(len(texts), np.int64), 400)
        assert agreed.tolist() == planted.consensus.tolist()
