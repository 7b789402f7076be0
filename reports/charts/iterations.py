"""Charts over iterations: how long each takes, and what it is spent on."""

from collections.abc import Mapping, Sequence
from math import ceil
from statistics import median
from typing import TYPE_CHECKING, Any

from ..text import clean
from ..units import scale, show
from .style import (
    BLUE,
    RED,
    STATES,
    Rows,
    Specification,
    added,
    finished,
    of_groups,
    ordinals,
    parts,
    some,
    stacked,
    tops,
)

if TYPE_CHECKING:
    import altair as alt

__all__ = ["iteration_series", "stacked_time"]

_MOST_POINTS = 1000
_MOST_OUTLIERS = 200
_MOST_STACKS = 80


def iteration_series(rows: Rows) -> Specification:
    """The duration of each iteration in order, with the median, the p10 to p90 band, and marked ones as triangles.

    A row has `iteration`, `duration_ns` and, where it stands out, `mark`: a word such as "outlier" or "warm-up". Of
    more than 1,000 rows the line shows medians of neighbours, and the 200 longest marked ones are kept.
    """
    import altair as alt

    some(rows, "iteration_series")
    factor, unit = scale(max(row["duration_ns"] for row in rows), "ns")
    durations = sorted(row["duration_ns"] for row in rows)
    group = -(-len(rows) // _MOST_POINTS)
    medians = [median(row["duration_ns"] for row in part) for part in parts(rows, group)]
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
    x = alt.X("iteration:Q", title="Iteration", axis=ordinals([row["iteration"] for row in rows]), scale=scale_x)
    y = alt.Y("duration:Q", title=f"Duration ({unit})" + of_groups(group, "median"))
    across = alt.Chart(alt.Data(values=lines))
    band = across.mark_rect(color=BLUE, opacity=0.14).encode(
        y=alt.Y("low:Q"), y2=alt.Y2("high:Q"), description=alt.Description("band:N")
    )
    rule = across.mark_rule(color=BLUE, strokeDash=[5, 3]).encode(
        y=alt.Y("middle:Q"), description=alt.Description("median:N")
    )
    line = alt.Chart().mark_line(color=BLUE, strokeWidth=1.2, point=len(points) == 1, aria=False).encode(x=x, y=y)
    layers = [band, rule, line]
    if stand_out:
        shape = alt.Shape("mark:N", legend=alt.Legend(symbolFillColor=RED), scale=_shapes(stand_out))
        layers.append(
            alt.Chart(alt.Data(values=stand_out))
            .mark_point(color=RED, filled=True, size=55, opacity=1)
            .encode(x=x, y=y, shape=shape, description=alt.Description("tip:N"))
        )
    return finished(
        alt.layer(*layers, data=alt.Data(values=points)),
        height=220,
        terminal={"title": "Duration" + of_groups(group, "median"), "values": medians},
    )


def stacked_time(rows: Rows) -> Specification:
    """The time each iteration spends in each state, stacked in the order of `STATES`.

    A row has `iteration`, `state` (a key of `STATES`) and `time_ns`. Of more than 80 iterations the mean of
    neighbours is drawn.
    """
    import altair as alt

    some(rows, "stacked_time")
    unknown = sorted({row["state"] for row in rows} - STATES.keys())
    if unknown:
        raise ValueError(f"stacked_time: unknown state {unknown[0]!r}; there are: {', '.join(STATES)}")
    order = sorted({row["iteration"] for row in rows})
    group = -(-len(order) // _MOST_STACKS)
    place = {iteration: at // group for at, iteration in enumerate(order)}
    sums = added((place[row["iteration"]], row["state"], row["time_ns"]) for row in rows)
    sizes = [len(part) for part in parts(order, group)]
    means = {(at, state): total / sizes[at] for (at, state), total in sums.items()}
    factor, unit = scale(max(tops(means)), "ns")
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
    x = alt.X("left:Q", bin="binned", title="Iteration", axis=ordinals(order))
    chart = stacked(values, x, f"Time ({unit})" + of_groups(group, "mean"), "state", used).encode(x2=alt.X2("right:Q"))
    totals = [sum(row["time_ns"] for row in rows if row["state"] == state) for state in used]
    return finished(chart, height=240, terminal={"title": "Time in all", "labels": list(used), "values": totals})


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
