"""What the history of a series says of one metric: a check, its sentence, the chart of its runs."""

from collections.abc import Mapping
from datetime import UTC, datetime
from statistics import median
from typing import Any

from ...mining.change_points import ChangePoint, change_points, large_ones, without_bad_days
from ...mining.gate import RULES, Judgement
from ...mining.series import Entry, Series, Track
from ...mining.words import plural
from ..charts.history import MOST_RUNS, history
from ..report import Chart, Check, Column, Section, Table, Text
from ..units import show

__all__ = ["changes_of", "check", "date", "missing", "nothing", "section"]

LEAST_CHANGE = 0.01
"""Changes of the history below this share are not told: with many runs any change is significant."""

SQL = """
select content.run.name as run, content.unix_ns, content.run.values.{metric} as value
from read_json('history/runs/{series}/*.json')
where content.run.excluded is null
order by content.unix_ns
"""


def date(entry: Entry) -> str:
    """The day of a run, in UTC."""
    return datetime.fromtimestamp(entry.unix_ns / 1e9, UTC).strftime("%Y-%m-%d")


def check(series: Series, track: Track, where: str) -> Check:
    """The metric as a check: of the runs that show a change, else of the last.

    `where` is what a suggested command says of the archive (`store.archive_words`).
    """
    metric, limits = track.metric, track.judgement.limits
    low, high = _range(track, track.judgement)
    return Check(
        series.id,
        metric.name,
        metric.title,
        metric.unit,
        track.verdict,
        _sentence(series, track, where),
        _value(track),
        None if limits is None else limits.median,
        low,
        high,
    )


def missing(series: Series) -> Check:
    """The check of a series of which no run counts: what should have been measured was not."""
    last = series.last.run
    why = f"Inconclusive: no run of this series counts; the last, {last.name}: {last.excluded}."
    return nothing(series.id, why)


def nothing(series: str, why: str) -> Check:
    """The check of what should have had runs to judge, and has none: no format takes that for a pass."""
    return Check(series, "runs", "Runs to judge", "count", "inconclusive", why, 0)


def section(series: Series, track: Track, changes: Mapping[int, ChangePoint], where: str) -> Section:
    """The metric with the chart of its runs, and where E-divisive finds that it changed (`changes_of`)."""
    metric, sql = track.metric, SQL.format(metric=track.metric.name, series=series.id).strip()
    chart = Chart(
        f"{metric.title}, {plural(len(track.entries), 'run')} of series {series.id}",
        history(_rows(track, changes), title=metric.title, unit=metric.unit),
        "A mark for each run; the band: the limits it was judged by; dashed lines: where the history changed.",
        sql,
    )
    table = Table(
        "Changes of the history, by E-divisive",
        (
            Column("run", "From run"),
            Column("date", "Day"),
            Column("before_shown", "Median before"),
            Column("after_shown", "After"),
            Column("change", "Change", "share"),
            Column("probability", "By chance", "share"),
        ),
        _changes(track, changes),
        sql,
    )
    blocks = (Text(_limits_said(track)), chart, *((table,) if changes else ()))
    notes = (
        "Changes of the history, of 1 % at least, are found with all runs in view, but for lone bad days; what fails a "
        "check is the gate alone. The SQL reads the history's files, from the archive's folder.",
    )
    return Section(f"{series.id}-{metric.name}", metric.title, _sentence(series, track, where), blocks, notes)


def changes_of(track: Track) -> Mapping[int, ChangePoint]:
    """The changes of the history, by the place of the first run after each; of the runs that are drawn."""
    first = max(len(track.entries) - MOST_RUNS, 0)
    values = without_bad_days(track.values[first:])
    found = large_ones(values, change_points(values), LEAST_CHANGE)
    return {first + one.index: one for one in found}


def _value(track: Track) -> float:
    return median(track.value(entry) for entry in track.seen or track.entries[-1:])


def _range(track: Track, told: Judgement) -> tuple[float | None, float | None]:
    """The limits as they are shown: no metric is below 0, and no share above 1."""
    if told.limits is None:
        return None, None
    low, high = max(told.limits.low, 0.0), told.limits.high
    return low, min(high, 1.0) if track.metric.unit == "share" else high


