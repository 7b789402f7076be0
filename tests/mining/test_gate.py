from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.mining.gate_simulation import WORLDS, simulated, table
from tracelode.mining.gate import RULES, Judgement, Rules, judge, judgements, limits

STEADY = [100, 101, 99, 100, 102, 98, 100, 101, 99, 100]
PAGE = Path(__file__).parents[2] / "docs" / "watch.md"


def test_limits_are_the_interval_of_the_median_or_the_least_effect() -> None:
    found = limits(STEADY)  # deviations 0 1 1 0 2 2 0 1 1 0: their median is 1, a deviation of 1.4826
    assert (found.count, found.median, found.noise) == (10, 100, pytest.approx(0.014826))
    assert (found.low, found.high) == (97, 103)  # 1.383 × 1.4826 × 1.076 = 2.2 is less than 3 %
    wide = limits([100 + 5 * (value - 100) for value in STEADY])
    assert wide.high - 100 == pytest.approx(1.3830 * 7.413 * (1 + np.pi / 20) ** 0.5, rel=1e-4)
    assert limits([0.0] * 8, Rules(floor=5)).high == 5
    assert wide.detectable == pytest.approx((wide.high - 100 + 1.6 * 7.413) / 100)


@pytest.mark.parametrize(
    ("last", "verdict", "streak", "needed"),
    [
        ([101], "neutral", 0, 0),
        ([110], "inconclusive", 1, 2),
        ([110, 111], "inconclusive", 2, 1),
        ([110, 111, 109], "regression", 3, 0),
        ([110, 100, 109], "inconclusive", 1, 2),
        ([110, 111, 90], "inconclusive", 1, 2),
        ([90, 91, 89], "improvement", 3, 0),
        ([102.9, 102.9, 102.9], "neutral", 0, 0),
        ([103.1, 103.1, 103.1], "inconclusive", 3, 1),  # not half a deviation (0.74) beyond 103
        ([103.1, 103.8, 103.8], "regression", 3, 0),
        ([110] * 40, "regression", 40, 0),
    ],
)
def test_only_what_is_seen_three_times_is_a_change_and_it_stays_one(
    last: list[float], verdict: str, streak: int, needed: int
) -> None:
    found = judge(STEADY + last)
    assert (found.verdict, found.streak, found.needed) == (verdict, streak, needed)


def test_a_change_is_forgotten_only_after_three_runs_without_it() -> None:
    slow = [110, 111, 109]
    told = judgements([*STEADY, *slow, 100, 110, 100, 101, 99, 100])[len(STEADY) :]
    assert [(one.verdict, one.needed) for one in told] == [
        ("inconclusive", 2), ("inconclusive", 1), ("regression", 0), ("inconclusive", 2), ("regression", 0),
        ("inconclusive", 2), ("inconclusive", 1), ("neutral", 0), ("neutral", 0),
    ]  # fmt: skip
    assert told[-1].limits == limits([*STEADY, 100, 101, 99])  # what was slow belongs to no baseline
    assert told[-1].baseline == (*range(10), 15, 16, 17)
    assert told[2].seen == (10, 11, 12)


def test_a_change_to_the_other_side_is_told_when_the_first_ends() -> None:
    assert judge([*STEADY, 110, 110, 110, 90, 90, 90]).verdict == "improvement"


def test_what_was_won_is_guarded() -> None:
    won = [*STEADY, *[80.0] * 8]
    assert judge(won).verdict == "improvement"
    assert judge([*won, 80]) == Judgement("neutral", limits([80.0] * 8), 0.0, (), 0, tuple(range(10, 18)))
    assert judge([*won, 88, 88, 88]).verdict == "regression"
    assert judge([*STEADY, *[110.0] * 30]).verdict == "regression"  # what was lost is never the new baseline


def test_where_more_is_better_less_is_the_regression() -> None:
    assert judge([*STEADY, 90, 90, 90], better="higher").verdict == "regression"
    assert judge([*STEADY, 110, 110, 110], better="higher").verdict == "improvement"


def test_too_few_runs_are_never_a_pass() -> None:
    assert judge([]) == Judgement("inconclusive", None, None, (), 9)
    assert judge(STEADY[:7]) == Judgement("inconclusive", None, None, (), 2)
    assert judge(STEADY[:8]) == Judgement("inconclusive", None, None, (), 1)
    assert judge(STEADY[:9]).verdict == "neutral"


def test_the_effect_is_that_of_the_runs_that_show_it() -> None:
    assert judge([*STEADY, 110, 111, 109]).effect == pytest.approx(0.10)
    assert judge([0.0] * 10).effect is None
    assert judge([0.0] * 10 + [5, 5, 5]).verdict == "regression"


def test_the_baseline_is_the_last_runs_before_the_change() -> None:
    found = judge([500.0] * 30 + [100.0] * 20 + [110, 110, 110], rules=Rules(window=20))
    assert found.limits and (found.limits.count, found.limits.median) == (20, 100)


def test_a_pinned_baseline_sees_what_creeps() -> None:
    creeping = [100 * 1.002**at for at in range(40)]
    assert judge(STEADY + creeping).verdict == "neutral"
    assert judge(creeping, pinned=STEADY).verdict == "regression"
    assert judge([100.0], pinned=STEADY) == Judgement("neutral", limits(STEADY), 0.0, (), 0)


@given(st.lists(st.floats(1, 2), max_size=40), st.integers(0, 5))
def test_what_was_told_does_not_depend_on_what_comes(values: list[float], more: int) -> None:
    assert judgements(values) == judgements([*values, *[3.0] * more])[: len(values)]


@given(st.lists(st.integers(50, 150), min_size=9, max_size=40), st.sampled_from([0.25, 4.0]))
def test_the_unit_does_not_matter(values: list[int], unit: float) -> None:
    one, other = judge(values), judge([value * unit for value in values])
    assert (one.verdict, one.streak, one.needed, one.effect) == (
        other.verdict, other.streak, other.needed, pytest.approx(other.effect),
    )  # fmt: skip


@pytest.mark.exhaustive
def test_the_gate_hardly_ever_fails_for_nothing_and_finds_what_matters() -> None:
    """Share of failures without a change, with 5 % and with 10 %, and the runs that a check without a change takes."""
    text, cells = table()
    for world in WORLDS:
        assert cells[world, 0.0].failed <= 0.002
        assert cells[world, 0.0].runs <= 1.2
        assert cells[world, 0.05].failed >= 0.80
        assert cells[world, 0.10].failed >= 0.98
    assert text in PAGE.read_text(), f"docs/watch.md does not show what was simulated:\n{text}"


@pytest.mark.exhaustive
def test_in_a_long_history_it_is_no_more_often_wrong() -> None:
    found = simulated("two kinds of nodes", 0.0, trials=12_000, before=3 * RULES.window)
    assert found.failed <= 0.002
    assert found.runs <= 1.2


@pytest.mark.exhaustive
def test_the_detectable_change_is_found_in_four_of_five_cases() -> None:
    steady = np.random.default_rng(3).normal(1, 0.01, 2_000)
    detectable = float(np.median([limits(part).detectable for part in steady.reshape(100, 20).tolist()]))
    assert 0.040 <= detectable <= 0.055
    assert 0.75 <= simulated("normal", detectable, trials=2_000).failed <= 0.90
