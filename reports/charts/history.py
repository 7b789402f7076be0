"""The chart of a metric over the runs of a series: values, limits, changes."""

from collections.abc import Iterator, Mapping
from math import isfinite
from typing import Any

from ..text import clean
from ..units import scale, show
from .style import BLUE, PALETTE, RED, Rows, Specification, finished, ordinals, some

__all__ = ["MOST_RUNS", "history"]

MOST_RUNS = 300
"""More runs than this are not drawn, but the latest."""
ROLES: Mapping[str, tuple[str, str]] = {
    "run": (BLUE, "circle"),
    "baseline": (PALETTE[3], "circle"),
    "beyond the limits": (RED, "triangle-up"),
}
"""What a run is to the last judgement: colour and shape."""


def history(rows: Rows, *, title: str, unit: str) -> Specification:
    """A metric of each run in order, with the limits that each was judged by, and lines where the series changed.

    A row has `run` (its name), `date`, `value`, `role` (a key of `ROLES`), `low` and `high` (None before there are
    limits) and `changed` (whether a change of the history begins with it). Of more than 300 runs the latest are drawn.
    """
    import altair as alt

    some(rows, "history")
    first = max(len(rows) - MOST_RUNS, 0)
    drawn = rows[first:]
    factor, suffix = _scale(drawn, unit)
    values = list(_values(drawn, first, factor, unit))
    x = alt.X("place:Q", title="Run, in order of time", axis=ordinals([first + 1, first + len(drawn)]))
    across = alt.X("place:Q", title="Run, in order of time", scale=alt.Scale(zero=False, nice=False))
    y = alt.Y("value:Q", title=f"{title} ({suffix})" if suffix else title, scale=alt.Scale(zero=False))
    base = alt.Chart().encode(x=x)
    band = (
        base.transform_filter("datum.kind === 'limits'")
        .mark_area(color=BLUE, opacity=0.13, interpolate="step", aria=False)
        .encode(x=across, y=alt.Y("low:Q", scale=alt.Scale(zero=False)), y2=alt.Y2("high:Q"))
    )
    change = (
        base.transform_filter("datum.kind === 'change'")
        .mark_rule(color=PALETTE[1], strokeDash=[5, 3], strokeWidth=1.6)
        .encode(description=alt.Description("tip:N"))
    )
    roles = list(dict.fromkeys(value["role"] for value in values if value["kind"] == "run"))
    points = (
        base.transform_filter("datum.kind === 'run'")
        .mark_point(filled=True, size=38, opacity=1)
        .encode(
            y=y,
            color=alt.Color(
                "role:N", title=None, scale=alt.Scale(domain=roles, range=[ROLES[role][0] for role in roles])
            ),
            shape=alt.Shape(
                "role:N", title=None, scale=alt.Scale(domain=roles, range=[ROLES[role][1] for role in roles])
            ),
            description=alt.Description("tip:N"),
        )
    )
    return finished(
        alt.layer(band, change, points, data=alt.Data(values=values)),
        height=220,
        terminal={"title": clean(title), "unit": unit, "values": [row["value"] for row in drawn]},
    )


def _scale(rows: Rows, unit: str) -> tuple[float, str]:
    """What to divide the values by, and the unit that gives."""
    largest = max(abs(row["value"]) for row in rows)
    if unit == "ns" or unit == "bytes":
        return scale(largest, unit)
    return (0.01, "%") if unit == "share" else (1, "")


def _values(rows: Rows, first: int, factor: float, unit: Any) -> Iterator[dict[str, Any]]:
    for at, row in enumerate(rows):
        place, name = first + at + 1, f"{clean(row['run'])}, {row['date']}"
        if row["low"] is not None and isfinite(row["low"]) and isfinite(row["high"]):
            yield {"kind": "limits", "place": place, "low": row["low"] / factor, "high": row["high"] / factor}
        if row["changed"]:
            yield {"kind": "change", "place": place - 0.5, "tip": f"the series changed at {name}"}
        tip = f"{name}: {show(row['value'], unit)}, {row['role']}"
        yield {"kind": "run", "place": place, "value": row["value"] / factor, "role": row["role"], "tip": tip}
