"""What a metric of some runs says against that of others: the run is the unit, never the iteration.

Iterations of one run are not independent, and runs differ among themselves: an interval over iterations finds a change
where there is none. So each run is one value, and one run on a side proves nothing.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from math import inf, sqrt
from statistics import mean, median, variance

from .gate import RULES, Better, Rules, Verdict, judge
from .student_t import cumulative, quantile

__all__ = ["Effect", "effect_of", "probability"]

LEVEL = 0.95
"""How sure the interval is."""


@dataclass(frozen=True)
class Effect:
    """What became of a metric, all but the medians relative to that of the base.

    `low` and `high` bound the interval of the change; None without one, as where a side has one run. `rule` is how it
    was judged: `interval` (Welch's, at 95 %) or `gate`, with the limits of `mining.gate`. Beyond `limits`, which are in
    the metric's unit, lies what is a change. `needed` is how many further runs of the candidate may decide.
    """

    verdict: Verdict
    base: float
    value: float
    change: float
    low: float | None
    high: float | None
    rule: str
    limits: tuple[float, float] | None
    needed: int = 0


def effect_of(
    base: Sequence[float], runs: Sequence[float], *, better: Better = "lower", rules: Rules = RULES
) -> Effect:
    """Judges the values of some runs against those of the base, both in order of time and of one run at least.

    With as many runs of the base as a series needs (`rules.least`) they are the gate's pinned baseline; where the
    median lies beyond its limits it is not neutral, be the last run within. With fewer, a change is one of at least
    `rules.effect` and `rules.floor` whose interval does not hold zero; none is one whose interval lies within these;
    all else is inconclusive.
    """
    before, now = median(base), median(runs)
    change = _relative(now - before, before)
    interval = _interval(base, runs)
    low, high = (None, None) if interval is None else (_relative(side, before) for side in interval)
    if len(base) >= rules.least:
        told = judge(runs, better=better, rules=rules, pinned=base[-rules.window :])
        assert told.limits is not None  # a pinned baseline sets them
        verdict, needed = told.verdict, told.needed
        if verdict == "neutral" and told.limits.side(now):  # the last run alone is as ever: most of them are not
            verdict, needed = "inconclusive", 1
        return Effect(verdict, before, now, change, low, high, "gate", (told.limits.low, told.limits.high), needed)
    if interval is None:
        return Effect("inconclusive", before, now, change, None, None, "interval", None)
    least = max(rules.effect * abs(before), rules.floor)
    half = max((interval[1] - interval[0]) / 2, least)
    verdict = _verdict(now - before, interval, half, least, better)
    return Effect(verdict, before, now, change, low, high, "interval", (before - half, before + half))


def _verdict(delta: float, interval: tuple[float, float], half: float, least: float, better: Better) -> Verdict:
    """What a difference says: one beyond `half`, whose interval does not hold zero, is a change."""
    low, high = interval
    if abs(delta) >= half and (low > 0 or high < 0):
        return "regression" if (delta > 0) == (better == "lower") else "improvement"
    return "neutral" if -least <= low and high <= least else "inconclusive"


def probability(base: Sequence[float], runs: Sequence[float]) -> float | None:
    """How likely chance alone makes the means differ as much (Welch's test, both sides); None with one run on a side.

    Where no run differs from another of its side it is 0 or 1.
    """
    if min(len(base), len(runs)) < 2:
        return None
    delta, error, degrees = _welch(base, runs)
    if not error:
        return float(delta == 0)
    return 2 * cumulative(-abs(delta) / error, degrees)


def _interval(base: Sequence[float], runs: Sequence[float]) -> tuple[float, float] | None:
    """Where the difference of the means lies; None with one run on a side."""
    if min(len(base), len(runs)) < 2:
        return None
    delta, error, degrees = _welch(base, runs)
    half = quantile(0.5 + LEVEL / 2, degrees) * error if error else 0.0
    return delta - half, delta + half


def _welch(base: Sequence[float], runs: Sequence[float]) -> tuple[float, float, float]:
    """The difference of the means, its standard error, and the degrees of freedom (Welch 1947; Satterthwaite 1946)."""
    parts = [variance(side) / len(side) for side in (base, runs)]
    error = sqrt(sum(parts))
    below = sum(part**2 / (len(side) - 1) for part, side in zip(parts, (base, runs), strict=True))
    degrees = sum(parts) ** 2 / below if below else 1.0
    return mean(runs) - mean(base), error, degrees


def _relative(difference: float, base: float) -> float:
    """The difference as a share of the base; infinite where something came of nothing."""
    if not base:
        return 0.0 if not difference else inf if difference > 0 else -inf
    return difference / abs(base)
