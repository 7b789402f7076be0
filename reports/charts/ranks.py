"""Charts that set the ranks of a run side by side."""

from collections.abc import Sequence
from statistics import median
from typing import Any

from ..text import clean
from ..units import scale, show
from .style import BLUE, MOST_MARKS, RED, Rows, Specification, finished, of_groups, ordinals, parts, some

__all__ = ["MOST_RANKS", "iteration_boxes", "lateness_matrix"]

MOST_RANKS = 64
"""Ranks that a chart shows: of more, those of the largest values."""
_MOST_STEPS = 60
_FAINT, _NOTABLE = 0.06, 0.1  # the least opacity of a field; a lateness of this share of the usual time is no faint one


def iteration_boxes(rows: Rows) -> Specification:
    """The iteration times of each rank: a line from least to most, a box from first to third quartile, the median.

    A row has `place`, `label`, `iterations`, `least_ns`, `p25_ns`, `p50_ns`, `p75_ns` and `most_ns`. Of more than 64
    ranks those of the longest medians are drawn.
    """
    import altair as alt

    some(rows, "iteration_boxes")
    chosen = sorted(sorted(rows, key=lambda row: -row["p50_ns"])[:MOST_RANKS], key=lambda row: row["place"])
    factor, unit = scale(max(row["most_ns"] for row in chosen), "ns")
    keys = ("least", "p25", "p50", "p75", "most")
    values = [
        {
            "rank": clean(row["label"]),
            **{key: row[f"{key}_ns"] / factor for key in keys},
            "tip": f"rank {clean(row['label'])}: {show(row['iterations'], 'count')} iterations, median "
            f"{show(row['p50_ns'], 'ns')}, {show(row['least_ns'], 'ns')} to {show(row['most_ns'], 'ns')}",
        }
        for row in chosen
    ]
    y = alt.Y("rank:O", title="Rank" + _of(len(chosen), len(rows)), sort=None)
    title = f"Time of an iteration ({unit})"
    base = alt.Chart().encode(y=y)
    line = base.mark_rule(color=BLUE).encode(x=_x("least", title), x2=alt.X2("most:Q"))
    box = base.mark_bar(color=BLUE, height=8, opacity=0.45).encode(
        x=_x("p25", title), x2=alt.X2("p75:Q"), description=alt.Description("tip:N")
    )
    middle = base.mark_tick(color=RED, thickness=2, size=12).encode(x=_x("p50", title))
    return finished(
        alt.layer(line, box, middle, data=alt.Data(values=values)),
        height={"step": 16},
        terminal={
            "title": "Median time of an iteration",
            "labels": [f"rank {value['rank']}" for value in values],
            "values": [row["p50_ns"] for row in chosen],
        },
    )


def lateness_matrix(rows: Rows) -> Specification:
    """How late each rank is in each step: the more, the stronger a field; one that is not late is faint.

    A row has `place`, `label`, `step`, `late_ns` and `others_ns`. Of more than 64 ranks those of the greatest median
    lateness are drawn; neighbouring steps are put together, and their median drawn, where there are too many.
    """
    import altair as alt

    some(rows, "lateness_matrix")
    by_rank: dict[int, list[Any]] = {}
    for row in rows:
        by_rank.setdefault(row["place"], []).append(row)
    late = {place: median(row["late_ns"] for row in own) for place, own in by_rank.items()}
    chosen = sorted(sorted(late, key=lambda place: (-late[place], place))[:MOST_RANKS])
    steps = sorted({row["step"] for row in rows})
    group = -(-len(steps) // min(_MOST_STEPS, MOST_MARKS // len(chosen)))
    at = {step: number for number, some_steps in enumerate(parts(steps, group)) for step in some_steps}
    fields = [field for place in chosen for field in _fields(by_rank[place], at)]
    least = _NOTABLE * median(row["others_ns"] for row in rows)
    factor, unit = scale(max(least, *(value for _, _, value in fields)), "ns")
    firsts = [some_steps[0] for some_steps in parts(steps, group)]
    values = [
        {
            "rank": label,
            "left": firsts[number] - 0.5,
            "right": (firsts[number + 1] if number + 1 < len(firsts) else steps[-1] + 1) - 0.5,
            "late": max(value, 0) / factor,
            "tip": f"rank {label}, step {firsts[number]}: {show(value, 'ns')} late",
        }
        for label, number, value in fields
    ]
    domain = [0, max(least / factor, *(value["late"] for value in values))]
    strength = alt.Opacity(
        "late:Q",
        title=f"Later than the others ({unit})" + of_groups(group, "median"),
        scale=alt.Scale(domain=domain, range=[_FAINT, 1]),
        legend=alt.Legend(orient="top", symbolType="square", symbolFillColor=RED, symbolStrokeWidth=0, tickCount=4),
    )
    chart = (
        alt.Chart(alt.Data(values=values))
        .mark_rect(color=RED)
        .encode(
            x=alt.X(
                "left:Q", bin="binned", title="Step", axis=ordinals(steps), scale=alt.Scale(zero=False, nice=False)
            ),
            x2=alt.X2("right:Q"),
            y=alt.Y("rank:O", title="Rank" + _of(len(chosen), len(late)), sort=None),
            opacity=strength,
            description=alt.Description("tip:N"),
        )
    )
    labels = [clean(by_rank[place][0]["label"]) for place in chosen]
    terminal = {
        "title": "Median lateness beside the other ranks",
        "labels": [f"rank {label}" for label in labels],
        "values": [max(late[place], 0) for place in chosen],
    }
    return finished(chart, height={"step": 16}, terminal=terminal)


def _fields(rows: Sequence[Any], at: dict[int, int]) -> list[tuple[str, int, float]]:
    """The label, the number of the group of steps, and the median lateness in it."""
    grouped: dict[int, list[float]] = {}
    for row in rows:
        grouped.setdefault(at[row["step"]], []).append(row["late_ns"])
    return [(clean(rows[0]["label"]), number, median(values)) for number, values in sorted(grouped.items())]


def _x(key: str, title: str) -> Any:
    import altair as alt

    return alt.X(f"{key}:Q", title=title, scale=alt.Scale(zero=False))


def _of(shown: int, there: int) -> str:
    return f", {shown} of {there}" if shown < there else ""
