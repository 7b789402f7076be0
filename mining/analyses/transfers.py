"""Which copies recur, what do they cost an iteration, and how much of that is hidden behind other work?"""

from ...store.trace import Trace
from ..finding import Finding, total
from ..levels import MAIN
from ..words import count, duration, percent, plural

NEEDS = ("iterations", "segments")

SQL = f"""
with main as ({MAIN}),
step as (
    select process, from_ns, end_ns from iteration join main using (process, level)
),
steps as (
    select process, count(*) as steps from step group by process
),
transfer as (
    select process, device, coalesce(kind, 'unknown') as kind, bytes, start_ns, end_ns, row_number() over () as number
    from copy
    where flaw is null
),
inside as (
    select distinct number
    from transfer
    join step
        on step.process = transfer.process
        and transfer.start_ns >= step.from_ns
        and transfer.start_ns < step.end_ns
),
exposed as (
    select number, sum(least(segment.end_ns, transfer.end_ns) - greatest(segment.start_ns, transfer.start_ns)) as ns
    from transfer
    join segment
        on segment.process = transfer.process
        and segment.device = transfer.device
        and segment.state = 'copy'
        and segment.start_ns < transfer.end_ns
        and segment.end_ns > transfer.start_ns
    group by number
)
select
    process,
    device,
    kind,
    bytes,
    count(*) as copies,
    count(inside.number) / any_value(steps) as copies_per_iteration,
    sum(end_ns - start_ns)::bigint as time_ns,
    sum(end_ns - start_ns) filter (inside.number is not null) / any_value(steps) as time_per_iteration_ns,
    sum(coalesce(exposed.ns, 0))::bigint as exposed_ns,
    bytes::double * count(*) * 1e9 / nullif(sum(end_ns - start_ns), 0) as bytes_per_s
from transfer
left join inside using (number)
left join exposed using (number)
left join steps using (process)
group by process, device, kind, bytes
order by time_ns desc, process, device, kind, bytes
"""


def find(trace: Trace) -> Finding:
    """Copies by direction and size, the most time first: those of one size that recur may be one buffer copied again.

    The numbers per iteration count the copies that start within the main iterations of their process, and are null
    where there are none. `exposed_ns` is the time in which nothing but copies and fills runs on the device; where
    copies overlap it counts to each.
    """
    rows = trace.sql(SQL)
    if not len(rows):
        return Finding("transfers", "Nothing is copied, as far as times can be trusted.", rows, SQL.strip())
    copies, time, exposed = (total(rows, column) for column in ("copies", "time_ns", "exposed_ns"))
    first = rows.row(0, named=True)
    size = "of unknown size" if first["bytes"] is None else f"of {count(first['bytes'])} bytes"
    sentence = (
        f"{plural(copies, 'copy operation')} {'takes' if copies == 1 else 'take'} {duration(time)}, "
        f"{percent(exposed, time)} of it with no kernel beside them; most by {count(first['copies'])} {first['kind']} "
        f"{size}: {duration(first['time_ns'])}."
    )
    return Finding("transfers", sentence, rows, SQL.strip())
