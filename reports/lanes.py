"""The timeline of a trace: its device operations on a lane for each stream, and what else the trace says there."""

from collections.abc import Callable
from typing import TYPE_CHECKING

from ..mining.finding import Finding
from ..mining.naming import called
from ..store.trace import Trace
from .overlays import curves, overlays
from .report import Lane, Timeline

if TYPE_CHECKING:
    import polars as pl

__all__ = ["timeline"]

MOST_SLOW = 3

ROWS = """
with work as (
{work}
),
named as (select name, row_number() over (order by name) - 1 as number from (select distinct name from work))
select process, device, stream, start_ns, end_ns - start_ns as duration_ns, number::uinteger as number
from work
join named using (name)
order by process, device, stream, start_ns, end_ns, number
"""
BUSY = """
select process, device, stream, count(*) as operations,
    sum(greatest(end_ns - greatest(start_ns, coalesce(before_ns, start_ns)), 0))::bigint as busy_ns
from (
    select *, max(end_ns) over (
        partition by process, device, stream
        order by start_ns
        rows between unbounded preceding and 1 preceding
    ) as before_ns
    from (
{work}
    )
)
group by process, device, stream
order by process, device, stream
"""


def timeline(trace: Trace, ask: Callable[[str], Finding]) -> Timeline:
    """The timeline; the trace has device work and has been mined for `member`, `iteration` and `pattern`."""
    there = {table: name for table, name in called().items() if trace.has(table)}
    work = "\nunion all\n".join(
        f"select '{table}' as kind, process, device, stream, start_ns, end_ns, {name} as name, correlation\n"
        f"from {table}\nwhere flaw is distinct from 'no start'"
        for table, name in there.items()
    )
    rows = trace.sql(ROWS.format(work=work))
    names = trace.sql(f"select distinct name from (\n{work}\n) order by name")["name"].to_list()
    first = int(rows["start_ns"].min())  # pyright: ignore[reportArgumentType] - a column of whole numbers, not empty
    last = int((rows["start_ns"] + rows["duration_ns"]).max())  # pyright: ignore[reportArgumentType] - the same
    margin = (last - first) // 10
    shown = overlays(trace, ask, first - margin, last + margin)
    return Timeline(
        title="Device operations by stream",
        base_ns=min([first, *(overlay.spans[0][0] for overlay in shown)]),
        names=names,
        lanes=[_lane(part, work) for part in rows.partition_by("process", "device", "stream", maintain_order=True)],
        sql=f"{work}\norder by process, device, stream, start_ns, end_ns, name",
        overlays=shown,
        left_out=sum(trace.rows[name] for name in there) - len(rows),
        curves=curves(trace, first - margin, last + margin),
        wanted=_wanted(ask("iteration_times").rows),
        busy_sql=BUSY.format(work=work).strip(),
    )


def _lane(rows: "pl.DataFrame", work: str) -> Lane:
    place = rows.select("process", "device", "stream").row(0, named=True)
    where = " and ".join(f"{key} = {value}" for key, value in place.items())
    return Lane(
        label=" ".join(f"{key} {value}" for key, value in place.items()),
        start_ns=rows["start_ns"].to_numpy(),
        duration_ns=rows["duration_ns"].to_numpy(),
        name=rows["number"].to_numpy(),
        sql=f"select *\nfrom (\n{work}\n)\nwhere {where}",
    )


def _wanted(rows: "pl.DataFrame") -> tuple[tuple[int, int, str], ...]:
    """Iterations worth looking at, of the process with most of them, each with the wait before it.

    The typical one is the first whose time is nearest the median; then the slow ones that took longest (where none is
    slow, the longest), the first and the last.
    """
    if not len(rows):
        return ()
    parts = rows.partition_by("process", maintain_order=True)
    part = max(parts, key=len)
    of = f" of process {part['process'][0]}" if len(parts) > 1 else ""
    usual = part.filter(part["mark"].is_null())
    usual = usual if len(usual) else part
    away = (usual["duration_ns"] - usual["duration_ns"].median()).abs()
    slow = part.filter(part["mark"] == "slow").sort("duration_ns", descending=True, maintain_order=True)[:MOST_SLOW]
    longest = usual.sort("duration_ns", descending=True, maintain_order=True)[:1]
    kinds = {
        "typical": usual[[away.arg_min() or 0]],
        **({"slow": slow} if len(slow) else {"longest": longest}),
        "first": part[:1],
        "last": part[-1:],
    }
    return tuple(
        (row["start_ns"] - row["wait_ns"], row["end_ns"], f"{kind} iteration {row['iteration']}{of}")
        for kind, found in kinds.items()
        for row in found.iter_rows(named=True)
    )
