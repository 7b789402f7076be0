"""A roofline: what operators achieve by the FLOPs they do for each byte, under the roofs of the device."""

from collections import defaultdict
from collections.abc import Mapping, Sequence
from itertools import pairwise
from math import ceil, floor, log10
from typing import TYPE_CHECKING, Any

from ..text import clean
from ..units import show
from .style import MOST_MARKS, PALETTE, Rows, Specification, finished, some

if TYPE_CHECKING:
    import altair as alt

__all__ = ["roofline"]

REST = "other"
TERMINAL = 12
"""Kinds that a terminal shows."""

HEIGHT = 320
LINE = 17
"""Pixels of a line of text with its roof: a roof so close below another has its name under it."""
HEADROOM = 4
"""How far above a roof the drawing goes at least: its name stands there."""

Roof = tuple[float, float]
"""A peak in TFLOP/s and a bandwidth in GB/s."""


def roofline(rows: Rows) -> Specification:
    """Calls as points on logarithmic axes, the larger the more time they take, coloured by family; roofs as lines.

    A row has `kind`, `family`, `arithmetic`, `intensity` (FLOPs a byte), `tflops_per_s`, `time_ns`, `share` of the time
    shown, `calls`, `roof_share`, and `peak_tflops_per_s` and `bandwidth_gb_per_s` where these are known, the most time
    first. A roof rises with the bandwidth up to the peak of an arithmetic; those that are equal are one. The seven
    families with the most time keep a colour. Points without a rate (0 TFLOP/s) are left out.
    """
    import altair as alt

    points = [row for row in rows if row["intensity"] > 0 and row["tflops_per_s"] > 0]
    some(points, "roofline")
    if len(points) > MOST_MARKS // 2:
        raise ValueError(f"roofline: {len(points)} points are too many to draw")
    roofs = _roofs(points)
    families = _families(points)
    x_range = _tens([row["intensity"] for row in points] + [_ridge(roof) for roof in roofs])
    y_range = _tens([row["tflops_per_s"] for row in points] + [HEADROOM * peak for peak, _ in roofs])
    x = alt.X(
        "intensity:Q",
        title="Intensity (FLOPs a byte of operands, logarithmic)",
        scale=alt.Scale(type="log", domain=[x_range[0], x_range[-1]], nice=False),
        axis=_axis(x_range),
    )
    y = alt.Y(
        "rate:Q",
        title="Achieved (TFLOP/s, logarithmic)",
        scale=alt.Scale(type="log", domain=[y_range[0], y_range[-1]], nice=False),
        axis=_axis(y_range),
    )
    colours = dict(zip(families, PALETTE, strict=False))
    line = (
        alt.Chart(alt.Data(values=_lines(roofs, x_range, y_range)))
        .mark_line(color=PALETTE[-1], strokeWidth=1.5, aria=False)
        .encode(x=x, y=y, detail=alt.Detail("roof:N"))
    )
    peak = (
        alt.Chart(alt.Data(values=_peaks(roofs, x_range, y_range)))
        .mark_text(align="right", baseline="bottom", dy=-3, fontSize=10, aria=False)
        .encode(x=x, y=y, text=alt.Text("text:N"))
    )
    slope = (
        alt.Chart(alt.Data(values=_slopes(roofs, x_range, y_range)))
        .mark_text(align="left", baseline="top", dx=12, dy=4, fontSize=10, aria=False)
        .encode(x=x, y=y, text=alt.Text("text:N"))
    )
    point = (
        alt.Chart()
        .mark_point(filled=True, opacity=0.75, stroke="white", strokeWidth=0.5)
        .encode(
            x=x,
            y=y,
            size=alt.Size("share:Q", legend=None, scale=alt.Scale(range=[24, 700], domain=[0, 1])),
            color=alt.Color(
                "family:N",
                legend=alt.Legend(columns=2, labelLimit=140),
                scale=alt.Scale(domain=list(colours), range=list(colours.values())),
            ),
            description=alt.Description("tip:N"),
        )
    )
    layers = [line, peak, slope, point] if roofs else [point]
    return finished(
        alt.layer(*layers, data=alt.Data(values=[_point(row, colours) for row in points])),
        height=HEIGHT,
        terminal=_by_kind(points, "under the roof" if roofs else "that are drawn"),
    )


