"""Builds the charts of reports as Vega-Lite specifications: few marks, units on every axis, readable in grey.

Builders take rows as SQL returns them, pick the unit of time by the largest value, and aggregate what is too much to
draw. `usermeta.terminal` in a specification holds what a terminal can show of it: durations in ns, with labels if they
are bars.
"""

from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from math import ceil, floor, log10
from statistics import median
from typing import TYPE_CHECKING, Any

from .text import clean, shorten
from .units import scale, show

if TYPE_CHECKING:
    import altair as alt

__all__ = [
    "MOST_MARKS",
    "PALETTE",
    "STATES",
    "gap_histogram",
    "iteration_series",
    "pareto",
    "pattern_bars",
    "stacked_time",
]

MOST_MARKS = 2000
"""More rows than this are refused: a chart of more marks is slow to draw and tells no more."""

PALETTE = ("#1b7fc1", "#e69f00", "#009e73", "#56b4e9", "#d55e00", "#cc79a7", "#8c6bb1", "#8a919b")
"""Colours that the colour-blind tell apart (after Okabe and Ito), ordered so that neighbours differ in grey too."""

STATES: Mapping[str, str] = {
    "compute": "#1b7fc1",
    "communication": "#e69f00",
    "copy": "#009e73",
    "fill": "#8c6bb1",
    "idle": "#c3c9d1",
}
"""What a device does, and its colour in every report."""

Rows = Sequence[Mapping[str, Any]]
Specification = dict[str, Any]

_BLUE, _RED = PALETTE[0], PALETTE[4]
_MOST_POINTS = 1000
_MOST_OUTLIERS = 200
_MOST_STACKS = 80
_NAME, _SHORT_NAME, _PHONE = 90, 30, 500  # letters of a name above its bar, those on a phone, and what is a phone


