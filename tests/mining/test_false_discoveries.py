import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tracelode.mining.false_discoveries import discoveries


def test_the_example_of_the_paper() -> None:
    # Benjamini and Hochberg 1995, section 3.2: fifteen probabilities, of which the procedure rejects four at 5 %.
    probabilities = [
        0.0001, 0.0004, 0.0019, 0.0095, 0.0201, 0.0278, 0.0298, 0.0344, 0.0459, 0.3240, 0.4262, 0.5719, 0.6528, 0.7590,
        1.0000,
    ]  # fmt: skip
    assert discoveries(probabilities) == [True] * 4 + [False] * 11


def test_one_small_enough_takes_larger_ones_below_it_along() -> None:
    assert discoveries([0.04, 0.03, 0.9]) == [False, False, False]  # 0.03 > 0.05/3, 0.04 > 0.1/3
    assert discoveries([0.033, 0.03, 0.9]) == [True, True, False]
    assert discoveries([]) == []


@given(st.lists(st.floats(0, 1), max_size=30))
def test_the_order_does_not_matter_and_less_likely_ones_are_told_first(probabilities: list[float]) -> None:
    told = discoveries(probabilities)
    kept = [one for one, is_told in zip(probabilities, told, strict=True) if is_told]
    left = [one for one, is_told in zip(probabilities, told, strict=True) if not is_told]
    assert not kept or not left or max(kept) < min(left)
    assert discoveries(sorted(probabilities)) == sorted(told, reverse=True)


def test_few_of_those_told_are_chance() -> None:
    random = np.random.default_rng(5)
    shares = []
    for _ in range(400):
        chance, real = random.random(90), random.random(10) * 1e-4
        told = discoveries([*chance, *real])
        shares.append(sum(told[:90]) / max(sum(told), 1))
    assert float(np.mean(shares)) == pytest.approx(0.045, abs=0.01)  # share × 90 / 100
