"""A chart of simulated time by how far a device is oversubscribed, a line for each policy."""

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
            "tip": f"{clean(row['policy'])}, {row['oversubscription']:g} times: {show(row['most_ns'], 'ns')}",
        }
        for row in rows
    ]
    chart = (
        alt.Chart(alt.Data(values=values))
        .mark_line(point=True)
        .encode(
            x=alt.X("factor:Q", title="Footprint over what the device holds", scale=alt.Scale(zero=False)),
            y=alt.Y("time:Q", title=f"Simulated time ({unit})"),
            color=alt.Color("policy:N", scale=alt.Scale(domain=names, range=list(PALETTE[: len(names)]))),
            shape=alt.Shape("policy:N", scale=alt.Scale(domain=names)),
            description=alt.Description("tip:N"),
        )
    )
    worst = [max(row["most_ns"] for row in rows if clean(row["policy"]) == name) for name in names]
    return finished(chart, height=220, terminal={"title": "Simulated time, at most", "labels": names, "values": worst})
