"""What the history says of whole series: what they can tell, kernels behind a change, decisions, runs left out."""

from collections.abc import Iterable, Mapping, Sequence
from datetime import UTC, datetime
from statistics import median
from typing import Any

from ...mining.kernel_changes import kernel_changes
from ...mining.measured_run import MOST_KERNELS
from ...mining.series import Accept, Entry, Series, Track
from ...mining.words import plural
from ..charts.glance import glance
from ..report import Chart, Column, Section, Table
from ..units import show
from .watched_metric import date

__all__ = ["at_a_glance", "decided", "excluded", "kernels", "rows_of", "series_table"]

KERNELS = """
select run, unix_ns, kernel.key as kernel, kernel.value as ns
from (
    select
        content.run.name as run,
        content.unix_ns,
        unnest(map_entries(content.run.kernels)) as kernel
    from read_json(
        'history/runs/{series}/*.json',
        columns = {{content: 'struct(run struct("name" varchar, kernels map(varchar, double)), unix_ns bigint)'}}
    )
)
order by all
"""


def rows_of(series: Series) -> list[dict[str, Any]]:
    """A row for each metric of a series: runs, limits, the smallest change that is found, the verdict."""
    return [_row(series, track) for track in series.tracks]


def _row(series: Series, track: Track) -> dict[str, Any]:
    limits = track.judgement.limits
    return {
        "series": series.id,
        "metric": track.metric.name,
        "runs": len(track.entries),
        "since_decision": len(track.told),
        "median": None if limits is None else limits.median,
        "unit": track.metric.unit,
        "noise": None if limits is None else limits.noise,
        "detectable": None if limits is None or not limits.median else limits.detectable,
        "verdict": "replaced" if series.replaced_by else track.verdict,
        "last_run": track.entries[-1].run.name,
        "last_day": date(track.entries[-1]),
        "pinned": series.is_pinned(track.metric.name),
    }


def series_table(found: Sequence[Series]) -> Section:
    """Which series were judged, and the smallest change that each can tell."""
    rows = [row for series in found for row in rows_of(series)]
    columns = (
        Column("series", "Series", "id"),
        Column("metric", "Metric"),
        Column("verdict", "Verdict"),
        Column("runs", "Runs", "count"),
        Column("noise", "Runs vary by", "share"),
        Column("detectable", "Smallest change found", "share"),
        Column("last_run", "Last run"),
        Column("last_day", "Day"),
    )
    sentence = f"{len(found)} series, {plural(len(rows), 'metric')}."
    block = Table("Series and what they can tell", columns, rows, "", 100)
    notes = (
        "The smallest change found: in four of five cases, where runs vary normally. Of parts of an iteration (idle "
        "time, exposed communication, stall) a change counts from 1 % of the iteration on.",
    )
    return Section("series", "Series", sentence, (block,), notes)


def at_a_glance(series: Series, changes: Mapping[str, Iterable[int]]) -> Section | None:
    """All metrics of a series on one scale, with where the history of some of them changed, by metric and place.

    None where there is nothing to draw.
    """
    number = {entry.key: at for at, entry in enumerate(series.entries, start=1)}
    rows = [
        {
            "metric": track.metric.title,
            "verdict": track.verdict,
            "said": _said(track),
            "judged": track.judgement.limits is not None,
            "runs": [(number[entry.key], _change(track, track.value(entry))) for entry in track.entries],
            "changes": [number[track.entries[at].key] for at in changes.get(track.metric.name, ())],
        }
        for track in series.tracks
    ]
    if not rows:
        return None
    shows = (
        "How far each run lies from the median of the baseline, up and down to 10 %; dashed: where the history changed."
    )
    chart = Chart(f"Metrics of series {series.id}", glance(rows), shows, "")
    sentence = f"{plural(len(rows), 'metric')} over {plural(len(series.entries), 'run')}."
    return Section(f"{series.id}-glance", f"Series {series.id} at a glance", sentence, (chart,))


