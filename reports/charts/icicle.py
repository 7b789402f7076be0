"""Icicles: what lies in what, as bars below each other whose width is time."""

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from ..text import clean, shorten
from ..units import scale, show
from .style import Rows, Specification, finished, some

__all__ = ["changes", "icicle"]

VARIES: tuple[tuple[float, str, str], ...] = (
    (0.05, "varies by less than 5 %", "#cfe3f3"),
    (0.2, "5 to 20 %", "#8fc0e4"),
    (0.5, "20 to 50 %", "#f0c35c"),
    (float("inf"), "more than 50 %", "#e07b39"),
)
"""Standard deviation / mean below a limit, what the legend says of it, and its colour: lighter is steadier."""
CHANGED: tuple[tuple[float, str, str], ...] = (
    (0.8, "faster by more than 20 %", "#4c9a73"),
    (0.95, "faster by 5 to 20 %", "#b9dcc8"),
    (1.05, "as before", "#e3e7ec"),
    (1.2, "slower by 5 to 20 %", "#f0c35c"),
    (float("inf"), "slower by more than 20 %", "#e07b39"),
)
"""Time per iteration / that of before, below a limit."""
ONCE, OTHER = ("once", "#b9dcc8"), ("less costly ones", "#dfe3e8")
APPEARED, VANISHED = ("appeared", "#c58fc4"), ("vanished", "#8fc0e4")
LABEL = "#10202e"
"""Letters on bars, which are light in every theme."""
NAME = 60
"""Letters of a name, at most."""
ROW = 26
MOST = 1_500
"""Bars, at most: the widest."""
THIN = 0.004
"""Nodes that are narrower than this share of the whole are drawn together, as others."""

Row = Mapping[str, Any]
Judge = Callable[[Row], tuple[str, str]]
"""The legend's word for a node, and what its description says of it."""


@dataclass(frozen=True)
class _Bar:
    left: float
    time: float
    depth: int
    name: str
    kind: str
    tip: str


@dataclass(frozen=True)
class _Nodes:
    """What to draw: nodes by the one around them, how wide each is and where it begins in it, what to say of it."""

    inside: Mapping[int, list[Row]]
    time: Callable[[Row], float]
    before: Callable[[Row], float]
    judge: Judge
    whole: float


def icicle(rows: Rows) -> Specification:
    """The nodes of one device below each other, each as wide as its time, coloured by how much its passes vary.

    A row has `node`, `parent`, `kind`, `name`, `repeat`, `count`, `time_ns`, `before_ns` (of the nodes before it in its
    parent, drawn or not), `share`, `mean_ns`, `variation` and `siblings` (with itself). The first row by `node` is the
    whole. Where a node holds only one other, one bar stands for both. What no row tells of is drawn as others.
    """
    some(rows, "icicle")
    colours = {name: colour for _, name, colour in VARIES} | dict((ONCE, OTHER))
    return _icicle(
        rows, lambda row: row["time_ns"], lambda row: row["before_ns"], _variation, colours, "Busy time of the device"
    )


def changes(rows: Rows) -> Specification:
    """The matched nodes of two traces below each other, coloured by how their time per iteration changed.

    A bar is as wide as the mean of the times in both traces, so that what vanished is there too. A row has `node`,
    `parent`, `kind`, `name`, `repeat`, `siblings` and, with and without `base_` before it, `count`, `units`, `time_ns`
    and `before_ns`. The first row by `node` is the whole.
    """
    some(rows, "changes")
    colours = {name: colour for _, name, colour in CHANGED} | dict((APPEARED, VANISHED, OTHER))
    return _icicle(
        rows,
        lambda row: (row["base_time_ns"] + row["time_ns"]) / 2,
        lambda row: (row["base_before_ns"] + row["before_ns"]) / 2,
        _change,
        colours,
        "Busy time of the device, mean of both traces",
    )


def _icicle(
    rows: Rows,
    time: Callable[[Row], float],
    before: Callable[[Row], float],
    judge: Judge,
    colours: Mapping[str, str],
    title: str,
) -> Specification:
    root = min(rows, key=lambda row: row["node"])
    whole = time(root)
    if not whole:
        raise ValueError("an icicle of no time")
    inside: dict[int, list[Row]] = {}
    for row in sorted(rows, key=lambda row: row["node"]):
        inside.setdefault(-1 if row["parent"] is None else row["parent"], []).append(row)
    found = list(_bars(root, _Nodes(inside, time, before, judge, whole), 0.0, -1)) or [
        _bar(root, _Nodes(inside, time, before, judge, whole), 0.0, 0)
    ]
    kept = sorted(found, key=lambda bar: (-bar.time, bar.depth, bar.left))[:MOST]
    factor, unit = scale(whole, "ns")
    used = {kind: colour for kind, colour in colours.items() if any(bar.kind == kind for bar in kept)}
    values = [
        {
            "left": bar.left / factor,
            "right": (bar.left + bar.time) / factor,
            "middle": (bar.left + bar.time / 2) / factor,
            "part": bar.time / whole,
            "depth": bar.depth,
            "name": bar.name,
            "kind": bar.kind,
            "tip": bar.tip,
        }
        for bar in sorted(kept, key=lambda bar: (bar.depth, bar.left))
    ]
    depths = max(bar.depth for bar in kept) + 1
    top = sorted((bar for bar in kept if bar.depth == 0), key=lambda bar: bar.left)
    terminal = {"title": title, "labels": [bar.name for bar in top], "values": [bar.time for bar in top]}
    return finished(_drawn(values, f"{title} ({unit})", used, whole / factor), height=ROW * depths, terminal=terminal)


