"""The rows above and below the lanes of a timeline: what the trace says besides the operations themselves."""

from collections.abc import Callable, Iterator, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from ..mining.finding import Finding
from ..store.trace import Trace
from .report import Curve, Overlay
from .units import show

if TYPE_CHECKING:
    import polars as pl

__all__ = ["MOST_SAMPLES", "MOST_SPANS", "curves", "overlays"]

Span = tuple[int, int, str]
MOST_SPANS = 2_000
"""Spans of a row; of more, neighbours are shown as one."""
MOST_SAMPLES = 1_000
MOST_ROWS = 8
"""Rows of a kind: processes, directions, counters."""

KINDS = {"annotation": "annotations", "nvtx": "NVTX ranges"}
MARKS = """
select process, kind, greatest(start_ns, {first}) as start_ns, least(end_ns, {last}) as end_ns, name
from range
where kind in ('annotation', 'nvtx') and end_ns > start_ns and start_ns < {last} and end_ns > {first}
order by process, kind, start_ns, end_ns desc, name
"""
COPIES = """
select coalesce(kind, 'of unknown direction') as kind, start_ns, end_ns, bytes
from copy
where flaw is distinct from 'no start'
order by kind, start_ns, end_ns
"""
FAULTS = """
select concat_ws(' ', 'page faults', kind) as kind, start_ns, coalesce(end_ns, start_ns) as end_ns, pages as faults
from fault
where start_ns between {first} and {last}
order by 1, start_ns
"""
MIGRATIONS = """
select kind, start_ns, coalesce(end_ns, start_ns) as end_ns, bytes
from migration
where start_ns between {first} and {last}
order by 1, start_ns
"""
SAMPLES = """
select concat_ws(' ', name, case when device >= 0 then concat('of device ', device) end) as label, process,
    any_value(unit) over (partition by name, device, process) as unit, time_ns, value
from counter
where value is not null and time_ns between {first} and {last}
order by count(*) over (partition by name, device, process) desc, label, process, time_ns
"""


def overlays(trace: Trace, ask: Callable[[str], Finding], first_ns: int, last_ns: int) -> tuple[Overlay, ...]:
    """The rows that the trace has, those between the two times: each only where something is on it."""
    within = {"first": first_ns, "last": last_ns}
    shown = list(_iterations(ask, first_ns, last_ns))
    if trace.has("range"):
        shown += _marks(trace.sql(MARKS.format(**within)))
    shown += _patterns(ask, first_ns, last_ns)
    for table, sql, group, unit, what in (
        ("copy", COPIES, "copies", "bytes", "copies"),
        ("fault", FAULTS, "page faults", "faults", "groups"),
        ("migration", MIGRATIONS, "migrations", "bytes", "migrations"),
    ):
        if trace.has(table):
            shown += _by_kind(trace.sql(sql.format(**within)), group, unit, what)
    return tuple(overlay for overlay in shown if overlay.spans)


def curves(trace: Trace, first_ns: int, last_ns: int) -> tuple[Curve, ...]:
    """The counters with most samples, of those whose value changes."""
    if not trace.has("counter"):
        return ()
    rows = trace.sql(SAMPLES.format(first=first_ns, last=last_ns))
    parts = rows.partition_by("label", "process", maintain_order=True)
    many = rows["process"].n_unique() > 1
    changing = [part for part in parts if part["value"].n_unique() > 1][:MOST_ROWS]
    return tuple(_curve(part, many=many) for part in changing)


def _curve(part: "pl.DataFrame", *, many: bool) -> Curve:
    label, process, unit = part.select("label", "process", "unit").row(0)
    time, value = part["time_ns"].to_numpy(), part["value"].to_numpy()
    keep = _extremes(value)
    return Curve(f"{label} of process {process}" if many else str(label), time[keep], value[keep], unit or "")


