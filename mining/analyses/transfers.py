"""Which copies recur, what do they cost an iteration, and how much of that is hidden behind other work?"""

from ...store.trace import Trace
from ..copies import PLACED
from ..finding import Finding, total
from ..words import count, duration, percent, plural, size

NEEDS = ("iterations", "segments")

SQL = f"""
with transfer as (
    select process, device, coalesce(kind, 'unknown') as kind, bytes, start_ns, end_ns, row_number() over () as number
    from copy
    where flaw is null
),
{PLACED.strip()}
select
    process,
    device,
    kind,
    bytes,
    count(*) as copies,
    count(iteration) / any_value(steps) as copies_per_iteration,
    sum(end_ns - start_ns)::bigint as time_ns,
    sum(end_ns - start_ns) filter (iteration is not null) / any_value(steps) as time_per_iteration_ns,
    sum(coalesce(exposed.ns, 0))::bigint as exposed_ns,
    bytes::double * count(*) * 1e9 / nullif(sum(end_ns - start_ns), 0) as bytes_per_s
from placed
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
    large = "of unknown size" if first["bytes"] is None else f"of {size(first['bytes'])}"
    sentence = (
        f"{plural(copies, 'copy operation')} {'takes' if copies == 1 else 'take'} {duration(time)}, "
        f"{percent(exposed, time)} of it with no kernel beside them; most by {count(first['copies'])} {first['kind']} "
        f"{large}: {duration(first['time_ns'])}."
    )
    return Finding("transfers", sentence, rows, SQL.strip())
