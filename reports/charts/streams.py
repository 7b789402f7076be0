"""Charts of how streams are used."""

from ..units import scale, show
from .style import STATES, Rows, Specification, added, finished, some

__all__ = ["busy_streams"]

MOST = 16
"""Bars; so many streams or more at once share the last."""


def busy_streams(rows: Rows) -> Specification:
    """The time by the number of streams that are busy at once, as bars: idle, one, two, ...

    A row has `streams` and `time_ns`; those of several devices are added up.
    """
    import altair as alt

    some(rows, "busy_streams")
    sums = added((min(int(row["streams"]), MOST), None, row["time_ns"]) for row in rows)
    times = {at: sums.get((at, None), 0) for at in range(max(at for at, _ in sums) + 1)}
    whole = sum(times.values())
    factor, unit = scale(max(times.values()), "ns")
    values = [
        {
            "streams": _label(at),
            "time": time / factor,
            "state": "idle" if at == 0 else "busy",
            "text": show(time / whole if whole else 0.0, "share"),
            "tip": f"{_label(at)} {'stream' if at == 1 else 'streams'} busy: {show(time, 'ns')}",
        }
        for at, time in times.items()
    ]
    order = [value["streams"] for value in values]
    base = alt.Chart(alt.Data(values=values)).encode(
        x=alt.X("streams:O", title="Streams busy at once", scale=alt.Scale(domain=order), axis=alt.Axis(labelAngle=0)),
        y=alt.Y("time:Q", title=f"Time ({unit})"),
    )
    colours = alt.Scale(domain=["busy", "idle"], range=[STATES["compute"], STATES["idle"]])
    bar = base.mark_bar().encode(
        color=alt.Color("state:N", scale=colours, legend=None), description=alt.Description("tip:N")
    )
    share = base.mark_text(dy=-7).encode(text=alt.Text("text:N"))
    terminal = {"title": "Time by streams busy at once", "labels": order, "values": list(times.values())}
    return finished(alt.layer(bar, share, data=alt.Data(values=values)), height=200, terminal=terminal)


def _label(streams: int) -> str:
    return f"{streams} or more" if streams == MOST else str(streams)
