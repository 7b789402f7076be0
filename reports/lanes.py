"""The timeline of a trace: its device operations on a lane for each stream, iterations and patterns above them."""

from collections.abc import Callable
from typing import TYPE_CHECKING

from ..mining.finding import Finding
from ..store.trace import Trace
from .report import Lane, Overlay, Timeline

if TYPE_CHECKING:
    import polars as pl

__all__ = ["MOST_OPERATIONS", "timeline"]

MOST_OPERATIONS = 250_000
"""Operations carried in a page; of a longer trace the beginning is shown, and the rest is counted."""
MOST_SPANS = 4_000
MOST_PROCESSES = 8

MARKS = """
select process, greatest(start_ns, {first}) as shown_ns, end_ns, coalesce(name, '') as name
from range
where kind in ('annotation', 'nvtx') and end_ns > start_ns and start_ns < {last} and end_ns > {first}
order by process, shown_ns, end_ns desc, name
limit {most}
"""

WORK = {
    "kernel": "coalesce(name, '(no name)')",
    "copy": "concat_ws(' ', 'copy', kind)",
    "fill": "'fill'",
}


def timeline(trace: Trace, ask: Callable[[str], Finding]) -> Timeline:
    """The timeline; the trace has device work and has been mined for `member`, `iteration` and `pattern`."""
    there = [name for name in WORK if trace.has(name)]
    sql = "\nunion all\n".join(
        f"select process, device, stream, start_ns, end_ns, {WORK[name]} as name from {name} "
        "where flaw is distinct from 'no start'"
        for name in there
    )
    ordered = f"{sql}\norder by process, device, stream, start_ns, end_ns, name"
    work = trace.sql(f"select * from ({sql}) order by start_ns, end_ns, stream limit {MOST_OPERATIONS}")
    whole = sum(trace.rows[name] for name in there)
    names = work["name"].unique().sort()
    numbers = dict(zip(names.to_list(), range(len(names)), strict=True))
    work = work.with_columns(work["name"].replace_strict(numbers).alias("number"))
    lanes = [_lane(part, sql) for part in work.partition_by("process", "device", "stream", maintain_order=True)]
    last = int(work["end_ns"].max())  # pyright: ignore[reportArgumentType] - a column of whole numbers, not empty
    first = int(work["start_ns"][0])
    overlays = _overlays(ask, trace, first - (last - first) // 10, last)
    return Timeline(
        title="Device operations by stream",
        base_ns=min([first, *(overlay.spans[0][0] for overlay in overlays)]),
        names=names.to_list(),
        lanes=sorted(lanes, key=lambda lane: lane.label),
        sql=ordered,
        overlays=overlays,
        left_out=whole - len(work),
    )


def _lane(work: "pl.DataFrame", sql: str) -> Lane:
    process, device, stream = work.select("process", "device", "stream").row(0)
    return Lane(
        label=f"process {process} device {device} stream {stream}",
        start_ns=work["start_ns"].to_numpy(),
        duration_ns=(work["end_ns"] - work["start_ns"]).to_numpy(),
        name=work["number"].to_numpy(),
        sql=f"select * from ({sql})\nwhere process = {process} and device = {device} and stream = {stream}",
    )


def _overlays(ask: Callable[[str], Finding], trace: Trace, first_ns: int, last_ns: int) -> tuple[Overlay, ...]:
    """Iterations and annotations of each process, those of them that the stretch of time shown holds or cuts."""
    rows = ask("iteration_times").rows
    shown = [
        Overlay(
            _label("iterations", part),
            [
                (row["start_ns"], row["end_ns"], f"iteration {row['iteration']}")
                for row in part.head(MOST_SPANS).iter_rows(named=True)
                if row["start_ns"] < last_ns
            ],
        )
        for part in rows.partition_by("process", maintain_order=True)[:MOST_PROCESSES]
    ]
    if trace.has("range"):
        marks = trace.sql(MARKS.format(first=first_ns, last=last_ns, most=MOST_SPANS))
        shown += [
            Overlay(_label("annotations", part), _outermost(part.drop("process")))
            for part in marks.partition_by("process", maintain_order=True)[:MOST_PROCESSES]
        ]
    return tuple(overlay for overlay in shown if overlay.spans)


def _label(what: str, rows: "pl.DataFrame") -> str:
    return f"{what} of process {rows['process'][0]}"


def _outermost(marks: "pl.DataFrame") -> list[tuple[int, int, str]]:
    """The spans that lie in no other: the rest would be drawn over them."""
    spans: list[tuple[int, int, str]] = []
    for start, end, name in marks.iter_rows():
        if not spans or start >= spans[-1][1]:
            spans.append((start, end, name))
    return spans
