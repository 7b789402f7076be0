"""When is each object, tensor or block accessed?"""

from ...store.errors import NotCollected
from ...store.trace import Trace
from ..evidence_levels import hint, told
from ..finding import Finding, total
from ..words import count
from .tensor_hotness import chosen

NEEDS = ()

MOST = 40
"""Objects that have a row of their own, the hottest; the others are one."""
STEPS = 48
"""Stretches of windows or launches."""

SQL = """
with told as (
    select *, coalesce("window", launch, 0) as step from access where {chosen} and accesses > 0
),
finest as (
    select if(count(*) filter (granularity = 'block') > 0, 'block', max(granularity)) as granularity from told
),
placed as (
    select
        process,
        object,
        object_id,
        object_bytes,
        accesses,
        step * {steps} // greatest((select max(step) + 1 from told), {steps}) as place,
        step,
        sum(accesses) over (partition by process, object, object_id) as heat
    from told
    join finest using (granularity)
),
ranked as (
    select *, dense_rank() over (order by heat desc, process, object nulls last, object_id) as rank from placed
)
select
    if(rank <= {most}, rank, null) as rank,
    if(rank <= {most}, process, null) as process,
    if(rank <= {most}, object, null) as object,
    if(rank <= {most}, object_id, null) as object_id,
    if(rank <= {most}, max(object_bytes), null) as bytes,
    place,
    min(step) as first_step,
    max(step) as last_step,
    sum(accesses)::bigint as accesses
from ranked
group by
    if(rank <= {most}, rank, null),
    if(rank <= {most}, process, null),
    if(rank <= {most}, object, null),
    if(rank <= {most}, object_id, null),
    place,
    rank <= {most}
order by rank nulls last, place
"""


def find(trace: Trace) -> Finding:
    """Accesses by object and stretch of windows (launches where there are no windows); all cells add up to the total.

    The last, partial window counts as well. Blocks where the source has them, else tensors, else objects.
    """
    if not trace.has("access"):
        raise NotCollected("accesses to memory", hint(trace, "A"))
    sql = SQL.format(chosen=chosen(trace), steps=STEPS, most=MOST).strip()
    rows = trace.sql(sql)
    if not len(rows):
        raise NotCollected("counts of accesses (only which objects were touched)", hint(trace, "A"))
    return Finding("hotness_windows", f"{count(total(rows, 'accesses'))} accesses.", rows, sql, (told("A"),))
