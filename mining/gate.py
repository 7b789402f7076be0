"""Whether the last runs of a series differ from those before them, so that a schedule may fail on it.

A run is one value of a metric. One run beyond the limits proves nothing, whatever the test: iterations of a run are not
independent, machines have bad days. So a change is told only where it is outside the prediction interval of the runs
before it, large enough to matter, and seen again in further runs: with that, an interval that one run in ten leaves
suffices. And it is as hard to forget: only as many runs within the limits end it. How often the whole is wrong is
simulated in the tests, through `judgements`; docs/watch.md shows it.
"""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import cache
from math import pi, sqrt
from typing import Literal

from .slow import ROBUST
from .student_t import quantile

__all__ = ["RULES", "Better", "Judgement", "Limits", "Rules", "Verdict", "judge", "judgements", "limits"]

Better = Literal["lower", "higher"]
Verdict = Literal["neutral", "regression", "improvement", "inconclusive"]

MARGIN = 0.5
"""How far beyond the limits the median of the runs that show a change is to be, in deviations of a run: most of
its own error. Without it one node in five that is 3 % slower fails half as many checks again for nothing."""
SURE = 1.6
"""A change that lies so many standard deviations beyond the limits is found in four of five cases; simulated."""


@dataclass(frozen=True)
class Rules:
    """What makes a change.

    `window` runs before it at most and `least` of them at least predict the next one, with the error `alpha` on each
    side; `effect` is the least change, relative to their median, and `floor` in the unit of the values; it is to be
    seen in so many `runs` on end.
    """

    window: int = 20
    least: int = 8
    alpha: float = 0.1
    effect: float = 0.03
    runs: int = 3
    floor: float = 0.0


RULES = Rules()


@dataclass(frozen=True)
class Limits:
    """What `count` runs predict of the next one: what lies between `low` and `high` is no change.

    Relative to the median: `noise`, the standard deviation of a run, robustly; and `detectable`, the smallest change
    that is found in four of five cases, where runs vary normally.
    """

    count: int
    median: float
    low: float
    high: float
    noise: float
    detectable: float

    def side(self, value: float) -> int:
        """1 for a value above the limits, -1 for one below, else 0."""
        return (value > self.high) - (value < self.low)


@dataclass(frozen=True)
class Judgement:
    """What the runs up to one say; `effect` is relative to the median of the baseline, null without one.

    `seen` are the places of the values that show a change, or may show one, `baseline` those that set the limits (none
    where they are pinned); `needed` is how many further runs would decide.
    """

    verdict: Verdict
    limits: Limits | None
    effect: float | None
    seen: tuple[int, ...]
    needed: int
    baseline: tuple[int, ...] = ()

    @property
    def streak(self) -> int:
        """How many runs show the change."""
        return len(self.seen)


def limits(baseline: Sequence[float], rules: Rules = RULES) -> Limits:
    """The limits that a baseline sets: its median and the prediction interval around it, but no closer than `effect`.

    The interval is Student's for one further value, each side with the error `alpha`; with the median for the mean and,
    for the standard deviation, what the median absolute deviation shows, so that no bad day widens it.
    """
    count = len(baseline)
    median = _median(baseline)
    spread = ROBUST * _median([abs(value - median) for value in baseline])
    half = max(_factor(rules.alpha, count) * spread, rules.effect * abs(median), rules.floor)
    scale = abs(median) or 1.0
    return Limits(count, median, median - half, median + half, spread / scale, (half + SURE * spread) / scale)


def judge(
    values: Sequence[float], *, better: Better = "lower", rules: Rules = RULES, pinned: Sequence[float] | None = None
) -> Judgement:
    """What the last of the values says, see `judgements`; without values nothing is known."""
    told = judgements(values, better=better, rules=rules, pinned=pinned)
    return told[-1] if told else Judgement("inconclusive", None, None, (), rules.least + 1)


