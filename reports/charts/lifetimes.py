"""The chart of how long allocations of each size live, and which of them stand at the peak."""

from collections.abc import Mapping
from typing import Any

from ..units import show
from .histogram import begins, edge
from .style import BLUE, RED, Rows, Specification, finished, some

__all__ = ["BEYOND", "lifetimes"]

BEYOND = "beyond the recording"
"""Where a lifetime is longer than the recording."""


def lifetimes(rows: Rows) -> Specification:
    """Bubbles by lifetime and size, as large as their bytes; within each, what of it stands at the peak.

    A row has `from_ns` (0 or a power of ten; None where the lifetime is not known), `from_bytes` (0 or a power of two),
    `allocations`, `bytes` and `peak_bytes`; some bytes are more than 0. What stands at the peak and was not seen has
    neither of the first two: a terminal shows it, the bubbles do not.
    """
    import altair as alt

    seen = [row for row in rows if row["from_bytes"] is not None]
    some(seen, "lifetimes")
    most = max(row["bytes"] for row in seen)
    if most <= 0:
        raise ValueError("lifetimes: no bytes to draw")
    times = _times(rows)
    sizes = [edge(size, "bytes") for size in reversed(begins(list({row["from_bytes"] for row in seen})))]
    values = [_cell(row) for row in seen]
    x = alt.X("life:O", title="Lived at least", scale=alt.Scale(domain=times), axis=alt.Axis(labelAngle=-40))
    y = alt.Y("size:O", title="Size, from", scale=alt.Scale(domain=sizes))
    area = alt.Scale(domain=[0, most], range=[0, 700])
    base = alt.Chart().encode(x=x, y=y)
    every = base.mark_point(filled=True, color=BLUE, opacity=0.45).encode(
        size=alt.Size("bytes:Q", scale=area, legend=None), description=alt.Description("tip:N")
    )
    held = base.mark_point(filled=True, color=RED, opacity=0.9, aria=False).encode(
        size=alt.Size("peak:Q", scale=area, legend=None)
    )
    sums = dict.fromkeys(times, 0)
    for row in rows:
        sums[_time(row)] += row["peak_bytes"]
    terminal = {
        "title": "At the peak, by what it lived at least",
        "unit": "bytes",
        "labels": times,
        "values": list(sums.values()),
    }
    return finished(alt.layer(every, held, data=alt.Data(values=values)), height={"step": 15}, terminal=terminal)


def _time(row: Mapping[str, Any]) -> str:
    return BEYOND if row["from_ns"] is None else edge(row["from_ns"], "ns")


def _times(rows: Rows) -> list[str]:
    """All lifetimes from the shortest to the longest, those between them included, and last those not known."""
    known = {row["from_ns"] for row in rows if row["from_ns"] is not None}
    powers = [10**at for at in range(19) if known - {0} and min(known - {0}) <= 10**at <= max(known)]
    found = [edge(ns, "ns") for ns in ([0] if 0 in known else []) + powers]
    return found + ([BEYOND] if any(row["from_ns"] is None for row in rows) else [])


def _cell(row: Mapping[str, Any]) -> dict[str, Any]:
    life, size = _time(row), edge(row["from_bytes"], "bytes")
    lived = f"live {BEYOND}" if life == BEYOND else f"lived at least {life}"
    return {
        "life": life,
        "size": size,
        "bytes": row["bytes"],
        "peak": row["peak_bytes"],
        "tip": (
            f"{show(row['allocations'], 'count')} of at least {size} {lived}: {show(row['bytes'], 'bytes')} in sum, "
            f"{show(row['peak_bytes'], 'bytes')} at the peak"
        ),
    }
