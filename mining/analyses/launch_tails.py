"""Which launches leave most of the device empty at their end?"""

from ...store.trace import Trace
from ..finding import Finding, total
from ..occupancy import answered, held
from ..words import duration

NEEDS = ()

TOP = 20
"""Shapes of launches that stand by themselves; the others are one row."""

SQL = f"""
, ranked as (
    select
        *,
        row_number() over (
            order by tail_ns desc, time_ns desc, name, process, device, blocks, threads, registers, shared_bytes
        ) as place
    from held
    where wave is not null
)
select
    if(place <= {TOP}, place, null) as rank,
    if(rank is null, '(all others)', coalesce(any_value(name), '(no name)')) as name,
    if(rank is null, null, any_value(process)) as process,
    if(rank is null, null, any_value(device)) as device,
    sum(launches)::bigint as launches,
    sum(time_ns)::bigint as time_ns,
    sum(tail_ns)::bigint as tail_ns,
    if(rank is null, null, least(any_value(blocks), {2**63 - 1}))::bigint as blocks,
    if(rank is null, null, least(any_value(threads), {2**63 - 1}))::bigint as threads,
    if(rank is null, null, any_value(registers)) as registers,
    if(rank is null, null, any_value(shared_bytes)) as shared_bytes,
    if(rank is null, null, any_value(resident))::bigint as resident,
    if(rank is null, null, any_value(limited_by)) as limited_by,
    if(rank is null, null, any_value(occupancy)) as occupancy,
    if(rank is null, null, any_value(waves)) as waves,
    if(rank is null, null, any_value(last_blocks) / any_value(wave))::double as last_fill
from ranked
group by if(place <= {TOP}, place, null)
order by rank nulls last
"""


def find(trace: Trace) -> Finding:
    """The 20 shapes of launches (kernel, grid, block) with the longest tails, and the rest as one row.

    See `mining.occupancy`. Without what tells how many blocks run at once, `NotCollected`.
    """
    query = f"{held(trace)}{SQL.rstrip()}"
    rows = answered(trace, query, "tail_ns")
    sentence = f"Empty places of last waves come to about {duration(total(rows, 'tail_ns'))}."
    return Finding("launch_tails", sentence, rows, query)
