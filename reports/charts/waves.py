"""The chart of how far the last wave of blocks of launches fills the device."""

from ..units import show
from .style import PALETTE, Rows, Specification, added, finished, some, stacked

__all__ = ["TENTHS", "last_waves"]

ABOVE = (0, 1, 2, 4, 8)
"""Launches of more than so many waves have a colour."""
TENTHS = [f"{10 * at}\u202f–\u202f{10 * at + 10}" for at in range(10)]


def last_waves(rows: Rows, *, by: str = "time_ns") -> Specification:
    """The share of time (or of `launches`) by the tenth to which the last wave fills the device, stacked by waves.

    A row has `above_waves` (0, 1, 2, 4 or 8), `waves` (the same in words), `fill_from` (0 to 0.9) and what it is
    counted by.
    """
    import altair as alt

    some(rows, "last_waves")
    sums = added((round(10 * row["fill_from"]), row["above_waves"], row[by]) for row in rows)
    whole = sum(sums.values())
    if not whole:
        raise ValueError("last_waves: nothing to divide")
    what = "kernel time" if by == "time_ns" else "launches"
    names = {row["above_waves"]: row["waves"] for row in rows}
    values = [
        {
            "fill": TENTHS[tenth],
            "waves": names[above],
            "time": 100 * amount / whole,
            "rank": ABOVE.index(above),
            "tip": f"{names[above]}, {TENTHS[tenth]} % full: {show(amount / whole, 'share')} of {what}",
        }
        for (tenth, above), amount in sorted(sums.items())
    ]
    used = {names[above]: colour for above, colour in zip(ABOVE, PALETTE, strict=False) if above in names}
    x = alt.X(
        "fill:O",
        title="Device filled by the last wave (%)",
        axis=alt.Axis(labelAngle=-40),
        scale=alt.Scale(domain=TENTHS),
    )
    tops = added((tenth, None, amount) for (tenth, _), amount in sums.items())
    terminal = {
        "title": f"Share of {what} by how far the last wave fills the device (%)",
        "unit": "share",
        "labels": TENTHS,
        "values": [tops.get((tenth, None), 0) / whole for tenth in range(10)],
    }
    return finished(stacked(values, x, f"Share of {what} (%)", "waves", used), height=220, terminal=terminal)