def judgements(
    values: Iterable[float], *, better: Better = "lower", rules: Rules = RULES, pinned: Sequence[float] | None = None
) -> list[Judgement]:
    """What was to say after each of the values, in order of time, of comparable runs since an accepted change.

    A change begins with the first of `runs` on end beyond the limits of the runs before it, on the same side. It ends
    when as many on end are within, and is inconclusive until then; what it covered then belongs to no baseline. An
    improvement that has lasted for `least` runs is the new baseline, so that what was won is guarded; a regression
    stays one. Where a baseline is `pinned`, it alone sets the limits of all values.
    """
    scan = _Scan(better, rules, None if pinned is None else limits(pinned, rules))
    return [scan.next(float(value)) for value in values]


class _Scan:
    """The state of a series after each run: which runs set limits, and which may be a change, by their places."""

    def __init__(self, better: Better, rules: Rules, pinned: Limits | None) -> None:
        self._better, self._rules, self._pinned = better, rules, pinned
        self._values: list[float] = []
        self._level: list[int] = []
        self._forget()

    def _forget(self) -> None:
        self._limits: Limits | None = None  # those that the change is beyond
        self._side = 0
        self._seen: list[int] = []
        self._confirmed = False
        self._back: list[int] = []  # runs on end within the limits, since the last that was seen

    def next(self, value: float) -> Judgement:
        self._values.append(value)
        place = len(self._values) - 1
        if self._limits is None or not self._confirmed:
            return self._unsure(place)
        if self._limits.side(value) != self._side:
            return self._within(place, self._limits)
        self._seen += [*self._back, place]
        self._back = []
        told = self._told(self._limits)
        if told.verdict == "improvement" and len(self._seen) >= self._rules.least and self._pinned is None:
            self._level = self._seen
            self._forget()
        return told

    def _within(self, place: int, before: Limits) -> Judgement:
        """Takes a run that does not show the change that was told."""
        self._back.append(place)
        missing = self._rules.runs - len(self._back)
        if missing:
            return self._judgement("inconclusive", before, self._values[place], missing)
        back = self._back
        self._forget()
        return [self._unsure(one) for one in back][-1]

    def _unsure(self, place: int) -> Judgement:
        """Takes a run while no change is told."""
        value = self._values[place]
        if self._limits is not None and self._limits.side(value) != self._side:
            self._level += self._seen
            self._forget()
        if self._limits is None:
            before = self._pinned or self._before()
            if before is None:
                self._level.append(place)
                return Judgement("inconclusive", None, None, (), self._rules.least + 1 - len(self._level))
            if not before.side(value):
                told = self._judgement("neutral", before, value, 0)
                self._level.append(place)
                return told
            self._limits, self._side = before, before.side(value)
        self._seen.append(place)
        return self._told(self._limits)

    def _before(self) -> Limits | None:
        baseline = [self._values[place] for place in self._window()]
        return limits(baseline, self._rules) if len(baseline) >= self._rules.least else None

    def _window(self) -> list[int]:
        return self._level[-self._rules.window :]

    def _told(self, before: Limits) -> Judgement:
        middle = _median([self._values[place] for place in self._seen])
        nearer = middle - self._side * MARGIN * before.noise * (abs(before.median) or 1.0)
        missing = max(self._rules.runs - len(self._seen), 1)
        self._confirmed |= len(self._seen) >= self._rules.runs and before.side(nearer) == self._side
        if not self._confirmed:
            return self._judgement("inconclusive", before, middle, missing)
        worse = (self._side > 0) == (self._better == "lower")
        return self._judgement("regression" if worse else "improvement", before, middle, 0)

    def _judgement(self, verdict: Verdict, before: Limits, value: float, needed: int) -> Judgement:
        baseline = () if self._pinned else tuple(self._window())
        return Judgement(verdict, before, _effect(value, before), tuple(self._seen), needed, baseline)


def _effect(value: float, before: Limits) -> float | None:
    return (value - before.median) / abs(before.median) if before.median else None


def _median(values: Sequence[float]) -> float:
    ordered = sorted(values)
    middle = len(ordered) // 2
    return ordered[middle] if len(ordered) % 2 else (ordered[middle - 1] + ordered[middle]) / 2


@cache
def _factor(alpha: float, count: int) -> float:
    """Half of the interval in standard deviations; the median of n normal values varies by pi / 2n of one of them."""
    return quantile(1 - alpha, count - 1) * sqrt(1 + pi / (2 * count))
