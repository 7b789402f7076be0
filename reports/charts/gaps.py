"""Charts of idle time."""

from collections.abc import Mapping
from math import floor, log10
from typing import Any

from ..text import clean
from ..units import scale, show
from .style import PALETTE, Rows, Specification, added, finished, some, stacked, tops

__all__ = ["gap_histogram"]


def gap_histogram(rows: Rows) -> Specification:
    """Idle time by the length of the gaps that make it up (bins of 1, 2, 5, 10, ...), stacked by cause.

    A row has `duration_ns` (more than 0) and `cause`; or, where SQL has added gaps up already, `total_ns` and the
    `duration_ns` of one of them. The seven causes that cost most keep their colour, the rest is "other".
    """
    import altair as alt

    some(rows, "gap_histogram")
    if any(row["duration_ns"] <= 0 for row in rows):
        raise ValueError("gap_histogram: a gap lasts more than 0 ns")
    gaps = [(_bin(row["duration_ns"]), clean(str(row["cause"])), _total(row)) for row in rows]
    by_cause = added((cause, None, total) for _, cause, total in gaps)
    costly = sorted(by_cause, key=lambda key: (-by_cause[key], key[0]))
    kept = [cause for cause, _ in costly[: len(PALETTE) - 1]]
    sums = added((at, cause if cause in kept else "other", total) for at, cause, total in gaps)
    domain = list(dict.fromkeys([*kept, "other"] if len(costly) > len(kept) else kept))
    factor, unit = scale(max(tops(sums)), "ns")
    bins = range(min(at for at, _ in sums), max(at for at, _ in sums) + 1)
    labels = {at: _whole(_edge(at)) for at in bins}
    ranks = {cause: rank for rank, cause in enumerate(domain)}
    values = [
        {
            "gap": labels[at],
            "cause": cause,
            "time": sums[at, cause] / factor,
            "rank": ranks[cause],
            "tip": f"{cause}, gaps of at least {labels[at]}: {show(sums[at, cause], 'ns')}",
        }
        for at, cause in sorted(sums, key=lambda key: (key[0], ranks[key[1]]))
    ]
    axis = alt.Axis(labelAngle=-40)
    x = alt.X("gap:O", title="Gap of at least", axis=axis, scale=alt.Scale(domain=list(labels.values())))
    colours = dict(zip(domain, PALETTE, strict=False))
    chart = stacked(values, x, f"Idle time ({unit})", "cause", colours)
    whole = [sum(total for (at, _), total in sums.items() if at == place) for place in bins]
    terminal = {"title": "Idle time in gaps of at least", "labels": list(labels.values()), "values": whole}
    return finished(chart, height=220, terminal=terminal)


def _total(row: Mapping[str, Any]) -> int:
    return row.get("total_ns", row["duration_ns"])


def _whole(edge_ns: int) -> str:
    """The edge of a bin, which is a round number in its unit."""
    factor, unit = scale(edge_ns, "ns")
    return f"{edge_ns / factor:g} {unit}"


def _bin(duration: float) -> int:
    """The number of the bin 1, 2, 5, 10, 20, ... that holds the duration."""
    at = 3 * floor(log10(duration))
    while _edge(at + 1) <= duration:
        at += 1
    return at


def _edge(at: int) -> int:
    return (1, 2, 5)[at % 3] * 10 ** (at // 3)
