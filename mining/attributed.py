"""Sums of work and memory over what they are attributed to, as SQL: parts and the unattributed add up to the total."""

from typing import TYPE_CHECKING

from ..store.trace import Trace
from .evidence_levels import LEVELS

if TYPE_CHECKING:
    import polars as pl

__all__ = ["UNATTRIBUTED", "evidence", "parts"]

UNATTRIBUTED = "(unattributed)"

WORK = """
    select
        {key} as part,
        (count(*) filter (kind = 'kernel'))::bigint as launches,
        (count(*) filter (kind = 'copy'))::bigint as copies,
        (count(*) filter (kind = 'fill'))::bigint as fills,
        sum(work_ns)::bigint as work_ns,
        coalesce(sum(work_ns) filter (phase = 'forward'), 0)::bigint as forward_ns,
        coalesce(sum(work_ns) filter (phase = 'backward'), 0)::bigint as backward_ns,
        coalesce(sum(work_ns) filter (phase = 'optimizer'), 0)::bigint as optimizer_ns,
        coalesce(sum(work_ns) filter (phase is null), 0)::bigint as other_ns,
        coalesce(sum(bytes) filter (kind = 'copy'), 0)::bigint as copied_bytes,
        string_agg(distinct {source}, ', ' order by {source}) as told_by
    from attribution
    group by {key}
"""
MEMORY = """
    select
        {key} as part,
        count(*)::bigint as allocations,
        sum(bytes)::bigint as allocated_bytes,
        coalesce(sum(bytes) filter (at_peak = 1), 0)::bigint as peak_bytes
    from memory_life
    where granularity = (select max(granularity) from memory_life)
    group by {key}
"""
NO_MEMORY = """
    select
        null::varchar as part,
        null::bigint as allocations,
        null::bigint as allocated_bytes,
        null::bigint as peak_bytes
    where false
"""
PARTS = """
with work as ({work}),
memory as ({memory})
select
    coalesce(work.part, memory.part, '{unattributed}') as part,
    coalesce(launches, 0) as launches,
    coalesce(copies, 0) as copies,
    coalesce(fills, 0) as fills,
    coalesce(work_ns, 0) as work_ns,
    work_ns / nullif(sum(work_ns) over (), 0) as share,
    coalesce(forward_ns, 0) as forward_ns,
    coalesce(backward_ns, 0) as backward_ns,
    coalesce(optimizer_ns, 0) as optimizer_ns,
    coalesce(other_ns, 0) as other_ns,
    coalesce(copied_bytes, 0) as copied_bytes,
    allocations,
    allocated_bytes,
    peak_bytes,
    told_by
from work
full join memory on work.part is not distinct from memory.part
order by work_ns desc, part
"""


def parts(trace: Trace, key: str, source: str, *, memory: bool = True) -> str:
    """A query of `attribution` (and `memory_life`, where there is one) by a column; what has none is one row.

    `share` is of the summed time of all device operations: those that run at once count each. Memory is that of
    tensors, or of objects where no tensors are known; none without `memory`.
    """
    work = WORK.format(key=key, source=source).rstrip() + "\n"
    return PARTS.format(
        work=work, memory=_memory(trace, key) if memory else NO_MEMORY.rstrip() + "\n", unattributed=UNATTRIBUTED
    ).strip()


def evidence(rows: "pl.DataFrame") -> tuple[str, ...]:
    """What the columns on memory rest on, where they say anything."""
    return (f"Memory: {LEVELS['C']}.",) if rows["allocations"].null_count() < len(rows) else ()


def _memory(trace: Trace, key: str) -> str:
    """The allocations by that column; no rows where none were recorded."""
    told = trace.has("memory_life")
    return (MEMORY.format(key=key) if told else NO_MEMORY).rstrip() + "\n"
