"""The chart of how launches spread over kernel names."""

from typing import Any

from ..text import clean, shorten
from ..units import show
from .style import BLUE, Rows, Specification, finished, some

__all__ = ["rank_plot"]

MOST_POINTS = 900
NAME = 70


def rank_plot(rows: Rows) -> Specification:
    """Launches against the rank of the name, both logarithmic, and the share of the names up to it.

    A row has `rank` (from 1), `name`, `calls` and `cumulative_share`, most first. Of more than 900 names the first 450
    are drawn, and of the others every so many.
    """
    import altair as alt

    some(rows, "rank_plot")
    head = MOST_POINTS // 2
    step = max(1, -(-(len(rows) - head) // head))
    kept = [row for at, row in enumerate(rows) if at < head or (at - head) % step == 0 or at == len(rows) - 1]
    values = [_point(row) for row in kept]
    names = alt.Scale(type="log", domain=[1, max(2, len(rows))], nice=False)
    x = alt.X(
        "rank:Q", title="Rank of the kernel name (logarithmic)", scale=names, axis=alt.Axis(format="d", tickCount=6)
    )
    most = alt.Scale(type="log", domain=[1, max(2, values[0]["calls"])])
    y = alt.Y("calls:Q", title="Launches (logarithmic)", scale=most, axis=alt.Axis(format=",~g", tickCount=6))
    base = alt.Chart().encode(x=x)
    line = base.mark_line(color=BLUE, opacity=0.35, aria=False).encode(y=y)
    point = base.mark_point(color=BLUE, filled=True, size=28, opacity=1).encode(
        y=y, description=alt.Description("tip:N")
    )
    terminal = {
        "title": "Launches",
        "unit": "count",
        "labels": [row["name"] for row in rows[:15]],
        "values": [row["calls"] for row in rows[:15]],
    }
    return finished(alt.layer(line, point, data=alt.Data(values=values)), height=240, terminal=terminal)


def _point(row: Any) -> dict[str, Any]:
    name = shorten(clean(row["name"]), NAME)
    told = f"{show(row['calls'], 'count')} launches, {show(row['cumulative_share'], 'share')} up to here"
    return {"rank": row["rank"], "calls": row["calls"], "tip": f"{name}: {told}"}