def _roofs(points: Rows) -> dict[Roof, list[str]]:
    """The roofs over the points, each with the kinds of arithmetic it is of."""
    found: dict[Roof, list[str]] = defaultdict(list)
    for row in points:
        peak, bandwidth = row["peak_tflops_per_s"], row["bandwidth_gb_per_s"]
        if peak and bandwidth and row["arithmetic"] not in found[peak, bandwidth]:
            found[peak, bandwidth].append(row["arithmetic"])
    return dict(sorted(found.items()))


def _ridge(roof: Roof) -> float:
    peak, bandwidth = roof
    return peak * 1000 / bandwidth


def _families(points: Rows) -> list[str]:
    """The families that have a colour, the most time first."""
    times: dict[str, int] = defaultdict(int)
    for row in points:
        times[row["family"]] += row["time_ns"]
    ordered = sorted(times, key=lambda family: (-times[family], family))
    return ordered if len(ordered) <= len(PALETTE) - 1 else [*ordered[: len(PALETTE) - 2], REST]


def _tens(values: Sequence[float]) -> list[float]:
    """The powers of ten around all values."""
    low, high = floor(log10(min(values))), ceil(log10(max(values)))
    return [10.0**power for power in range(low, max(high, low + 1) + 1)]


def _axis(tens: Sequence[float]) -> "alt.Axis":
    import altair as alt

    return alt.Axis(format="~g", values=list(tens[:: max(1, -(-len(tens) // 8))]), grid=True)


def _lines(
    roofs: Mapping[Roof, Sequence[str]], x_range: Sequence[float], y_range: Sequence[float]
) -> list[dict[str, Any]]:
    """Three points of each roof: where it enters the drawing, its ridge, and the right edge."""
    found: list[dict[str, Any]] = []
    for number, (peak, bandwidth) in enumerate(roofs):
        corners = [_enters(bandwidth, x_range, y_range), (_ridge((peak, bandwidth)), peak), (x_range[-1], peak)]
        found += [{"roof": number, "intensity": at, "rate": rate} for at, rate in corners]
    return found


def _enters(bandwidth: float, x_range: Sequence[float], y_range: Sequence[float]) -> tuple[float, float]:
    at = max(x_range[0], y_range[0] * 1000 / bandwidth)
    return at, at * bandwidth / 1000


def _peaks(
    roofs: Mapping[Roof, Sequence[str]], x_range: Sequence[float], y_range: Sequence[float]
) -> list[dict[str, Any]]:
    """What each roof is called, at its right end: above it, or below where another is close above."""
    peaks = sorted({peak for peak, _ in roofs})
    line = (y_range[-1] / y_range[0]) ** (LINE / HEIGHT)
    crowded = {low for low, high in pairwise(peaks) if high < low * line}
    return [
        {
            "intensity": x_range[-1],
            "rate": peak / line if peak in crowded else peak,
            "text": f"{', '.join(of)}: {peak:,.4g} TFLOP/s",
        }
        for (peak, _), of in roofs.items()
    ]


def _slopes(
    roofs: Mapping[Roof, Sequence[str]], x_range: Sequence[float], y_range: Sequence[float]
) -> list[dict[str, Any]]:
    entries = {bandwidth: _enters(bandwidth, x_range, y_range) for _, bandwidth in roofs}
    return [
        {"intensity": at, "rate": rate, "text": f"{bandwidth:,.4g} GB/s"} for bandwidth, (at, rate) in entries.items()
    ]


def _point(row: Mapping[str, Any], colours: Mapping[str, str]) -> dict[str, Any]:
    family = row["family"] if row["family"] in colours else REST
    roof = f", {show(row['roof_share'], 'share')} of the roof" if row["roof_share"] is not None else ""
    what = f"{clean(row['kind'])} ({row['arithmetic'] or 'type not recorded'})"
    cost = f"{show(row['calls'], 'count')} calls of {show(row['time_ns'], 'ns')}"
    rates = f"{row['intensity']:.3g} FLOPs a byte, {row['tflops_per_s']:.3g} TFLOP/s"
    return {
        "intensity": row["intensity"],
        "rate": row["tflops_per_s"],
        "share": row["share"],
        "family": family,
        "tip": f"{what}, {cost}: {rates}{roof}",
    }


def _by_kind(points: Rows, which: str) -> dict[str, Any]:
    """For a terminal: the time of the kinds that are drawn."""
    times: dict[str, int] = defaultdict(int)
    for row in points:
        times[clean(row["kind"])] += row["time_ns"]
    kept = sorted(times, key=lambda kind: (-times[kind], kind))[:TERMINAL]
    return {
        "title": f"Kernel time of operators {which}",
        "labels": kept,
        "values": [times[kind] for kind in kept],
    }
