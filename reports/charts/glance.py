"""The chart of all metrics of a series at a glance: a small line for each, on one scale."""

from collections.abc import Iterator, Mapping
from typing import Any

from ..text import clean
from .style import BLUE, PALETTE, RED, Rows, Specification, finished, ordinals, some

__all__ = ["MOST_RUNS", "glance"]

MOST_RUNS = 120
"""Of more runs than this the latest are drawn."""
FARTHEST = 0.1
"""Changes beyond this share are drawn there."""
VERDICTS: Mapping[str, str] = {
    "regression": RED,
    "inconclusive": PALETTE[1],
    "improvement": PALETTE[2],
    "neutral": BLUE,
}
ROW = 46


def glance(rows: Rows) -> Specification:
    """A line for each metric: how far each run lies from the median of the baseline, up and down to 10 %.

    A row has `metric` (its title), `verdict`, `said` (what stands beside the title), `runs`: pairs of a run's number
    and its change, a share; `changes`: the numbers of runs with which the history changed; and `judged`: whether the
    metric has a baseline. Without one there is no change to tell in text.
    """
    import altair as alt

    some(rows, "glance")
    judged = [row for row in rows if row["judged"]]
    last = max(number for row in rows for number, _ in row["runs"])
    first = max(min(number for row in rows for number, _ in row["runs"]), last - MOST_RUNS + 1)
    values = list(_values(rows, first))
    there = [verdict for verdict in VERDICTS if any(row["verdict"] == verdict for row in rows)]
    colour = alt.Color(
        "verdict:N", title=None, scale=alt.Scale(domain=there, range=[VERDICTS[verdict] for verdict in there])
    )
    scale = alt.Scale(domain=[0, len(rows)], nice=False)
    y = alt.Y("level:Q", axis=None, scale=scale)
    x = alt.X(
        "place:Q",
        title="Run, in order of time",
        axis=ordinals([first, max(last, first + 1)]),
        scale=alt.Scale(domain=[first, max(last, first + 1)], nice=False),
    )
    base = alt.Chart().encode(x=x, y=y)
    zero = (
        base.transform_filter("datum.kind === 'zero'")
        .mark_rule(color="#c3c9d1")
        .encode(x=alt.X("place:Q"), x2=alt.X2("until:Q"))
    )
    line = (
        base.transform_filter("datum.kind === 'run'")
        .mark_line(strokeWidth=1.3, aria=False)
        .encode(color=colour, detail=alt.Detail("metric:N"))
    )
    change = (
        base.transform_filter("datum.kind === 'change'")
        .mark_rule(color=PALETTE[1], strokeDash=[4, 3], strokeWidth=1.5)
        .encode(y2=alt.Y2("until:Q"), description=alt.Description("tip:N"))
    )
    name = (
        base.transform_filter("datum.kind === 'zero'")
        .mark_text(align="left", baseline="bottom", fontSize=11)
        .encode(y=alt.Y("above:Q", axis=None, scale=scale), text=alt.Text("said:N"))
    )
    return finished(
        alt.layer(zero, change, line, name, data=alt.Data(values=values)),
        height=ROW * len(rows),
        terminal={
            "title": "Change of the last run",
            "unit": "share",
            "labels": [clean(row["metric"]) for row in judged],
            "values": [row["runs"][-1][1] for row in judged],
        },
    )


def _values(rows: Rows, first: int) -> Iterator[dict[str, Any]]:
    """The marks of each metric, the first on top; a level is the middle of its row plus its change."""
    for at, row in enumerate(rows):
        middle, metric = len(rows) - at - 0.65, clean(row["metric"])
        drawn = [(number, change) for number, change in row["runs"] if number >= first]
        if not drawn:
            continue
        said = f"{metric}: {clean(row['said'])}"
        ends = {"place": drawn[0][0], "until": drawn[-1][0], "level": middle, "above": middle + 0.33}
        yield {"kind": "zero", "metric": metric, "said": said, **ends}
        for number in row["changes"]:
            if number > first:
                tip = f"{metric} changed with run {number}"
                edges = {"place": number - 0.5, "level": middle - 0.33, "until": middle + 0.33}
                yield {"kind": "change", "metric": metric, "tip": tip, **edges}
        for number, change in drawn:
            level = middle + 0.3 * max(min(change / FARTHEST, 1), -1)
            yield {"kind": "run", "metric": metric, "verdict": row["verdict"], "place": number, "level": level}