def _sentence(series: Series, track: Track, where: str) -> str:
    """Why the verdict is what it is, and what to do next."""
    told = track.judgement
    if track.why is not None and track.verdict == "inconclusive":
        return f"Inconclusive: {track.why}. Run it again, then tracelode watch check{where}."
    if told.limits is None:
        there = RULES.least + 1 - told.needed
        return (
            f"Inconclusive: {there} of the {RULES.least + 1} runs that are needed. "
            f"{_again(told)} of this series (what it runs on: tracelode watch list{where})."
        )
    said = f"{_compared(track)}."
    if track.verdict == "inconclusive":
        return f"Inconclusive: {_undecided(track, told)} {said} {_again(told)}, then tracelode watch check{where}."
    if track.verdict == "neutral":
        return said
    first = track.seen[0]
    since = f"In {plural(len(track.seen), 'run')} since {first.run.name} ({date(first)})"
    if track.verdict == "improvement":
        return f"{since}: {said} After {RULES.least} runs it is the new baseline."
    return f"{since}: {said} If it is meant to be so: tracelode watch accept {series.id}{where} --reason WHY."


def _again(told: Judgement) -> str:
    return f"Make {plural(told.needed, 'more run')}"


def _undecided(track: Track, told: Judgement) -> str:
    seen = plural(told.streak, "run")
    if told.seen[-1] == len(track.told) - 1:
        return f"seen in {seen}, to be confirmed."
    return f"after {seen} beyond the limits, the last ones are within."


def _compared(track: Track) -> str:
    told, unit = track.judgement, track.metric.unit
    limits = told.limits
    assert limits is not None
    change = "" if told.effect is None else f" ({'+' if told.effect > 0 else ''}{show(told.effect, 'share')})"
    of = "pinned runs" if track.pinned else "runs"
    low, high = _range(track, told)
    return (
        f"{show(_value(track), unit)} against {show(limits.median, unit)}{change}, the median of {limits.count} {of}; "
        f"limits {show(low, unit)} to {show(high, unit)}"
    )


def _limits_said(track: Track) -> str:
    limits = track.judgement.limits
    if limits is None:
        return "No limits yet."
    least = f"{show(limits.detectable, 'share')}" if limits.median else show(limits.high, track.metric.unit)
    return (
        f"The smallest change that is found in four of five cases: {least}. Runs vary by "
        f"{show(limits.noise, 'share')} (from the median absolute deviation of {limits.count})."
    )


def _rows(track: Track, changes: Mapping[int, ChangePoint]) -> list[dict[str, Any]]:
    seen, baseline = {entry.key for entry in track.seen}, {entry.key for entry in track.baseline}
    before = len(track.entries) - len(track.told)
    rows: list[dict[str, Any]] = []
    for at, entry in enumerate(track.entries):
        low, high = _range(track, track.told[at - before]) if at >= before else (None, None)
        rows.append(
            {
                "run": entry.run.name,
                "date": date(entry),
                "value": track.value(entry),
                "role": "beyond the limits" if entry.key in seen else "baseline" if entry.key in baseline else "run",
                "low": low,
                "high": high,
                "changed": at in changes,
            }
        )
    return rows


def _changes(track: Track, changes: Mapping[int, ChangePoint]) -> list[dict[str, Any]]:
    edges = [0, *changes, len(track.entries)]
    rows: list[dict[str, Any]] = []
    for before, at, after in zip(edges, edges[1:-1], edges[2:], strict=False):
        one, other = (median(track.values[begin:stop]) for begin, stop in ((before, at), (at, after)))
        rows.append(
            {
                "run": track.entries[at].run.name,
                "date": date(track.entries[at]),
                "before": one,
                "after": other,
                "before_shown": show(one, track.metric.unit),
                "after_shown": show(other, track.metric.unit),
                "change": (other - one) / abs(one) if one else None,
                "probability": changes[at].probability,
            }
        )
    return rows
