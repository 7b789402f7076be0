"""What became of each headline metric, the run as the unit: effect, interval, verdict."""

from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from statistics import median
from typing import Any

from ...mining.gate import Rules
from ...mining.headline import HEADLINE, Metric
from ...mining.run_effect import Effect, effect_of
from ...mining.series import PART_FLOOR, PARTS
from ...mining.words import plural
from ..charts.comparison import run_values
from ..compared import Compared, Side
from ..report import Block, Chart, Check, Column, Section, Table, Verdict
from ..units import show

__all__ = ["Judged", "check", "judged", "section"]

RULE = {
    "interval": "95 % interval of the difference of the means (Welch)",
    "gate": "prediction interval of the base's runs, as tracelode watch",
}


@dataclass(frozen=True)
class Judged:
    """A metric that at least one side collected; `why` says why nothing is decided, where that is not the numbers."""

    metric: Metric
    effect: Effect | None
    counts: tuple[int, int]
    why: str = ""

    @property
    def verdict(self) -> Verdict:
        """What the check says."""
        return "inconclusive" if self.why or self.effect is None else self.effect.verdict


def judged(both: Compared, apart: Sequence[str], metrics: Collection[str], rules: Rules) -> list[Judged]:
    """The metrics asked for that were collected, judged; `apart` are the aspects that forbid it."""
    found: list[Judged] = []
    for one in HEADLINE:
        base, now = (side.values(one.name) for side in both.sides)
        if one.name not in metrics or not (base or now):
            continue
        own = replace(rules, floor=_floor(one, both))
        effect = effect_of(base, now, better=one.better, rules=own) if base and now else None
        found.append(Judged(one, effect, (len(base), len(now)), _why(both, apart, base, now)))
    return found


def _floor(metric: Metric, both: Compared) -> float:
    """The least change of a part of an iteration, as for a series."""
    whole = both.base.values("iteration_p50_ns") if metric.name in PARTS else ()
    return PART_FLOOR * median(whole) if whole else 0.0


def _why(both: Compared, apart: Sequence[str], base: Sequence[float], now: Sequence[float]) -> str:
    """Why nothing can be decided, whatever the numbers say."""
    if apart:
        return f"not comparable ({', '.join(apart)})"
    if both.shared:
        return f"the same run is on both sides ({both.shared[0].measured.name})"
    for side in both.sides:
        if not side.counts:
            return f"no run of the {side.name} counts ({side.runs[0].measured.excluded})"
    if not (base and now):
        return f"collected in the {'base' if base else 'candidate'} only"
    return ""


def check(one: Judged, series: str) -> Check:
    """The metric as a check."""
    effect = one.effect
    low, high = effect.limits if effect is not None and effect.limits is not None and not one.why else (None, None)
    return Check(
        series,
        one.metric.name,
        one.metric.title,
        one.metric.unit,
        one.verdict,
        _sentence(one),
        None if effect is None else effect.value,
        None if effect is None else effect.base,
        low,
        high,
    )


def _sentence(one: Judged) -> str:
    effect, unit = one.effect, one.metric.unit
    runs = f"{plural(one.counts[0], 'run')} against {one.counts[1]}"
    if effect is None:
        return f"{one.why}; {runs}."
    said = f"{show(effect.base, unit)} → {show(effect.value, unit)} ({_signed(effect.change)}"
    if effect.low is not None and effect.high is not None:
        said += f", 95 % interval {_signed(effect.low)} to {_signed(effect.high)}"
    said += f"; {runs})"
    return f"{said}. {_next(one, effect)}".strip()


def _next(one: Judged, effect: Effect) -> str:
    """Why nothing is decided, and what would decide it."""
    if one.why:
        return f"Inconclusive: {one.why}."
    if effect.verdict != "inconclusive":
        return ""
    if effect.needed:
        return f"Inconclusive: {plural(effect.needed, 'more run')} of the candidate may decide."
    if effect.low is None:
        return "Inconclusive: one run on a side says nothing of what differs from run to run; take 3 or more of each."
    return "Inconclusive: the runs vary too much; take more of each."


