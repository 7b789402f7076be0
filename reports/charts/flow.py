"""A flow: the steps of an iteration from top to bottom, and the waits between them."""

from collections.abc import Mapping
from typing import Any

from ..text import clean, shorten
from ..units import scale, show
from .style import BLUE, STATES, Rows, Specification, finished, some

__all__ = ["flow"]

NAME, SHORT, PHONE = 80, 34, 500
"""Letters of a name, those on a phone, and what is a phone."""
MOST = 60
"""Steps, at most."""
STEP = 46


def flow(rows: Rows) -> Specification:
    """The steps of an iteration in order, each with its time and what is idle in it, and the wait on the way to it.

    A row has `step`, `name`, `repeat` (or none), `nodes` (how many it stands for), `time_ns`, `inside_ns`, `before_ns`
    and `cause` (or none).
    """
    import altair as alt

    some(rows, "flow")
    rows = rows[:MOST]
    longest = max(row["time_ns"] + row["inside_ns"] for row in rows)
    factor, unit = scale(longest, "ns")
    values = [_step(row, factor) for row in rows]
    fitting = f"width < {PHONE} ? datum.short : datum.name"
    data = alt.Data(values=values)
    base = alt.Chart(data).transform_calculate(fitting=fitting).encode(y=alt.Y("place:O", axis=None))
    states = {"busy": BLUE, "idle within": STATES["idle"]}
    x = alt.X("begin:Q", title=f"Time in an iteration ({unit}), mean", scale=alt.Scale(nice=False, zero=True))
    parts = [
        base.transform_calculate(state=f"'{state}'", begin=begin, until=until)
        .mark_bar(height=9, yOffset=14)
        .encode(
            x=x,
            x2=alt.X2("until:Q"),
            color=alt.Color("state:N", scale=alt.Scale(domain=list(states), range=list(states.values()))),
            description=alt.Description("tip:N"),
        )
        for state, begin, until in (("busy", "0", "datum.time"), ("idle within", "datum.time", "datum.end"))
    ]
    left: dict[str, Any] = {"align": "left", "baseline": "middle"}
    waits = base.mark_text(**left, dy=-15, fontSize=10, opacity=0.75).encode(x=alt.datum(0), text=alt.Text("wait:N"))
    names = base.mark_text(**left, dy=1).encode(x=alt.datum(0), text=alt.Text("fitting:N"))
    return finished(
        alt.layer(*parts, waits, names, data=data),
        height={"step": STEP},
        terminal={
            "title": "Time in an iteration",
            "labels": [value["label"] for value in values],
            "values": [row["time_ns"] for row in rows],
        },
    )


def _step(row: Mapping[str, Any], factor: float) -> dict[str, Any]:
    name = clean(row["name"]) + (f" × {row['repeat']}" if (row["repeat"] or 1) > 1 else "")
    cause = f", {clean(row['cause'])}" if row["cause"] else ""
    wait = f"↓ idle {show(row['before_ns'], 'ns')}{cause}" if row["before_ns"] else "↓"
    amount = f" · {show(row['time_ns'], 'ns')}"
    amount += f" + {show(row['inside_ns'], 'ns')} idle" if row["inside_ns"] else ""
    return {
        "place": row["step"],
        "name": shorten(name, NAME) + amount,
        "label": shorten(name, NAME),
        "short": shorten(name, SHORT) + f" · {show(row['time_ns'], 'ns')}",
        "time": row["time_ns"] / factor,
        "end": (row["time_ns"] + row["inside_ns"]) / factor,
        "wait": wait,
        "tip": f"{shorten(name, NAME)}{amount}; before it {wait[2:] or 'no wait'}",
    }
