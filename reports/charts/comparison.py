"""Charts that set two sides side by side: their runs, what makes the difference, kernels, one iteration of each."""

from collections.abc import Iterator, Mapping
from itertools import accumulate
from typing import Any

from ..text import clean, shorten
from ..units import scale, show
from .style import BLUE, MOST_MARKS, PALETTE, RED, STATES, Rows, Specification, finished, some

__all__ = ["MARKS", "kernel_scatter", "run_values", "strips", "waterfall"]

SIDES = {"base": BLUE, "candidate": RED}
MARKS = {
    "same": STATES["idle"],
    "slower": RED,
    "faster": BLUE,
    "inserted": PALETTE[2],
    "removed": PALETTE[5],
}
"""What became of an operation, and its colour."""
MOST_KERNELS, NAMED = 400, 5
CLOSE = 0.002
"""Stretches of one mark that lie closer than this share of the time are drawn as one."""


def run_values(rows: Rows) -> Specification:
    """The values of all runs beside the median of the base, with the interval of the change.

    A row has `metric` (its title), `side` (base or candidate), `run` and `change`; or `low` and `high` instead of a
    run: the interval. All but names are shares of the base's median.
    """
    import altair as alt

    some(rows, "run_values")
    order = list(dict.fromkeys(clean(row["metric"]) for row in rows))
    values = [
        {
            "metric": clean(row["metric"]),
            "side": row["side"],
            "kind": "run" if row.get("run") is not None else "interval",
            "change": None if row.get("run") is None else row["change"],
            "low": row.get("low"),
            "high": row.get("high"),
            "tip": _of_run(row),
        }
        for row in rows[:MOST_MARKS]
    ]
    y = alt.Y("metric:N", title=None, sort=order, axis=alt.Axis(labelLimit=220))
    x = alt.X("change:Q", title="Beside the median of the base", axis=alt.Axis(format="+%"), scale=alt.Scale(nice=True))
    colour = alt.Color(
        "side:N",
        title=None,
        scale=alt.Scale(domain=list(SIDES), range=list(SIDES.values())),
        legend=alt.Legend(orient="top"),
    )
    shape = alt.Shape("side:N", title=None, scale=alt.Scale(domain=list(SIDES), range=["circle", "diamond"]))
    base = alt.Chart().encode(y=y)
    interval = (
        base.transform_filter("datum.kind === 'interval'")
        .mark_rule(color=RED, strokeWidth=5, opacity=0.35)
        .encode(x=alt.X("low:Q"), x2=alt.X2("high:Q"), description=alt.Description("tip:N"))
    )
    zero = base.mark_rule(color=STATES["idle"]).encode(x=alt.datum(0))
    points = (
        base.transform_filter("datum.kind === 'run'")
        .mark_point(filled=True, size=45, opacity=0.8)
        .encode(x=x, color=colour, shape=shape, description=alt.Description("tip:N"))
    )
    return finished(alt.layer(zero, interval, points, data=alt.Data(values=values)), height={"step": 26}, terminal={})


def _of_run(row: Mapping[str, Any]) -> str:
    if row.get("run") is None:
        return f"{clean(row['metric'])}: {show(row['low'], 'share')} to {show(row['high'], 'share')}"
    return f"{clean(row['metric'])}, {clean(row['run'])}: {show(row['change'], 'share')}"


def waterfall(rows: Rows) -> Specification:
    """What makes the difference, one bar a cause, each from where the one before it ends; the last is the whole.

    A row has `cause` and `delta_ns`; the last row is the sum of the others.
    """
    import altair as alt

    some(rows, "waterfall")
    ends = list(accumulate(row["delta_ns"] for row in rows[:-1]))
    spans = [*zip([0, *ends], ends, strict=False), (0, rows[-1]["delta_ns"])]
    factor, unit = scale(max(abs(edge) for span in spans for edge in span), "ns")
    values = [
        {
            "cause": clean(row["cause"]),
            "begin": begin / factor,
            "end": end / factor,
            "kind": "whole" if at == len(rows) - 1 else "longer" if end >= begin else "shorter",
            "tip": f"{clean(row['cause'])}: {show(row['delta_ns'], 'ns')}",
            "text": show(row["delta_ns"], "ns"),
        }
        for at, (row, (begin, end)) in enumerate(zip(rows, spans, strict=True))
    ]
    kinds = {"longer": RED, "shorter": BLUE, "whole": PALETTE[7]}
    y = alt.Y("cause:N", title=None, sort=[clean(row["cause"]) for row in rows], axis=alt.Axis(labelLimit=220))
    base = alt.Chart().encode(y=y)
    bars = base.mark_bar().encode(
        x=alt.X("begin:Q", title=f"Difference of an iteration ({unit})"),
        x2=alt.X2("end:Q"),
        color=alt.Color(
            "kind:N",
            title=None,
            scale=alt.Scale(domain=list(kinds), range=list(kinds.values())),
            legend=alt.Legend(orient="top"),
        ),
        description=alt.Description("tip:N"),
    )
    zero = base.mark_rule(color=PALETTE[7]).encode(x=alt.datum(0))
    return finished(
        alt.layer(bars, zero, data=alt.Data(values=values)),
        height={"step": 26},
        terminal={
            "title": "Difference of an iteration by cause",
            "labels": [value["cause"] for value in values],
            "values": [row["delta_ns"] for row in rows],
        },
    )