def iteration_series(rows: Rows) -> Specification:
    """The duration of each iteration in order, with the median, the p10 to p90 band, and marked ones as triangles.

    A row has `iteration`, `duration_ns` and, where it stands out, `mark`: a word such as "outlier" or "warm-up". Of
    more than 1,000 rows the line shows medians of neighbours, and the 200 longest marked ones are kept.
    """
    import altair as alt

    _some(rows, "iteration_series")
    factor, unit = scale(max(row["duration_ns"] for row in rows), "ns")
    durations = sorted(row["duration_ns"] for row in rows)
    group = -(-len(rows) // _MOST_POINTS)
    medians = [median(row["duration_ns"] for row in part) for part in _parts(rows, group)]
    points = [
        {"iteration": row["iteration"], "duration": middle / factor}
        for row, middle in zip(rows[::group], medians, strict=True)
    ]
    marked = sorted((row for row in rows if row.get("mark")), key=lambda row: -row["duration_ns"])[:_MOST_OUTLIERS]
    stand_out = [_marked(row, factor) for row in sorted(marked, key=lambda row: row["iteration"])]
    low, middle, high = (_quantile(durations, share) for share in (0.1, 0.5, 0.9))
    lines = [
        {
            "low": low / factor,
            "middle": middle / factor,
            "high": high / factor,
            "band": f"10th to 90th percentile: {show(low, 'ns')} to {show(high, 'ns')}",
            "median": f"median: {show(middle, 'ns')}",
        }
    ]
    scale_x = alt.Scale(zero=False, nice=False)
    x = alt.X("iteration:Q", title="Iteration", axis=_ordinals([row["iteration"] for row in rows]), scale=scale_x)
    y = alt.Y("duration:Q", title=f"Duration ({unit})" + _of_groups(group, "median"))
    across = alt.Chart(alt.Data(values=lines))
    band = across.mark_rect(color=_BLUE, opacity=0.14).encode(y="low:Q", y2="high:Q", description="band:N")
    rule = across.mark_rule(color=_BLUE, strokeDash=[5, 3]).encode(y="middle:Q", description="median:N")
    line = alt.Chart().mark_line(color=_BLUE, strokeWidth=1.2, point=len(points) == 1, aria=False).encode(x=x, y=y)
    layers = [band, rule, line]
    if stand_out:
        shape = alt.Shape("mark:N", legend=alt.Legend(symbolFillColor=_RED), scale=_shapes(stand_out))
        layers.append(
            alt.Chart(alt.Data(values=stand_out))
            .mark_point(color=_RED, filled=True, size=55, opacity=1)
            .encode(x=x, y=y, shape=shape, description="tip:N")
        )
    return _finished(
        alt.layer(*layers, data=alt.Data(values=points)),
        height=220,
        terminal={"title": "Duration" + _of_groups(group, "median"), "values": medians},
    )


def stacked_time(rows: Rows) -> Specification:
    """The time each iteration spends in each state, stacked in the order of `STATES`.

    A row has `iteration`, `state` (a key of `STATES`) and `time_ns`. Of more than 80 iterations the mean of
    neighbours is drawn.
    """
    import altair as alt

    _some(rows, "stacked_time")
    unknown = sorted({row["state"] for row in rows} - STATES.keys())
    if unknown:
        raise ValueError(f"stacked_time: unknown state {unknown[0]!r}; there are: {', '.join(STATES)}")
    order = sorted({row["iteration"] for row in rows})
    group = -(-len(order) // _MOST_STACKS)
    place = {iteration: at // group for at, iteration in enumerate(order)}
    sums = _sums((place[row["iteration"]], row["state"], row["time_ns"]) for row in rows)
    sizes = [len(part) for part in _parts(order, group)]
    means = {(at, state): total / sizes[at] for (at, state), total in sums.items()}
    factor, unit = scale(max(_tops(means)), "ns")
    ranks = {state: rank for rank, state in enumerate(STATES)}
    values = [
        {
            "iteration": order[at * group],
            "left": order[at * group] - 0.5,  # the middle of a bar stands over its number
            "right": _until(order, at, group) - 0.5,
            "state": state,
            "time": means[at, state] / factor,
            "rank": ranks[state],
            "tip": f"{state}, iteration {order[at * group]}: {show(means[at, state], 'ns')}",
        }
        for at, state in sorted(means, key=lambda key: (key[0], ranks[key[1]]))
    ]
    used = {state: colour for state, colour in STATES.items() if any(value["state"] == state for value in values)}
    x = alt.X("left:Q", bin="binned", title="Iteration", axis=_ordinals(order))
    chart = _stacked(values, x, f"Time ({unit})" + _of_groups(group, "mean"), "state", used).encode(x2="right:Q")
    totals = [sum(row["time_ns"] for row in rows if row["state"] == state) for state in used]
    return _finished(chart, height=240, terminal={"title": "Time in all", "labels": list(used), "values": totals})


def pareto(rows: Rows, *, most: int = 15) -> Specification:
    """The names that take most time as bars, each with its time and the share it and all above it take together.

    A row has `name`, `total_ns` and `cumulative_share` (0 to 1), longest first. Names are cut in the middle.
    """
    _some(rows, "pareto")
    bars = [
        (
            row["name"],
            row["total_ns"],
            f"{show(row['total_ns'], 'ns')} · {show(row['cumulative_share'], 'share')} up to here",
        )
        for row in rows[:most]
    ]
    return _named_bars(bars)


def pattern_bars(rows: Rows, *, most: int = 15) -> Specification:
    """The patterns that take most time as bars, each with its time and how often it occurs.

    A row has `pattern` (its label), `total_ns` and `occurrences`, longest first.
    """
    _some(rows, "pattern_bars")
    bars = [
        (row["pattern"], row["total_ns"], f"{show(row['total_ns'], 'ns')} · {show(row['occurrences'], 'count')}×")
        for row in rows[:most]
    ]
    return _named_bars(bars)


def gap_histogram(rows: Rows) -> Specification:
    """Idle time by the length of the gaps that make it up (bins of 1, 2, 5, 10, ...), stacked by cause.

    A row has `duration_ns` (more than 0) and `cause`; or, where SQL has added gaps up already, `total_ns` and the
    `duration_ns` of one of them. The seven causes that cost most keep their colour, the rest is "other".
    """
    import altair as alt

    _some(rows, "gap_histogram")
    if any(row["duration_ns"] <= 0 for row in rows):
        raise ValueError("gap_histogram: a gap lasts more than 0 ns")
    gaps = [(_bin(row["duration_ns"]), clean(str(row["cause"])), _total(row)) for row in rows]
    by_cause = _sums((cause, None, total) for _, cause, total in gaps)
    costly = sorted(by_cause, key=lambda key: (-by_cause[key], key[0]))
    kept = [cause for cause, _ in costly[: len(PALETTE) - 1]]
    sums = _sums((at, cause if cause in kept else "other", total) for at, cause, total in gaps)
    domain = list(dict.fromkeys([*kept, "other"] if len(costly) > len(kept) else kept))
    factor, unit = scale(max(_tops(sums)), "ns")
    bins = range(min(at for at, _ in sums), max(at for at, _ in sums) + 1)
    labels = {at: _whole(_edge(at)) for at in bins}
    ranks = {cause: rank for rank, cause in enumerate(domain)}
    values = [
        {
            "gap": labels[at],
            "cause": cause,
            "time": sums[at, cause] / factor,
            "rank": ranks[cause],
            "tip": f"{cause}, gaps of at least {labels[at]}: {show(sums[at, cause], 'ns')}",
        }
        for at, cause in sorted(sums, key=lambda key: (key[0], ranks[key[1]]))
    ]
    axis = alt.Axis(labelAngle=-40)
    x = alt.X("gap:O", title="Gap of at least", axis=axis, scale=alt.Scale(domain=list(labels.values())))
    colours = dict(zip(domain, PALETTE, strict=False))
    chart = _stacked(values, x, f"Idle time ({unit})", "cause", colours)
    whole = [sum(total for (at, _), total in sums.items() if at == place) for place in bins]
    terminal = {"title": "Idle time in gaps of at least", "labels": list(labels.values()), "values": whole}
    return _finished(chart, height=220, terminal=terminal)


def _stacked(values: Rows, x: "alt.X", title: str, by: str, colours: Mapping[str, str]) -> "alt.Chart":
    """Bars of `time`, stacked by that field in the order of `rank`."""
    import altair as alt

    scale_ = alt.Scale(domain=list(colours), range=list(colours.values()))
    return (
        alt.Chart(alt.Data(values=values))
        .mark_bar()
        .encode(
            x=x,
            y=alt.Y("time:Q", title=title),
            color=alt.Color(f"{by}:N", scale=scale_),
            order=alt.Order("rank:Q"),
            description="tip:N",
        )
    )


def _named_bars(bars: list[tuple[str, float, str]]) -> Specification:
    """Horizontal bars with the name above each: long names need no margin, and fit a phone."""
    import altair as alt

    factor, unit = scale(max(total for _, total, _ in bars), "ns")
    values = [
        {
            "place": at,
            "name": shorten(clean(name), _NAME),
            "short": shorten(clean(name), _SHORT_NAME),
            "time": total / factor,
            "text": text,
            "tip": f"{shorten(clean(name), _NAME)}: {text}",
        }
        for at, (name, total, text) in enumerate(bars)
    ]
    fitting = f"width < {_PHONE} ? datum.short : datum.name"
    base = alt.Chart().transform_calculate(fitting=fitting).encode(y=alt.Y("place:O", axis=None))
    x = alt.X("time:Q", title=f"Time ({unit})", scale=alt.Scale(nice=False))
    bar = base.mark_bar(color=_BLUE, height=9, yOffset=8).encode(x=x, description="tip:N")
    name = base.mark_text(align="left", baseline="middle", dy=-7).encode(x=alt.datum(0), text="fitting:N")
    amount = base.mark_text(align="right", baseline="middle", dy=-7).encode(
        x=alt.datum(values[0]["time"]), text="text:N"
    )
    return _finished(
        alt.layer(bar, name, amount, data=alt.Data(values=values)),
        height={"step": 34},
        terminal={
            "title": "Time",
            "labels": [value["name"] for value in values],
            "values": [total for _, total, _ in bars],
        },
    )


def _finished(chart: Any, *, height: Any, terminal: Mapping[str, Any]) -> Specification:
    """The chart as a plain specification, checked for size."""
    specification: Specification = chart.properties(width=640, height=height).to_dict()
    specification.pop("config", None)  # Altair's defaults; the page brings its own look
    marks = len(specification["data"]["values"])
    if marks > MOST_MARKS:
        raise ValueError(f"a chart of {marks} marks; the most is {MOST_MARKS}")
    return specification | {"usermeta": {"terminal": dict(terminal)}}


def _some(rows: Rows, builder: str) -> None:
    if not rows:
        raise ValueError(f"{builder}: no rows to draw")


def _sums(amounts: Iterable[tuple[Any, Any, float]]) -> dict[tuple[Any, Any], float]:
    """The third values added up by the first two."""
    sums: dict[tuple[Any, Any], float] = defaultdict(int)
    for first, second, amount in amounts:
        sums[first, second] += amount
    return dict(sums)


def _tops(parts: Mapping[tuple[Any, Any], float]) -> Iterable[float]:
    """The heights of stacks: parts added up by the first of their keys."""
    return _sums((first, None, amount) for (first, _), amount in parts.items()).values()


def _total(row: Mapping[str, Any]) -> int:
    return row.get("total_ns", row["duration_ns"])


def _parts(items: Sequence[Any], size: int) -> list[Sequence[Any]]:
    return [items[at : at + size] for at in range(0, len(items), size)]


def _of_groups(group: int, what: str) -> str:
    return f", {what} of {group} each" if group > 1 else ""


def _marked(row: Mapping[str, Any], factor: float) -> dict[str, Any]:
    mark, tip = clean(str(row["mark"])), f"iteration {row['iteration']}: {show(row['duration_ns'], 'ns')}"
    return {
        "iteration": row["iteration"],
        "duration": row["duration_ns"] / factor,
        "mark": mark,
        "tip": f"{mark}, {tip}",
    }


def _until(order: Sequence[int], at: int, group: int) -> int:
    """Where the bar of a group ends: where the next begins."""
    return order[(at + 1) * group] if (at + 1) * group < len(order) else order[-1] + 1


def _quantile(ordered: Sequence[float], share: float) -> float:
    """The smallest value that this share of all does not exceed, as DuckDB's `quantile_disc`: one that occurred."""
    return ordered[max(ceil(share * len(ordered)) - 1, 0)]


def _shapes(rows: Rows) -> "alt.Scale":
    import altair as alt

    marks = sorted({row["mark"] for row in rows})
    shapes = ("triangle-up", "diamond", "square", "circle", "cross")
    return alt.Scale(domain=marks, range=[shapes[at % len(shapes)] for at in range(len(marks))])


def _ordinals(numbers: Sequence[int]) -> "alt.Axis":
    """An axis with a tick at whole numbers only, at most a dozen."""
    import altair as alt

    first, last = min(numbers), max(numbers)
    step = max(1, -(-(last - first) // 12))
    return alt.Axis(format="d", values=list(range(first, last + 1, step)), labelOverlap=True)


def _whole(edge_ns: int) -> str:
    """The edge of a bin, which is a round number in its unit."""
    factor, unit = scale(edge_ns, "ns")
    return f"{edge_ns / factor:g} {unit}"


def _bin(duration: float) -> int:
    """The number of the bin 1, 2, 5, 10, 20, ... that holds the duration."""
    at = 3 * floor(log10(duration))
    while _edge(at + 1) <= duration:
        at += 1
    return at


def _edge(at: int) -> int:
    return (1, 2, 5)[at % 3] * 10 ** (at // 3)
