"""Charts of device memory: what is allocated over the recording, of one trace or two, and what kernels work with."""

from collections.abc import Mapping
from itertools import pairwise
from json import dumps
from typing import TYPE_CHECKING, Any

from ..text import clean, shorten
from ..units import scale, show
from .histogram import edge
from .style import BLUE, PALETTE, RED, Rows, Specification, finished, some

if TYPE_CHECKING:
    import altair as alt

__all__ = ["difference", "set_against_footprint", "two_curves", "usage"]

STAGES: Mapping[str, str] = {"ramp-up": PALETTE[3], "peak": PALETTE[1], "ramp-down": PALETTE[2], "(other)": "#b9c0c9"}
NAME = 60
TICKS = 12


def usage(rows: Rows, *, x: str, unit_x: Any = "count") -> Specification:
    """What is allocated: a band from the least to the most in each stretch, coloured by stage, the peak marked.

    A row has `place`, `position`, `until`, `low_bytes`, `high_bytes`, `last_bytes`, `stage` and `last_stage`,
    by position. In places without changes, which have no row, the last level of the stretch before is drawn.
    """
    import altair as alt

    some(rows, "usage")
    factor, unit = scale(max(row["high_bytes"] for row in rows), "bytes")
    along, along_unit = scale(rows[-1]["position"], unit_x) if unit_x == "ns" else (1, "")
    values = [_stretch(row, factor, along) for row in _with_levels(rows)]
    top = max(values, key=lambda value: value["high"])
    title = f"{x} ({along_unit})" if along_unit else x
    across = alt.X("left:Q", title=title, scale=alt.Scale(nice=False, zero=False), axis=alt.Axis(format=",~r"))
    used = [stage for stage in STAGES if any(value["stage"] == stage for value in values)]
    colour = alt.Color(
        "stage:N",
        scale=alt.Scale(domain=used, range=[STAGES[stage] for stage in used]),
        legend=alt.Legend() if len(used) > 1 else None,
    )
    base = alt.Chart().encode(x=across, x2=alt.X2("right:Q"))
    held = base.mark_rect(opacity=0.35, aria=False).encode(
        y=alt.Y("low:Q", title=f"Allocated ({unit})"), y2=alt.Y2("zero:Q"), color=colour
    )
    band = base.mark_rect().encode(
        y=alt.Y("low:Q"), y2=alt.Y2("high:Q"), color=colour, description=alt.Description("tip:N")
    )
    edge = (
        alt.Chart()
        .mark_tick(orient="horizontal", thickness=2, aria=False)
        .encode(x=alt.X("left:Q"), y=alt.Y("high:Q"), color=colour)
    )
    peak = (
        alt.Chart(alt.Data(values=[top]))
        .mark_point(color=RED, shape="triangle-down", filled=True, size=70, yOffset=-6, opacity=1)
        .encode(x=alt.X("left:Q"), y=alt.Y("high:Q"), description=alt.Description("peak:N"))
    )
    return finished(
        alt.layer(held, band, edge, peak, data=alt.Data(values=values)),
        height=220,
        terminal={"title": "Allocated", "unit": "bytes", "values": [row["high_bytes"] for row in rows]},
    )


def set_against_footprint(rows: Rows) -> Specification:
    """Working sets of kernels against what is allocated at their launches, with the line on which they are equal.

    A row has `footprint_bytes`, `bytes`, `launches` (with these) and `kernel`. Both axes are logarithmic: a set of no
    bytes is not drawn.
    """
    import altair as alt

    shown = [row for row in rows if row["footprint_bytes"] and row["bytes"]]
    some(shown, "set_against_footprint")
    sizes = [row[key] for row in shown for key in ("footprint_bytes", "bytes")]
    first, last = int(max(min(sizes), 1)).bit_length() - 1, int(max(sizes)).bit_length()  # means are no whole numbers
    values = [_set(row) for row in shown]
    ends = [{"one": 1 << first}, {"one": 1 << last}]
    span = alt.Scale(type="log", base=2, domain=[1 << first, 1 << last], nice=False)
    axis = _sizes(first, last)
    x = alt.X("footprint:Q", title="Allocated at the launch (logarithmic)", scale=span, axis=axis)
    y = alt.Y("set:Q", title="Working set (logarithmic)", scale=span, axis=axis)
    points = (
        alt.Chart()
        .mark_point(color=BLUE, filled=True, opacity=0.55)
        .encode(
            x=x,
            y=y,
            description=alt.Description("tip:N"),
        )
    )
    line = (
        alt.Chart(alt.Data(values=ends))
        .mark_line(color="#8a919b", strokeDash=[4, 3], aria=False)
        .encode(x=alt.X("one:Q", scale=span), y=alt.Y("one:Q", scale=span))
    )
    largest = sorted(shown, key=lambda row: -row["bytes"])[:12]
    terminal = {
        "title": "Largest working sets",
        "unit": "bytes",
        "labels": [shorten(clean(row["kernel"]), NAME) for row in largest],
        "values": [row["bytes"] for row in largest],
    }
    return finished(alt.layer(line, points, data=alt.Data(values=values)), height=300, terminal=terminal)