def kernel_scatter(rows: Rows) -> Specification:
    """Time of each operation in an iteration of the base and of the candidate; on the line nothing changed.

    A row has `name`, `base_ns` and `ns`, both above 0, the largest difference first: of these the first are named.
    """
    import altair as alt

    some(rows, "kernel_scatter")
    chosen = rows[:MOST_KERNELS]
    factor, unit = scale(max(max(row["base_ns"], row["ns"]) for row in chosen), "ns")
    values = [
        {
            "name": shorten(clean(row["name"]), 28) if at < NAMED else "",
            "base": row["base_ns"] / factor,
            "now": row["ns"] / factor,
            "tip": f"{shorten(clean(row['name']), 90)}: {show(row['base_ns'], 'ns')}, now {show(row['ns'], 'ns')}",
        }
        for at, row in enumerate(chosen)
    ]
    least, most = (of(of(row["base_ns"], row["ns"]) for row in chosen) / factor for of in (min, max))
    log = alt.Scale(type="log", domain=[least / 1.2, most * 1.2], nice=False)
    x = alt.X("base:Q", title=f"Time in an iteration of the base ({unit})", scale=log)
    y = alt.Y("now:Q", title=f"of the candidate ({unit})", scale=log)
    base = alt.Chart()
    line = (
        base.transform_calculate(same="datum.base")
        .mark_line(color=PALETTE[7])
        .encode(x=x, y=alt.Y("same:Q", scale=log))
    )
    points = base.mark_point(color=BLUE, filled=True, size=40, opacity=0.7).encode(
        x=x, y=y, description=alt.Description("tip:N")
    )
    names = base.mark_text(align="right", dx=-6, fontSize=10).encode(x=x, y=y, text=alt.Text("name:N"))
    terminal = {
        "title": "Time in an iteration of the candidate",
        "labels": [shorten(clean(row["name"]), 60) for row in chosen[:15]],
        "values": [row["ns"] for row in chosen[:15]],
    }
    return finished(alt.layer(line, points, names, data=alt.Data(values=values)), height=340, terminal=terminal)


def strips(rows: Rows, base_ns: int, ns: int) -> Specification:
    """An iteration of each side as a strip, with what was inserted and removed, and what became slower or faster.

    A row has `mark`, `name` and, for each side that it is on, the start and the time of the operation: `base_start_ns`
    and `base_ns`, `start_ns` and `ns`. The iterations take `base_ns` and `ns`.
    """
    import altair as alt

    some(rows, "strips")
    longest = max(base_ns, ns)
    factor, unit = scale(longest, "ns")
    stretches = [
        (side, *one)
        for side, prefix in (("base", "base_"), ("candidate", ""))
        for one in _stretches(rows, prefix, CLOSE * longest)
    ]
    values = [
        {
            "side": side,
            "mark": mark,
            "begin": begin / factor,
            "end": end / factor,
            "tip": f"{side}: {said}, {mark}, {show(end - begin, 'ns')} at {show(begin, 'ns')}",
        }
        for side, mark, begin, end, said in sorted(stretches, key=lambda one: one[2] - one[3])[:MOST_MARKS]
    ]
    chart = (
        alt.Chart(alt.Data(values=values))
        .mark_rect()
        .encode(
            x=alt.X("begin:Q", title=f"Time in the iteration ({unit})"),
            x2=alt.X2("end:Q"),
            y=alt.Y("side:N", title=None, sort=list(SIDES)),
            color=alt.Color(
                "mark:N",
                title=None,
                scale=alt.Scale(domain=list(MARKS), range=list(MARKS.values())),
                legend=alt.Legend(orient="top"),
            ),
            description=alt.Description("tip:N"),
        )
    )
    return finished(chart, height={"step": 46}, terminal={})


def _stretches(rows: Rows, prefix: str, close: float) -> Iterator[tuple[str, int, int, str]]:
    """Operations of one side by start, those of one mark that lie close together as one: mark, begin, end, what."""
    there = [row for row in rows if row[f"{prefix}start_ns"] is not None]
    held: tuple[str, int, int, str, int] | None = None
    for row in sorted(there, key=lambda row: row[f"{prefix}start_ns"]):
        begin = row[f"{prefix}start_ns"]
        end = begin + row[f"{prefix}ns"]
        if held is not None and held[0] == row["mark"] and begin - held[2] <= close:
            held = held[0], held[1], max(held[2], end), held[3], held[4] + 1
            continue
        if held is not None:
            yield _stretch(held)
        held = row["mark"], begin, end, shorten(clean(row["name"]), 60), 1
    if held is not None:
        yield _stretch(held)


def _stretch(held: tuple[str, int, int, str, int]) -> tuple[str, int, int, str]:
    mark, begin, end, name, count = held
    return mark, begin, end, name if count == 1 else f"{show(count, 'count')} operations from {name} on"
