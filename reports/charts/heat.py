"""A heat map: how far each place of each iteration is from what is usual there."""

from typing import Any

from ..text import clean, shorten
from ..units import show
from .style import Rows, Specification, finished, some

__all__ = ["heat"]

CLASSES: tuple[tuple[float, str, str], ...] = (
    (0.8, "less than 0.8 times the median", "#5b9bd0"),
    (0.97, "0.8 to 0.97 times", "#bcd9ee"),
    (1.03, "as usual", "#e9edf1"),
    (1.1, "1.03 to 1.1 times", "#f8e9c4"),
    (1.5, "1.1 to 1.5 times", "#f0c35c"),
    (3.0, "1.5 to 3 times", "#e07b39"),
    (float("inf"), "more than 3 times", "#8c2d04"),
)
"""Time / median below a limit, what the legend says of it, and its colour: the further from usual the darker."""
NAME = 60
HEIGHT = 9
"""Pixels of a place."""
SMALLEST = 130
"""Pixels of all places, at least."""


def heat(rows: Rows) -> Specification:
    """Iterations from left to right, places of the iteration from top to bottom, coloured by time / median.

    A row has `place`, `first_position`, `last_position`, `name` (or none), `iteration` and `last_iteration` (of those
    that it stands for), `longest_iteration`, `time_ns`, `usual_ns` and `ratio` (or none, where nothing is usual).
    """
    import altair as alt

    some(rows, "heat")
    order = sorted({row["iteration"] for row in rows})
    values = [_cell(row) for row in rows]
    colours = {kind: colour for _, kind, colour in CLASSES}
    used = {kind: colour for kind, colour in colours.items() if any(value["kind"] == kind for value in values)}
    several = any(row["last_iteration"] > row["iteration"] for row in rows)
    title = "Iteration" + (", several in a row: the longest" if several else "")
    x = alt.X(
        "iteration:O",
        title=title,
        axis=alt.Axis(labelAngle=0, values=order[:: max(1, len(order) // 12)], labelOverlap=True),
        scale=alt.Scale(domain=order, paddingInner=0),
    )
    y = alt.Y(
        "first:O",
        title="Operation of the iteration",
        axis=alt.Axis(labelOverlap=True),
        scale=alt.Scale(domain=sorted({value["first"] for value in values}), paddingInner=0),
    )
    chart = (
        alt.Chart(alt.Data(values=values))
        .mark_rect()
        .encode(
            x=x,
            y=y,
            color=alt.Color(
                "kind:N",
                scale=alt.Scale(domain=list(used), range=list(used.values())),
                legend=alt.Legend(columns=2, labelLimit=220),
            ),
            description=alt.Description("tip:N"),
        )
    )
    most: dict[int, float] = {}
    for row in rows:
        most[row["iteration"]] = max(most.get(row["iteration"], 0.0), float(row["ratio"] or 0))
    terminal = {
        "title": "Longest place of each iteration, times its median",
        "unit": "ratio",
        "values": [most[iteration] for iteration in order],
    }
    places = len({value["first"] for value in values})
    return finished(chart, height=max(SMALLEST, HEIGHT * places), terminal=terminal)


def _cell(row: Any) -> dict[str, Any]:
    ratio = row["ratio"]
    kind = "as usual" if ratio is None else next(kind for limit, kind, _ in CLASSES if ratio < limit or limit > 1e9)
    name = f" ({shorten(clean(row['name']), NAME)})" if row["name"] else ""
    where = f"operations {row['first_position']} to {row['last_position']}{name}, iteration {row['longest_iteration']}"
    times = f", {show(ratio, 'ratio')} times the median" if ratio is not None else ""
    return {
        "iteration": row["iteration"],
        "first": row["first_position"],
        "kind": kind,
        "tip": f"{where}: {show(row['time_ns'], 'ns')}{times}",
    }