def _change(track: Track, value: float) -> float:
    """The value's distance from the median of the baseline, or of all where there is none, as a share of it."""
    limits = track.judgement.limits
    middle = median(track.values) if limits is None else limits.median
    return (value - middle) / abs(middle) if middle else float(value > 0)


def _said(track: Track) -> str:
    effect = track.judgement.effect
    return track.verdict if effect is None else f"{track.verdict}, {'+' if effect > 0 else ''}{show(effect, 'share')}"


def kernels(series: Series, track: Track) -> Section | None:
    """The kernels that explain a change of a metric; None where too few runs show it, or there are too few before."""
    before, now = track.baseline, track.seen
    rows = kernel_changes(*_times(before, now))
    if not rows:
        return None
    told = [row for row in rows if row["changed"]]
    columns = (
        Column("name", "Kernel"),
        Column("base_ns", "Before", "ns"),
        Column("ns", "Now", "ns"),
        Column("delta_ns", "Difference", "ns"),
        Column("change", "Change", "share"),
        Column("p", "By chance", "share"),
    )
    most = f"; the most: {told[0]['name']}" if told else ""
    sentence = (
        f"{len(told)} of {plural(len(rows), 'kernel')} differ by more than chance between {plural(len(before), 'run')} "
        f"before and {len(now)} since{most}."
    )
    notes = ("Explains, and fails no check: of the kernels told, one in twenty is chance (Benjamini and Hochberg).",)
    block = Table("Time of kernels per iteration", columns, told, KERNELS.format(series=series.id).strip())
    heading = f"Kernels behind the change of series {series.id}"
    return Section(f"{series.id}-kernels", heading, sentence, (block,) if told else (), notes)


def _times(*sides: Sequence[Entry]) -> list[list[Mapping[str, float]]]:
    """The times of kernels of each run, but of those that some run may have had below what a history keeps."""
    kept = [entry.run.kernels for side in sides for entry in side if len(entry.run.kernels) >= MOST_KERNELS]
    return [
        [{name: ns for name, ns in entry.run.kernels.items() if all(name in one for one in kept)} for entry in side]
        for side in sides
    ]


def decided(found: Iterable[Series]) -> Section | None:
    """What was accepted and pinned, the latest first; None where nothing was."""
    rows: list[dict[str, Any]] = [
        {
            "day": datetime.fromtimestamp(one.unix_ns / 1e9, UTC).strftime("%Y-%m-%d %H:%M"),
            "series": series.id,
            "what": "accepted" if isinstance(one, Accept) else "pinned" if any(one.runs.values()) else "unpinned",
            "metrics": ", ".join(one.since if isinstance(one, Accept) else one.runs),
            "reason": one.reason,
            "unix_ns": one.unix_ns,
        }
        for series in found
        for one in series.decisions
    ]
    if not rows:
        return None
    rows.sort(key=lambda row: -row["unix_ns"])
    columns = (
        Column("day", "Time (UTC)"),
        Column("series", "Series", "id"),
        Column("what", "What"),
        Column("metrics", "Metrics"),
        Column("reason", "Reason"),
    )
    last = ", ".join(filter(None, (rows[0]["what"], rows[0]["reason"].strip())))
    sentence = f"{plural(len(rows), 'decision')}; the last: {last}."
    return Section("decisions", "Decisions", sentence, (Table("Decisions", columns, rows, ""),))


def excluded(found: Iterable[Series]) -> Section | None:
    """The runs that count in no series, and why; None where all count."""
    rows = [
        {"run": entry.run.name, "day": date(entry), "series": series.id, "why": entry.run.excluded}
        for series in found
        for entry in series.excluded
    ]
    if not rows:
        return None
    columns = (
        Column("run", "Run"),
        Column("day", "Day"),
        Column("series", "Series", "id"),
        Column("why", "Why"),
    )
    sentence = f"{plural(len(rows), 'run')} {'does' if len(rows) == 1 else 'do'} not count."
    return Section("excluded", "Runs that do not count", sentence, (Table("Left out", columns, rows, ""),))