def _signed(share: float) -> str:
    text = show(share, "share")
    return f"+{text}" if share > 0 and not text.startswith("<") else text


def section(both: Compared, found: Sequence[Judged], rules: Rules) -> Section:
    """The section on all metrics that were judged."""
    key, heading = "metrics", "Headline metrics"
    missing = [one.title for one in HEADLINE if not any(side.values(one.name) for side in both.sides)]
    notes = [f"Not collected in any run that counts: {', '.join(missing)}."] if missing else []
    if not found:
        return Section(key, heading, "Nothing was measured on either side.", (), tuple(notes))
    rows = [_row(one) for one in found]
    notes += [f"How it is judged: {RULE[rule]}." for rule in sorted({row["rule"] for row in rows if row["rule"]})]
    notes.append(
        f"A change matters from {show(rules.effect, 'share')} on, of a part of an iteration also from "
        f"{show(PART_FLOOR, 'share')} of the iteration on. The run is the unit: iterations of one run are not "
        "independent, and an interval over them finds changes where there are none."
    )
    blocks: list[Block] = [Table("Effect of the candidate on each metric", COLUMNS, rows, "")]
    values = list(_values(both, found))
    if values:
        shows = (
            "A mark for each run: its value beside the median of the base's; the bar: the 95 % interval of the change."
        )
        blocks.append(Chart("Runs of both sides", run_values(values), shows, ""))
    return Section(key, heading, _said(found), tuple(blocks), tuple(notes))


COLUMNS = (
    Column("title", "Metric"),
    Column("verdict", "Verdict"),
    Column("base_shown", "Base"),
    Column("shown", "Candidate"),
    Column("change", "Change", "share"),
    Column("low", "95 % from", "share"),
    Column("high", "to", "share"),
    Column("base_runs", "Base runs", "count"),
    Column("runs", "Candidate runs", "count"),
)


def _row(one: Judged) -> dict[str, Any]:
    effect, unit = one.effect, one.metric.unit
    return {
        "metric": one.metric.name,
        "title": one.metric.title,
        "unit": unit,
        "verdict": one.verdict,
        "base": None if effect is None else effect.base,
        "value": None if effect is None else effect.value,
        "base_shown": show(None if effect is None else effect.base, unit),
        "shown": show(None if effect is None else effect.value, unit),
        "change": None if effect is None else effect.change,
        "low": None if effect is None else effect.low,
        "high": None if effect is None else effect.high,
        "rule": None if effect is None or one.why else effect.rule,
        "base_runs": one.counts[0],
        "runs": one.counts[1],
        "better": one.metric.better,
        "combined": one.metric.combined,
        "why": one.why or (_next(one, effect) if effect is not None else ""),
    }


def _values(both: Compared, found: Sequence[Judged]) -> Iterator[Mapping[str, Any]]:
    """The values of the runs as shares of the base's median, and the intervals."""
    for one in found:
        effect = one.effect
        if effect is None or not effect.base:
            continue
        for side in both.sides:
            yield from _of_side(one.metric, side, effect.base)
        if effect.low is not None and effect.high is not None:
            yield {"metric": one.metric.title, "side": "candidate", "low": effect.low, "high": effect.high}


def _of_side(metric: Metric, side: Side, base: float) -> Iterator[Mapping[str, Any]]:
    for run in side.counted:
        value = run.measured.values[metric.name]
        if value is not None:
            change = (value - base) / abs(base)
            yield {"metric": metric.title, "side": side.name, "run": run.label, "change": change}


def _said(found: Sequence[Judged]) -> str:
    """The metric with the largest change that was decided, or that none was."""
    decided = [one for one in found if one.verdict in ("regression", "improvement") and one.effect is not None]
    first = next((one for one in found if one.effect is not None), None)
    told = decided[:3] or ([first] if first else [])
    if not told:
        return "No metric was collected on both sides."
    return " ".join(f"{one.metric.title}: {_sentence(one)}" for one in told)
