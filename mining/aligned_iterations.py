"""One iteration of a run beside one of another: which operations were inserted, removed, slower or faster."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from ..store.query import run as ask
from ..store.trace import Trace
from .alignment import MOST_EDITS, align, columns_of
from .contents import Texts
from .headline import steps
from .sequence import sequences
from .stretches import Dictionary

__all__ = ["Aligned", "aligned"]

TIMES, SHARE = 1.1, 0.005
"""A matched operation is slower or faster if it takes this many times as long, and by this share of the iteration."""

TYPICAL = """
select trace_id, process, median(time_ns) as median_ns, count(*) as steps
from steady
group by trace_id, process
order by trace_id, process
"""
MIDDLE = """
select iteration.iteration, iteration.sequence, iteration.first, iteration.last, iteration.from_ns, iteration.time_ns
from steady
join main using (trace_id, process)
join iteration
    on iteration.trace_id = steady.trace_id
    and iteration.level = main.level
    and iteration.iteration = steady.iteration
where steady.process = {process}
order by iteration.time_ns, iteration.iteration
limit 1
offset {before}
"""


@dataclass(frozen=True, eq=False)
class _Iteration:
    """A typical iteration: its number, time and operations; their starts are from its own on."""

    trace: Trace
    process: int
    number: int
    time_ns: int
    keys: list[str]
    labels: list[str]
    start_ns: list[int]
    duration_ns: list[int]


@dataclass(frozen=True)
class Aligned:
    """Two iterations, operation by operation: `rows` in order, with the `mark` same, slower, faster, inserted, removed.

    A replaced operation is one removed and one inserted. `base` and `other` tell which iterations they are: `name` of
    the trace's file, `process`, `iteration`, `time_ns`. `edits` is the number of operations inserted or removed.
    """

    base: Mapping[str, Any]
    other: Mapping[str, Any]
    rows: Sequence[Mapping[str, Any]]
    edits: int


def aligned(base: Sequence[Trace], other: Sequence[Trace]) -> Aligned | None:
    """The iteration of median time of the slowest process of a run, beside that of the same process of a base run.

    None where one of them has no steady iterations, or they have more than `alignment.MOST_EDITS` differences.
    """
    places = [_places(run) for run in (base, other)]
    if not all(places):
        return None
    place = max(range(len(places[1])), key=lambda at: places[1][at][2])
    one = _middle(*(places[0][place] if place < len(places[0]) else max(places[0], key=lambda found: found[2])))
    two = _middle(*places[1][place])
    rows = _rows(one, two)
    if rows is None:
        return None
    return Aligned(_told(one), _told(two), rows, sum(row["mark"] in ("inserted", "removed") for row in rows))


def _told(one: _Iteration) -> dict[str, Any]:
    name = one.trace.source.rpartition("/")[2]
    return {"name": name, "process": one.process, "iteration": one.number, "time_ns": one.time_ns}


def _places(run: Sequence[Trace]) -> list[tuple[Trace, int, float, int]]:
    """The processes of a run that have steady iterations: trace, process, their median and number."""
    found: list[tuple[Trace, int, float, int]] = []
    for trace in run:
        if trace.has("iteration"):
            rows = ask({trace.id: trace.files}, f"with {steps({'run': [trace.id]})}\n{TYPICAL.strip()}").rows()
            found += [(trace, process, median, count) for _, process, median, count in rows]
    return found


def _middle(trace: Trace, process: int, _median: float, count: int) -> _Iteration:
    """The iteration of median time of a process."""
    query = MIDDLE.format(process=process, before=(count - 1) // 2).strip()
    number, sequence, first, last, from_ns, time_ns = ask(
        {trace.id: trace.files}, f"with {steps({'run': [trace.id]})}\n{query}"
    ).row(0)
    found = sequences(trace, symbols="name")[sequence]
    part = slice(first, last + 1)
    symbols = found.symbols[part].tolist()
    return _Iteration(
        trace,
        process,
        number,
        time_ns,
        [found.keys[symbol] for symbol in symbols],
        [found.labels[symbol] for symbol in symbols],
        (found.start_ns[part] - from_ns).tolist(),
        (found.end_ns[part] - found.start_ns[part]).tolist(),
    )


def _rows(one: _Iteration, two: _Iteration) -> list[dict[str, Any]] | None:
    """The operations of both in the order of the iteration, matched ones in one row."""
    dictionary = Dictionary()
    base, other = (dictionary.numbers(side.keys, side.labels) for side in (one, two))
    texts = Texts(other, np.array([0]), np.array([len(other)]))
    found = align(base, texts, MOST_EDITS)
    if found.distance[0] < 0:
        return None
    columns = columns_of(found, texts).tolist()
    pairs = [(column, place) for place, column in enumerate(columns) if column >= 0]
    rows: list[dict[str, Any]] = []
    at = [0, 0]
    for column, place in [*pairs, (len(base), len(other))]:
        rows += [_row("removed", (one, left), None) for left in range(at[0], column)]
        rows += [_row("inserted", None, (two, left)) for left in range(at[1], place)]
        if column < len(base):
            rows.append(_row(_mark(one, two, column, place), (one, column), (two, place)))
        at = [column + 1, place + 1]
    return rows


def _mark(one: _Iteration, two: _Iteration, column: int, place: int) -> str:
    before, now = one.duration_ns[column], two.duration_ns[place]
    if abs(now - before) < SHARE * one.time_ns or max(now, before) < TIMES * min(now, before):
        return "same"
    return "slower" if now > before else "faster"


def _row(mark: str, one: tuple[_Iteration, int] | None, two: tuple[_Iteration, int] | None) -> dict[str, Any]:
    """A row of an operation in either iteration or both, given by its place."""
    row: dict[str, Any] = {"mark": mark, "name": ""}
    for side, prefix in ((one, "base_"), (two, "")):
        there, at = side if side is not None else (None, 0)
        row |= {
            f"{prefix}place": None if there is None else at,
            f"{prefix}start_ns": None if there is None else there.start_ns[at],
            f"{prefix}ns": None if there is None else there.duration_ns[at],
        }
        if there is not None:
            row["name"] = there.labels[at]
    return row | {"delta_ns": (row["ns"] or 0) - (row["base_ns"] or 0)}
