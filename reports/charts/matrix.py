"""A matrix of amounts: bands from top to bottom, moments from left to right, the more the darker."""

from math import log10
from typing import Any

from ..text import clean, shorten
from ..units import Unit
from .style import Rows, Specification, finished, some

__all__ = ["matrix"]

COLOURS = ("#0b2f57", "#1b5e9b", "#3f87c0", "#7fb4dc", "#bcd9ee", "#e3edf6")
"""From much to little, each lighter than the one before, also in grey."""
SHADES = ("over 1/10 of max", "over 1/100", "over 1/1,000", "over 1/10,000", "over 1/100,000", "less")
"""What the colours stand for, each to the one before: a logarithmic scale."""
HEIGHT, SMALLEST, NAME = 11, 120, 34
"""Pixels of a band, and of all of them at least; letters of a band's name."""


def matrix(rows: Rows, *, x: str, y: str, what: str, unit: Unit = "count", step: float = 0) -> Specification:
    """Amounts on a logarithmic scale of colours; nothing is not drawn.

    A row has `label` (of the band, which no other band has; bands in order), `left` and `right` on the axis `x`,
    `amount`, of which `unit` is the unit, and `tip`. Ticks are `step` apart at least.
    """
    import altair as alt

    shown = [row for row in rows if row["amount"]]
    some(shown, "matrix")
    most = max(row["amount"] for row in shown)
    span = [min(row["left"] for row in rows), max(row["right"] for row in rows)]
    bands = list(dict.fromkeys(_name(row) for row in rows))
    values = [_cell(row, most) for row in shown]
    used = [shade for shade in SHADES if any(value["shade"] == shade for value in values)]
    colours: dict[str, str] = dict(zip(SHADES, COLOURS, strict=True))
    chart = (
        alt.Chart(alt.Data(values=values))
        .mark_rect()
        .encode(
            x=alt.X("left:Q", title=x, axis=alt.Axis(tickMinStep=step), scale=alt.Scale(domain=span, nice=False)),
            x2=alt.X2("right:Q"),
            y=alt.Y(
                "band:N",
                title=y,
                scale=alt.Scale(domain=bands, paddingInner=0),
                axis=alt.Axis(labelLimit=150, labelOverlap=True),
            ),
            color=alt.Color(
                "shade:N",
                scale=alt.Scale(domain=used, range=[colours[shade] for shade in used]),
                legend=alt.Legend(columns=2, labelLimit=220),
            ),
            description=alt.Description("tip:N"),
        )
    )
    sums = dict.fromkeys(bands, 0.0)
    for row in shown:
        sums[_name(row)] += row["amount"]
    terminal = {"title": what, "unit": unit, "labels": bands, "values": list(sums.values())}
    return finished(chart, height=max(SMALLEST, HEIGHT * len(bands)), terminal=terminal)


def _name(row: Any) -> str:
    return shorten(clean(str(row["label"])), NAME)


def _cell(row: Any, most: float) -> dict[str, Any]:
    """A mark: rows a tenth, a hundredth, ... of the most and more have the same shade."""
    shade = SHADES[min(int(log10(most / row["amount"])), len(SHADES) - 1)]
    return {
        "band": _name(row),
        "left": row["left"],
        "right": row["right"],
        "shade": shade,
        "tip": clean(str(row["tip"])),
    }
