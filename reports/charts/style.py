"""What all charts share: colours, the most marks, stacked and named bars, the checked specification."""

from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from ..text import clean, shorten
from ..units import scale

if TYPE_CHECKING:
    import altair as alt

__all__ = [
    "BLUE",
    "MOST_MARKS",
    "PALETTE",
    "RED",
    "STATES",
    "Rows",
    "Specification",
    "added",
    "finished",
    "named_bars",
    "of_groups",
    "ordinals",
    "parts",
    "some",
    "stacked",
    "tops",
]

MOST_MARKS = 2000
"""More rows than this are refused: a chart of more marks is slow to draw and tells no more."""

PALETTE = ("#1b7fc1", "#e69f00", "#009e73", "#56b4e9", "#d55e00", "#cc79a7", "#8c6bb1", "#8a919b")
"""Colours that the colour-blind tell apart (after Okabe and Ito), ordered so that neighbours differ in grey too."""

STATES: Mapping[str, str] = {
    "compute": "#1b7fc1",
    "communication": "#e69f00",
    "copy": "#009e73",
    "fill": "#8c6bb1",
    "idle": "#c3c9d1",
}
"""What a device does, and its colour in every report."""

Rows = Sequence[Mapping[str, Any]]
Specification = dict[str, Any]

BLUE, RED = PALETTE[0], PALETTE[4]
_NAME, _SHORT_NAME, _PHONE = 90, 30, 500  # letters of a name above its bar, those on a phone, and what is a phone


def stacked(values: Rows, x: "alt.X", title: str, by: str, colours: Mapping[str, str]) -> "alt.Chart":
    """Bars of `time`, stacked by that field in the order of `rank`."""
    import altair as alt

    scale_ = alt.Scale(domain=list(colours), range=list(colours.values()))
    return (
        alt.Chart(alt.Data(values=values))
        .mark_bar()
        .encode(
            x=x,
            y=alt.Y("time:Q", title=title),
            color=alt.Color(f"{by}:N", scale=scale_),
            order=alt.Order("rank:Q"),
            description=alt.Description("tip:N"),
        )
    )


def named_bars(bars: list[tuple[str, float, str]]) -> Specification:
    """Horizontal bars with the name above each: long names need no margin, and fit a phone."""
    import altair as alt

    factor, unit = scale(max(total for _, total, _ in bars), "ns")
    values = [
        {
            "place": at,
            "name": shorten(clean(name), _NAME),
            "short": shorten(clean(name), _SHORT_NAME),
            "time": total / factor,
            "text": text,
            "tip": f"{shorten(clean(name), _NAME)}: {text}",
        }
        for at, (name, total, text) in enumerate(bars)
    ]
    fitting = f"width < {_PHONE} ? datum.short : datum.name"
    base = alt.Chart().transform_calculate(fitting=fitting).encode(y=alt.Y("place:O", axis=None))
    x = alt.X("time:Q", title=f"Time ({unit})", scale=alt.Scale(nice=False))
    bar = base.mark_bar(color=BLUE, height=9, yOffset=8).encode(x=x, description=alt.Description("tip:N"))
    name = base.mark_text(align="left", baseline="middle", dy=-7).encode(x=alt.datum(0), text=alt.Text("fitting:N"))
    amount = base.mark_text(align="right", baseline="middle", dy=-7).encode(
        x=alt.datum(values[0]["time"]), text=alt.Text("text:N")
    )
    return finished(
        alt.layer(bar, name, amount, data=alt.Data(values=values)),
        height={"step": 34},
        terminal={
            "title": "Time",
            "labels": [value["name"] for value in values],
            "values": [total for _, total, _ in bars],
        },
    )


def finished(chart: Any, *, height: Any, terminal: Mapping[str, Any]) -> Specification:
    """The chart as a plain specification, checked for size; the tests hold it against the schema, which takes long."""
    specification: Specification = chart.properties(width=640, height=height).to_dict(validate=False)
    specification.pop("config", None)  # Altair's defaults; the page brings its own look
    marks = len(specification["data"]["values"])
    if marks > MOST_MARKS:
        raise ValueError(f"a chart of {marks} marks; the most is {MOST_MARKS}")
    return specification | {"usermeta": {"terminal": dict(terminal)}}


def some(rows: Rows, builder: str) -> None:
    """Refuses no rows with a `ValueError`: what was not collected is said, not drawn."""
    if not rows:
        raise ValueError(f"{builder}: no rows to draw")


def added(amounts: Iterable[tuple[Any, Any, float]]) -> dict[tuple[Any, Any], float]:
    """The third values added up by the first two."""
    sums: dict[tuple[Any, Any], float] = defaultdict(int)
    for first, second, amount in amounts:
        sums[first, second] += amount
    return dict(sums)


def tops(parts: Mapping[tuple[Any, Any], float]) -> Iterable[float]:
    """The heights of stacks: parts added up by the first of their keys."""
    return added((first, None, amount) for (first, _), amount in parts.items()).values()


def parts(items: Sequence[Any], size: int) -> list[Sequence[Any]]:
    """The items in groups of so many neighbours; the last may be smaller."""
    return [items[at : at + size] for at in range(0, len(items), size)]


def of_groups(group: int, what: str) -> str:
    """What an axis says of values that stand for a group of neighbours."""
    return f", {what} of {group} each" if group > 1 else ""


def ordinals(numbers: Sequence[int]) -> "alt.Axis":
    """An axis with a tick at whole numbers only, at most a dozen."""
    import altair as alt

    first, last = min(numbers), max(numbers)
    step = max(1, -(-(last - first) // 12))
    return alt.Axis(format="d", values=list(range(first, last + 1, step)), labelOverlap=True)