def _drawn(values: list[dict[str, Any]], title: str, colours: Mapping[str, str], whole: float) -> Any:
    import altair as alt

    # As much of a name as fits, where that is more than a few letters.
    letters = "floor(datum.part * width / 6.3) - 1"
    fitting = f"{letters} < 4 ? '' : length(datum.name) <= {letters} ? datum.name : "
    fitting += f"slice(datum.name, 0, {letters} - 1) + '…'"
    axis = alt.X("left:Q", title=title, scale=alt.Scale(domain=[0, whole], nice=False))
    base = alt.Chart().transform_calculate(fitting=fitting).encode(y=alt.Y("depth:O", axis=None))
    bars = base.mark_rect(stroke="white", strokeWidth=0.4, height=ROW - 3).encode(
        x=axis,
        x2=alt.X2("right:Q"),
        color=alt.Color(
            "kind:N",
            scale=alt.Scale(domain=list(colours), range=list(colours.values())),
            legend=alt.Legend(columns=2, labelLimit=200, symbolStrokeWidth=0),
        ),
        description=alt.Description("tip:N"),
    )
    names = base.mark_text(align="center", baseline="middle", color=LABEL, fontSize=10, aria=False).encode(
        x=alt.X("middle:Q"), text=alt.Text("fitting:N")
    )
    return alt.layer(bars, names, data=alt.Data(values=values))


def _bars(row: Row, nodes: _Nodes, left: float, depth: int) -> Iterator[_Bar]:
    """The bars of what is in a node that begins at `left`, and of what no row tells of between them."""
    own = [one for one in nodes.inside.get(row["node"], []) if nodes.time(one) >= THIN * nodes.whole]
    at = left
    for one in own:
        begin = left + nodes.before(one)
        yield from _others(at, begin, depth + 1)
        at = begin + nodes.time(one)
        shown, holder = _joined(one, nodes.inside)
        yield _bar(shown, nodes, begin, depth + 1)
        yield from _bars(holder, nodes, begin, depth + 1)
    if own:
        yield from _others(at, left + nodes.time(row), depth + 1)


def _joined(row: Row, inside: Mapping[int, list[Row]]) -> tuple[Row, Row]:
    """What to show of a node and of the only ones in it, and whose insides come below that."""
    shown = row
    while len(own := inside.get(row["node"], [])) == 1 and own[0]["siblings"] == 1:
        row = own[0]
        shown = row if shown["kind"] not in ("loop", "operation") else shown
    return shown, row


def _bar(row: Row, nodes: _Nodes, left: float, depth: int) -> _Bar:
    name = shorten(clean(row["name"]), NAME)
    times = row["repeat"] if row["kind"] == "loop" else row["count"] if row["kind"] == "iteration" else 1
    label = name.split(": ", 1)[-1]  # its category is less telling, where not all fits
    label, name = (f"{times}× {label}", f"{name} × {times}") if (times or 1) > 1 else (label, name)
    kind, told = nodes.judge(row)
    return _Bar(left, nodes.time(row), depth, label, kind, f"{name}: {told}")


def _others(begin: float, end: float, depth: int) -> Iterator[_Bar]:
    if end - begin > 0:
        yield _Bar(begin, end - begin, depth, "others", OTHER[0], f"{OTHER[0]}: {show(end - begin, 'ns')}")


def _variation(row: Row) -> tuple[str, str]:
    told = f"{show(row['time_ns'], 'ns')}, {show(row['share'], 'share')} of busy; {show(row['count'], 'count')}"
    spread = row["variation"]
    if row["count"] < 2 or spread is None:
        return ONCE[0], f"{told}×"
    kind = next(kind for limit, kind, _ in VARIES if spread < limit)
    return kind, f"{told} × {show(row['mean_ns'], 'ns')}, varies by {show(spread, 'share')}"


def _change(row: Row) -> tuple[str, str]:
    if not row["base_count"] or not row["count"]:
        kind, side = (APPEARED[0], "") if row["count"] else (VANISHED[0], "base_")
        return kind, f"{kind}, {show(row[f'{side}time_ns'], 'ns')}"
    before, now = row["base_time_ns"] / row["base_units"], row["time_ns"] / row["units"]
    ratio = now / before if before else float("inf") if now else 1.0
    kind = next(kind for limit, kind, _ in CHANGED if ratio < limit or limit == float("inf"))
    return kind, f"{show(now, 'ns')} instead of {show(before, 'ns')} per iteration"
