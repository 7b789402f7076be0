"""A chart of the bytes that move in each iteration, by why they move."""

from collections.abc import Mapping
from math import ceil
from typing import Any

from ..text import clean
from ..units import scale, show
from .style import PALETTE, Rows, Specification, added, finished, of_groups, ordinals, some, stacked, tops

__all__ = ["moved_bytes"]

MOST_STACKS = 80


def moved_bytes(rows: Rows) -> Specification:
    """The bytes of each iteration, stacked by direction and cause; of more than 80 iterations the mean of neighbours.

    A row has `iteration`, `kind`, `cause` (both None where nothing moved) and `bytes`.
    """
    import altair as alt

    some([row for row in rows if row["bytes"]], "moved_bytes")
    order = sorted({row["iteration"] for row in rows})
    group = ceil(len(order) / MOST_STACKS)
    place = {iteration: at // group for at, iteration in enumerate(order)}
    whys = list(dict.fromkeys(_why(row) for row in rows if row["bytes"]))
    kept = whys[: len(PALETTE) - 1]
    sums = added(
        (place[row["iteration"]], _why(row) if _why(row) in kept else "other", row["bytes"])
        for row in rows
        if row["bytes"]
    )
    domain = [*kept, *(["other"] if len(whys) > len(kept) else [])]
    sizes = [len(order[at : at + group]) for at in range(0, len(order), group)]
    means = {(at, why): total / sizes[at] for (at, why), total in sums.items()}
    factor, unit = scale(max(tops(means)), "bytes")
    values = [
        {
            "left": order[at * group] - 0.5,
            "right": order[at * group] + sizes[at] - 0.5,
            "why": why,
            "time": means[at, why] / factor,
            "rank": domain.index(why),
            "tip": f"{why}, iteration {order[at * group]}: {show(means[at, why], 'bytes')}",
        }
        for at, why in sorted(means, key=lambda key: (key[0], domain.index(key[1])))
    ]
    span = alt.Scale(domain=[order[0] - 0.5, order[-1] + 0.5], nice=False)
    x = alt.X("left:Q", bin="binned", title="Iteration", axis=ordinals(order), scale=span)
    colours = dict(zip(domain, PALETTE, strict=False))
    title = f"Moved ({unit})" + of_groups(group, "mean")
    chart = stacked(values, x, title, "why", colours).encode(x2=alt.X2("right:Q"))
    totals = [sum(total for (_, why), total in sums.items() if why == one) for one in domain]
    return finished(
        chart, height=200, terminal={"title": "Bytes in all", "unit": "bytes", "labels": domain, "values": totals}
    )


def _why(row: Mapping[str, Any]) -> str:
    return clean(f"{row['kind']}, {row['cause']}")
