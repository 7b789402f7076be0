from collections.abc import Callable
from math import inf
from typing import Any

import numpy as np
import pytest

from tracelode.mining.gate import Rules
from tracelode.mining.run_effect import effect_of, probability

BASE = [100.0, 101.0, 99.0]


def test_a_change_is_large_and_its_interval_does_not_hold_zero() -> None:
    # Variances 1 and 1: the error is (2/3)^0.5 = 0.8165, with 4 degrees of freedom, so half the interval is 2.2670.
    found = effect_of(BASE, [110.0, 111.0, 109.0])
    assert (found.verdict, found.base, found.value, found.change) == ("regression", 100, 110, 0.1)
    assert (found.low, found.high) == (pytest.approx(0.07733, abs=1e-5), pytest.approx(0.12267, abs=1e-5))
    assert found.limits == (97, 103)  # the least change is larger than half the interval
    assert effect_of(BASE, [90.0, 91.0, 89.0]).verdict == "improvement"
    assert effect_of(BASE, [90.0, 91.0, 89.0], better="higher").verdict == "regression"


@pytest.mark.parametrize(
    ("runs", "verdict"),
    [
        ([100.2, 100.0, 100.1], "neutral"),
        ([102.0, 103.0, 101.0], "inconclusive"),  # less than 3 %, and the interval reaches beyond
        ([110.0, 150.0, 90.0], "inconclusive"),  # the interval holds zero
        ([110.0], "inconclusive"),
        ([110.0, 110.0], "regression"),
    ],
)
def test_all_else_is_neutral_only_where_the_interval_says_so(runs: list[float], verdict: str) -> None:
    assert effect_of(BASE, runs).verdict == verdict


def test_below_the_floor_nothing_is_a_change() -> None:
    small = [4.0, 4.1, 3.9], [5.0, 5.1, 4.9]
    assert effect_of(*small).verdict == "regression"
    found = effect_of(*small, rules=Rules(floor=10))
    assert (found.verdict, found.limits) == ("neutral", (-6, 14))


def test_one_run_on_a_side_has_no_interval_and_proves_nothing() -> None:
    found = effect_of([100.0], [200.0])
    assert (found.verdict, found.change, found.low, found.limits) == ("inconclusive", 1.0, None, None)


def test_counts_that_never_vary_differ_or_do_not() -> None:
    assert effect_of([8.0, 8.0], [9.0, 9.0]).verdict == "regression"
    assert effect_of([8.0, 8.0], [8.0, 8.0]).verdict == "neutral"


def test_something_of_nothing_is_infinitely_more() -> None:
    found = effect_of([0.0, 0.0], [5.0, 5.0])
    assert (found.verdict, found.change) == ("regression", inf)
    assert effect_of([0.0, 0.0], [0.0, 0.0]).change == 0


def test_with_eight_runs_of_the_base_the_gate_judges() -> None:
    base = [100.0, 101.0, 99.0, 100.0, 102.0, 98.0, 100.0, 101.0]
    found = effect_of(base, [110.0, 111.0, 109.0])
    assert (found.verdict, found.rule) == ("regression", "gate")
    once = effect_of(base, [110.0])
    assert (once.verdict, once.needed) == ("inconclusive", 2)
    assert effect_of(base, [100.5]).verdict == "neutral"


def test_slow_runs_are_not_neutral_because_the_last_one_was_as_ever() -> None:
    base = [100.0, 101.0, 99.0, 100.0, 102.0, 98.0, 100.0, 101.0]
    found = effect_of(base, [110.0, 110.0, 100.0])
    assert (found.verdict, found.change, found.needed) == ("inconclusive", pytest.approx(0.1), 1)
    assert effect_of(base, [110.0, 100.0, 100.0]).verdict == "neutral"


def test_a_base_that_changed_at_its_end_judges_as_a_whole() -> None:
    base = [100.0, 101.0, 99.0, 100.0, 102.0, 98.0, 100.0, 101.0, 110.0, 110.0, 110.0]
    assert effect_of(base, [100.0]).verdict == "neutral"


def test_probabilities_are_those_of_welch() -> None:
    # t = 2 / 0.8165 = 2.4495 with 4 degrees of freedom.
    assert probability(BASE, [102.0, 103.0, 101.0]) == pytest.approx(0.07048, abs=1e-5)
    assert (probability([1.0, 1.0], [1.0, 1.0]), probability([1.0, 1.0], [2.0, 2.0])) == (1, 0)
    assert probability([1.0], [2.0, 3.0]) is None


WORLDS: dict[str, Callable[[Any, tuple[int, int]], Any]] = {
    "normal": lambda random, shape: random.normal(0, 0.01, shape),
    "heavy tails": lambda random, shape: random.standard_t(3, shape) * 0.01 / 3**0.5,
    "bad days": lambda random, shape: (
        random.normal(0, 0.01, shape) + (random.random(shape) < 0.03) * random.uniform(0.1, 0.5, shape)
    ),
    "two kinds of nodes": lambda random, shape: random.normal(0, 0.01, shape) + 0.03 * (random.random(shape) < 0.2),
}
"""The worlds of docs/compare.md: runs that vary by 1 %."""


@pytest.mark.exhaustive
@pytest.mark.parametrize("world", WORLDS)
@pytest.mark.parametrize("count", [3, 5])
def test_equal_runs_are_hardly_ever_told_worse_and_slower_ones_mostly_are(world: str, count: int) -> None:
    random, shape = np.random.default_rng(20261130), (500, count)
    told: dict[float, float] = {}
    for effect in (0.0, 0.10):
        base = 1 + WORLDS[world](random, shape)
        runs = (1 + WORLDS[world](random, shape)) * (1 + effect)
        verdicts = [effect_of(*pair).verdict for pair in zip(base.tolist(), runs.tolist(), strict=True)]
        told[effect] = verdicts.count("regression") / len(verdicts)
    assert told[0.0] <= 0.01
    assert told[0.10] >= (0.72 if world == "bad days" else 0.95)
