"""Bars of device time by what it belongs to, divided into forward, backward, optimizer and the rest."""

from typing import Any

from ..text import clean, shorten
from ..units import scale, show
from .style import PALETTE, Rows, Specification, finished, some

__all__ = ["phase_bars"]

PHASES = {
    "forward": PALETTE[0],
    "backward": PALETTE[1],
    "optimizer": PALETTE[2],
    "other": "#b9c0c9",
}
NAME, SHORT_NAME, PHONE = 90, 34, 500
"""Letters of a name above its bar, those on a phone, and what is a phone."""


def phase_bars(rows: Rows, *, most: int = 14) -> Specification:
    """What takes most time as bars, stacked by phase; of more rows the last bar is all others.

    A row has `name`, `work_ns`, `share` (0 to 1, or None) and for each phase its time, such as `forward_ns`; the
    longest first.
    """
    import altair as alt

    shown = [row for row in rows if row["work_ns"]]
    some(shown, "phase_bars")
    bars = shown if len(shown) <= most else [*shown[: most - 1], _others(shown[most - 1 :])]
    factor, unit = scale(max(row["work_ns"] for row in bars), "ns")
    used = [phase for phase in PHASES if any(row[f"{phase}_ns"] for row in bars)]
    values = [value for at, row in enumerate(bars) for value in _parts(at, row, used, factor)]
    fitting = f"width < {PHONE} ? datum.short : datum.name"
    base = alt.Chart().transform_calculate(fitting=fitting).encode(y=alt.Y("place:O", axis=None))
    colour = alt.Color(
        "phase:N",
        scale=alt.Scale(domain=used, range=[PHASES[phase] for phase in used]),
        legend=alt.Legend(columns=4) if used != ["other"] else None,
    )
    x = alt.X("left:Q", title=f"Time ({unit})", scale=alt.Scale(nice=False))
    bar = base.mark_bar(height=9, yOffset=8).encode(
        x=x, x2=alt.X2("right:Q"), color=colour, description=alt.Description("tip:N")
    )
    heads = alt.Data(values=[value for value in values if value["first"]])
    first = alt.Chart(heads).transform_calculate(fitting=fitting).encode(y=alt.Y("place:O", axis=None))
    name = first.mark_text(align="left", baseline="middle", dy=-7).encode(x=alt.datum(0), text=alt.Text("fitting:N"))
    amount = first.mark_text(align="right", baseline="middle", dy=-7).encode(
        x=alt.datum(max(row["work_ns"] for row in bars) / factor), text=alt.Text("text:N")
    )
    return finished(
        alt.layer(bar, name, amount, data=alt.Data(values=values)),
        height={"step": 34},
        terminal={
            "title": "Time",
            "labels": [shorten(clean(row["name"]), NAME) for row in bars],
            "values": [row["work_ns"] for row in bars],
        },
    )


def _parts(at: int, row: Any, used: list[str], factor: float) -> list[dict[str, Any]]:
    left, found = 0, list[dict[str, Any]]()
    text = f"{show(row['work_ns'], 'ns')} · {show(row['share'] or 0, 'share')}"
    for phase in used:
        amount = row[f"{phase}_ns"]
        if amount:
            name = clean(row["name"])
            found.append(
                {
                    "place": at,
                    "name": shorten(name, NAME),
                    "short": shorten(name, SHORT_NAME),
                    "phase": phase,
                    "left": left / factor,
                    "right": (left + amount) / factor,
                    "text": text,
                    "first": not found,
                    "tip": f"{shorten(name, NAME)}, {phase}: {show(amount, 'ns')}",
                }
            )
            left += amount
    return found


def _others(rows: Rows) -> dict[str, Any]:
    keys = ("work_ns", *(f"{phase}_ns" for phase in PHASES))
    sums = {key: sum(row[key] or 0 for row in rows) for key in ("share", *keys)}
    return {"name": f"{len(rows)} more", **sums}
