"""Which kinds of work run on a device at once, and for how long?"""

from ...store.trace import Trace
from ..finding import Finding, total
from ..words import percent

NEEDS = ("concurrency",)

SQL = """
select
    process,
    device,
    coalesce(
        nullif(
            concat_ws(
                ' + ',
                if(compute = 1, 'compute', null),
                if(communication = 1, 'communication', null),
                if(copy = 1, 'copy', null)
            ),
            ''
        ),
        'idle'
    ) as running,
    sum(time_ns)::bigint as time_ns,
    sum(time_ns) / sum(sum(time_ns)) over (partition by process, device) as share
from device_time
group by process, device, compute, communication, copy
order by process, device, time_ns desc, running
"""


def find(trace: Trace) -> Finding:
    """The time of each device by the set of kinds that run: each moment is in exactly one row, and they add up."""
    rows = trace.sql(SQL)
    together = total(rows.filter(rows["running"].str.contains(" + ", literal=True)), "time_ns")
    whole = total(rows, "time_ns")
    sentence = (
        f"Work of different kinds runs at once for {percent(together, whole)} of the time."
        if together
        else "Work of different kinds never runs at once."
    )
    return Finding("combinations", sentence, rows, SQL.strip())