def two_curves(rows: Rows, *, base: str, other: str, x: str, of: str = "allocated") -> Specification:
    """Two curves of memory in one picture, one of them dashed; where one has ended there is no line.

    A row has `position`, `base_bytes` and `bytes` (None behind the end); `of` says what both are.
    """
    import altair as alt

    some(rows, "two_curves")
    sizes = [size for row in rows for size in (row["base_bytes"], row["bytes"]) if size is not None]
    factor, unit = scale(max(sizes), "bytes")
    names = {"base_bytes": clean(base), "bytes": clean(other)}
    if names["base_bytes"] == names["bytes"]:
        names = {"base_bytes": f"{clean(base)} (base)", "bytes": f"{clean(other)} (compared)"}
    title = f"{of[:1].upper()}{of[1:]} ({unit})"
    layers = [
        _line(rows, key, name, dash, factor, alt.Scale(domain=list(names.values()), range=[BLUE, RED]), x, title)
        for (key, name), dash in zip(names.items(), ([1, 0], [5, 3]), strict=True)
    ]
    peaks = [max(row[key] for row in rows if row[key] is not None) for key in names]
    terminal = {"title": f"Most {of}", "unit": "bytes", "labels": list(names.values()), "values": peaks}
    return finished(alt.layer(*layers, data=alt.Data(values=[])), height=200, terminal=terminal)


def difference(rows: Rows, *, x: str) -> Specification:
    """By how much the second curve is above the first, below it where it is less; a row as for `two_curves`."""
    import altair as alt

    both = [row for row in rows if row["difference_bytes"] is not None]
    some(both, "difference")
    factor, unit = scale(max(abs(row["difference_bytes"]) for row in both) or 1, "bytes")
    ends = [row["position"] for row in both[1:]] + [both[-1]["position"]]
    values = [
        {
            "left": row["position"],
            "right": end,
            "bytes": row["difference_bytes"] / factor,
            "zero": 0,
            "tip": f"{row['position']:.6g}: {show(row['difference_bytes'], 'bytes')}",
        }
        for row, end in zip(both, ends, strict=True)
    ]
    chart = (
        alt.Chart(alt.Data(values=values))
        .mark_rect(color=BLUE, opacity=0.6)
        .encode(
            x=alt.X("left:Q", title=x, scale=alt.Scale(nice=False, zero=False)),
            x2=alt.X2("right:Q"),
            y=alt.Y("bytes:Q", title=f"Difference ({unit})"),
            y2=alt.Y2("zero:Q"),
            description=alt.Description("tip:N"),
        )
    )
    terminal = {"title": "Difference", "unit": "bytes", "values": [row["difference_bytes"] for row in both]}
    return finished(chart, height=110, terminal=terminal)


def _line(
    rows: Rows, key: str, name: str, dash: list[int], factor: float, colours: "alt.Scale", x: str, title: str
) -> "alt.Chart":
    import altair as alt

    values = [
        {"position": row["position"], "of": name, "bytes": row[key] / factor} for row in rows if row[key] is not None
    ]
    return (
        alt.Chart(alt.Data(values=values))
        .mark_line(interpolate="step-after", strokeWidth=1.4, strokeDash=dash)
        .encode(
            x=alt.X("position:Q", title=x, scale=alt.Scale(nice=False)),
            y=alt.Y("bytes:Q", title=title),
            color=alt.Color("of:N", scale=colours, legend=alt.Legend(columns=1, labelLimit=320)),
        )
    )


def _with_levels(rows: Rows) -> list[dict[str, Any]]:
    """The stretches, each up to the one of the next place; where places without changes are between, a level there."""
    shown: list[dict[str, Any]] = []
    for row, following in pairwise(rows):
        start, last = following["position"], row["last_bytes"]
        if following["place"] == row["place"] + 1:
            shown.append({**row, "until": start})
        else:
            level = {"position": row["until"], "until": start, "low_bytes": last, "high_bytes": last}
            shown += [dict(row), level | {"stage": row["last_stage"]}]
    return [*shown, dict(rows[-1])]


def _stretch(row: Any, factor: float, along: float) -> dict[str, Any]:
    told = f"{show(row['low_bytes'], 'bytes')} to {show(row['high_bytes'], 'bytes')}, {row['stage']}"
    return {
        "left": row["position"] / along,
        "right": row["until"] / along,
        "low": row["low_bytes"] / factor,
        "high": row["high_bytes"] / factor,
        "stage": row["stage"],
        "zero": 0,
        "tip": told,
        "peak": f"Peak: {show(row['high_bytes'], 'bytes')}",
    }


def _sizes(first: int, last: int) -> "alt.Axis":
    """An axis from one power of two to another, with at most a dozen ticks that each say their unit."""
    import altair as alt

    step = next(step for step in (1, 2, 5, 10) if step == 10 or (last - first) // step < TICKS)
    marks = [1 << power for power in range(first, last + 1) if power % step == 0]
    texts = {str(mark): edge(mark, "bytes") for mark in marks}
    return alt.Axis(values=marks, labelExpr=f"{dumps(texts)}[datum.value]")


def _set(row: Any) -> dict[str, Any]:
    name = shorten(clean(row["kernel"]), NAME)
    return {
        "footprint": row["footprint_bytes"],
        "set": row["bytes"],
        "launches": row["launches"],
        "tip": (
            f"{name}: {show(row['bytes'], 'bytes')} of {show(row['footprint_bytes'], 'bytes')} allocated, "
            f"{show(row['launches'], 'count')} launches"
        ),
    }