def _extremes(value: Any) -> Any:
    """Where to sample: everything, or the least and the most of each of equal runs, so that no peak is lost."""
    if len(value) <= MOST_SAMPLES:
        return np.arange(len(value))
    edges = np.linspace(0, len(value), MOST_SAMPLES // 2, dtype=np.int64, endpoint=False)
    runs = np.split(value, edges[1:])
    kept = [edge + at for edge, run in zip(edges, runs, strict=True) for at in (run.argmin(), run.argmax())]
    return np.unique([*kept, 0, len(value) - 1])


def _iterations(ask: Callable[[str], Finding], first_ns: int, last_ns: int) -> Iterator[Overlay]:
    rows = ask("iteration_times").rows
    for part in rows.partition_by("process", maintain_order=True)[:MOST_ROWS]:
        spans = [
            (row["start_ns"], row["end_ns"], f"iteration {row['iteration']}")
            for row in part.iter_rows(named=True)
            if row["start_ns"] < last_ns and row["end_ns"] > first_ns
        ]
        yield Overlay(f"iterations of process {part['process'][0]}", gathered(spans, "iterations"), "iterations")


def _patterns(ask: Callable[[str], Finding], first_ns: int, last_ns: int) -> Iterator[Overlay]:
    rows = ask("occurrences").rows
    within = rows.filter((rows["start_ns"] < last_ns) & (rows["end_ns"] > first_ns))
    for part in within.partition_by("pattern", maintain_order=True):
        name = f"pattern {part['pattern'][0]}"
        spans = [(start, end, name) for start, end in part.select("start_ns", "end_ns").iter_rows()]
        yield Overlay(f"{name} of process {part['process'][0]}", gathered(spans, "occurrences"), "patterns")


def _marks(marks: "pl.DataFrame") -> Iterator[Overlay]:
    for kind, group in KINDS.items():
        of_kind = marks.filter(marks["kind"] == kind).partition_by("process", maintain_order=True)
        for part in of_kind[:MOST_ROWS]:
            yield Overlay(f"{group} of process {part['process'][0]}", gathered(_outermost(part), group), group)


def _outermost(marks: "pl.DataFrame") -> list[Span]:
    """The spans that lie in no other: the rest would be drawn over them."""
    kept: list[int] = []
    end = -1
    # Which spans are kept depends on those kept before: no operation on whole columns says that.
    for at, (start, stop) in enumerate(marks.select("start_ns", "end_ns").iter_rows()):
        if not kept or start >= end:
            kept.append(at)
            end = stop
    rows = marks[kept].select("start_ns", "end_ns", "name").iter_rows()
    return [(start, stop, name or "(no name)") for start, stop, name in rows]


def _by_kind(rows: "pl.DataFrame", group: str, unit: str, what: str) -> Iterator[Overlay]:
    """A row for each kind; those with most rows."""
    parts = sorted(rows.partition_by("kind", maintain_order=True), key=len, reverse=True)[:MOST_ROWS]
    for part in sorted(parts, key=lambda part: part["kind"][0]):
        kind = str(part["kind"][0])
        spans = [
            (start, end, f"{kind} {_amount(amount, unit)}".rstrip())
            for start, end, amount in part.select("start_ns", "end_ns", unit).iter_rows()
        ]
        label = kind if kind.startswith(group) else f"{group} {kind}"
        yield Overlay(label, gathered(spans, what), group)


def _amount(amount: int | None, unit: str) -> str:
    if amount is None:
        return ""
    return show(amount, "bytes") if unit == "bytes" else f"{show(amount, 'count')} {unit}"


def gathered(spans: Sequence[Span], what: str, most: int = MOST_SPANS) -> list[Span]:
    """The spans, at most so many: of more, equal numbers of neighbours become one that says how many it holds.

    >>> gathered([(0, 1, "a"), (2, 3, "b"), (5, 9, "c")], "copies", most=2)
    [(0, 3, '2 copies: a to b'), (5, 9, 'c')]
    """
    size = -(-len(spans) // most)
    if size <= 1:
        return list(spans)
    groups = [spans[at : at + size] for at in range(0, len(spans), size)]
    return [(one[0][0], max(end for _, end, _ in one), _together(one, what)) for one in groups]


def _together(spans: Sequence[Span], what: str) -> str:
    first, last = spans[0][2], spans[-1][2]
    if len(spans) == 1:
        return first
    return f"{len(spans)} {what}: {first}" + (f" to {last}" if first != last else "")
