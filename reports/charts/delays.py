"""The chart of how long launches wait, by how much is queued ahead of them."""

from collections.abc import Mapping
from math import ceil, floor, log10
from typing import Any

from ..units import show
from .style import BLUE, MOST_MARKS, RED, Rows, Specification, finished, some

__all__ = ["delay_by_queue"]

_US = 1000
_LABELLED = 0.05
"""Share of the launches from which on it is written above its bar."""


def delay_by_queue(rows: Rows) -> Specification:
    """Delay from launch to start, by operations queued at the launch: a bar from the 10th to the 90th percentile each.

    A row has `queue_from`, `queue_to`, `share` of the launches (0 to 1), `p10_ns`, `p50_ns` and `p90_ns`, shortest
    queue first. The axis of delays is logarithmic, in µs: delays go from some µs to many ms. What is less than 0.1 µs
    is drawn there.
    """
    import altair as alt

    some(rows, "delay_by_queue")
    if len(rows) > MOST_MARKS // 3:
        raise ValueError(f"delay_by_queue: {len(rows)} lengths of the queue are too many to draw")
    values = [_bar(row) for row in rows]
    x = alt.X(
        "queue:O",
        title="Operations queued on the device at the launch",
        axis=alt.Axis(labelAngle=-40),
        scale=alt.Scale(domain=[value["queue"] for value in values]),
    )
    tens = _powers(min(value["low"] for value in values), max(value["high"] for value in values))
    delays = alt.Scale(type="log", domain=[tens[0], tens[-1]], nice=False)
    low = alt.Y("low:Q", title="Delay (µs, logarithmic)", scale=delays, axis=alt.Axis(format=",~g", values=tens))
    base = alt.Chart().encode(x=x)
    bar = base.mark_bar(color=BLUE, opacity=0.45).encode(
        y=low, y2=alt.Y2("high:Q"), description=alt.Description("tip:N")
    )
    middle = base.mark_tick(color=RED, thickness=3, aria=False).encode(y=alt.Y("middle:Q", scale=delays))
    share = base.mark_text(baseline="bottom", dy=-3, fontSize=9, aria=False).encode(
        y=alt.Y("high:Q"), text=alt.Text("share:N")
    )
    return finished(
        alt.layer(bar, middle, share, data=alt.Data(values=values)),
        height=240,
        terminal={
            "title": "Median delay by operations queued at the launch",
            "labels": [value["queue"] for value in values],
            "values": [row["p50_ns"] for row in rows],
        },
    )


def _powers(low: float, high: float) -> list[float]:
    """The powers of ten around a range, both ends included."""
    first, last = floor(log10(low)), ceil(log10(high))
    return [10.0**power for power in range(first, max(last, first + 1) + 1)]


def _bar(row: Mapping[str, Any]) -> dict[str, Any]:
    first, last = row["queue_from"], row["queue_to"]
    queue = show(first, "count") if first == last else f"{show(first, 'count')}–{show(last, 'count')}"
    low, middle, high = (max(row[key] / _US, 0.1) for key in ("p10_ns", "p50_ns", "p90_ns"))
    share = show(row["share"], "share")
    return {
        "queue": queue,
        "low": low,
        "middle": middle,
        "high": high,
        "share": f"{100 * row['share']:.0f}\u202f%" if row["share"] >= _LABELLED else "",
        "tip": (
            f"{queue} queued, {share} of the launches: median {show(row['p50_ns'], 'ns')}, "
            f"{show(row['p10_ns'], 'ns')} to {show(row['p90_ns'], 'ns')}"
        ),
    }
