"""A report: what to show, free of any output format."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Literal

__all__ = [
    "Block",
    "Chart",
    "Check",
    "Column",
    "Curve",
    "Lane",
    "Overlay",
    "Report",
    "Section",
    "Table",
    "Text",
    "Timeline",
    "Unit",
    "Verdict",
]

Unit = Literal["text", "count", "ns", "bytes", "share", "ratio", "id"]
"""How a value is shown: `share` is 0 to 1 and shown as a percentage; `ns` is shown in the unit that reads best."""

Verdict = Literal["regression", "improvement", "neutral", "inconclusive"]


@dataclass(frozen=True)
class Column:
    """A column of a shown table: the key in the rows, the title, the unit of its values."""

    key: str
    title: str
    unit: Unit = "text"


@dataclass(frozen=True)
class Text:
    """A paragraph."""

    text: str


@dataclass(frozen=True)
class Table:
    """Rows as a table. `sql` gives all its numbers; `limit` rows are shown, the rest is counted."""

    caption: str
    columns: tuple[Column, ...]
    rows: Sequence[Mapping[str, Any]]
    sql: str
    limit: int = 25


@dataclass(frozen=True)
class Chart:
    """A chart as a Vega-Lite specification with its data inline (at most about 2,000 marks)."""

    title: str
    specification: Mapping[str, Any]
    description: str
    sql: str


@dataclass(frozen=True)
class Timeline:
    """Device operations on lanes, for a canvas. Lanes hold parallel arrays, sorted by start.

    All times are the trace's own, as its tables hold them; the axis counts from `base_ns`. `names` are the operations'
    names, indexed by a lane's `name`; `overlays` are named spans above the lanes. `sql` gives the rows of all lanes,
    with `start_ns` and `end_ns`; `busy_sql` the operations and the busy time of each lane. `left_out` counts the
    operations without a start, which have no place here. `curves` are rows of samples below the overlays. `wanted` are
    stretches of time (start, end, what it is) worth going to; of a trace with more operations than a page carries,
    theirs are carried first.
    """

    title: str
    base_ns: int
    names: Sequence[str]
    lanes: Sequence["Lane"]
    sql: str
    overlays: Sequence["Overlay"] = ()
    left_out: int = 0
    curves: Sequence["Curve"] = ()
    wanted: Sequence[tuple[int, int, str]] = ()
    busy_sql: str = ""


@dataclass(frozen=True)
class Lane:
    """One stream: `start_ns`, `duration_ns` and `name` are NumPy arrays of equal length.

    `sql` gives the lane's rows, with `start_ns`, `end_ns`, `name` and `correlation`, so that a reader can look up the
    one operation pointed at; without it the timeline's own is taken. Operations of equal start are sorted by end, then
    name: so the query tells one from those that share its times.
    """

    label: str
    start_ns: Any
    duration_ns: Any
    name: Any
    sql: str = ""


@dataclass(frozen=True)
class Overlay:
    """A row of labelled spans (start, end, label): iterations, patterns, ranges.

    Rows of one `group` are shown and hidden together; without one the label is taken.
    """

    label: str
    spans: Sequence[tuple[int, int, str]]
    group: str = ""


@dataclass(frozen=True)
class Curve:
    """A row of samples that hold until the next: `time_ns` (sorted) and `value` are NumPy arrays of equal length."""

    label: str
    time_ns: Any
    value: Any
    unit: str = ""
    group: str = "counters"


Block = Text | Table | Chart | Timeline


@dataclass(frozen=True)
class Section:
    """A part of a report: a heading, one sentence that says what it shows, and its blocks."""

    key: str
    heading: str
    sentence: str
    blocks: tuple[Block, ...] = ()
    notes: tuple[str, ...] = ()


@dataclass(frozen=True)
class Check:
    """What became of one metric of a series, or of two sides that were compared.

    `series` tells the series among all (a fingerprint's id, or what was compared), `title` the metric in words.
    `value` is of the runs judged, `baseline` the median of those before; `low` and `high` are the limits beyond which
    it is a change. Each is None where it was not collected or is not known.
    """

    series: str
    metric: str
    title: str
    unit: Unit
    verdict: Verdict
    sentence: str
    value: float | None = None
    baseline: float | None = None
    low: float | None = None
    high: float | None = None


@dataclass(frozen=True)
class Report:
    """A whole report: `health` as remarks to read before any number, `verdict` in words, `identity` as label and value.

    The sections follow. `checks` are what an exit code rests on, in a report that judges.
    """

    topic: str
    title: str
    verdict: str
    trace_id: str
    identity: tuple[tuple[str, str], ...]
    health: tuple[str, ...]
    sections: tuple[Section, ...]
    glossary: Mapping[str, str] = field(default_factory=dict[str, str])
    checks: tuple[Check, ...] = ()
