"""A chart of simulated time by how far a device is oversubscribed, a line for each policy."""

from collections.abc import Mapping
from typing import Any

from ..text import clean
from ..units import scale, show
from .style import PALETTE, Rows, Specification, finished, some

__all__ = ["oversubscription"]


def oversubscription(rows: Rows) -> Specification:
    """Lines of `most_ns` over `oversubscription`; a row has these and `policy`."""
    import altair as alt

    some(rows, "oversubscription")
    factor, unit = scale(max(row["most_ns"] for row in rows), "ns")
    names = list(dict.fromkeys(clean(row["policy"]) for row in rows))
    values = [
        {
            "factor": row["oversubscription"],
            "policy": clean(row["policy"]),
            "time": row["most_ns"] / factor,
            "tip": f"{_label(row)}: {show(row['most_ns'], 'ns')}",
        }
        for row in rows
    ]
    ticks = sorted({row["oversubscription"] for row in rows})
    chart = (
        alt.Chart(alt.Data(values=values))
        .mark_line(point=True)
        .encode(
            x=alt.X(
                "factor:Q",
                title="Oversubscription: footprint over what the device holds",
                scale=alt.Scale(zero=False),
                axis=alt.Axis(values=ticks, labelExpr="datum.value + '×'"),
            ),
            y=alt.Y("time:Q", title=f"Simulated time ({unit})"),
            color=alt.Color("policy:N", scale=alt.Scale(domain=names, range=list(PALETTE[: len(names)]))),
            shape=alt.Shape("policy:N", scale=alt.Scale(domain=names)),
            description="tip:N",
        )
    )
    terminal = {
        "title": "Simulated time, no prefetch hidden; × is the oversubscription",
        "labels": [_label(row) for row in rows],
        "values": [row["most_ns"] for row in rows],
    }
    return finished(chart, height=220, terminal=terminal)


def _label(row: Mapping[str, Any]) -> str:
    return f"{clean(row['policy'])}, {row['oversubscription']:g}×"
