"""What is the host doing while the device idles?"""

from ...store.trace import Trace
from ..finding import Finding
from ..words import duration, percent

NEEDS = ("segments",)

SQL = """
with gap as (
    select process, device, start_ns, end_ns from segment where state = 'idle' and end_ns > start_ns
),
under_way as (
    select
        coalesce(api.name, '(no name)') as name,
        api.process,
        api.thread,
        api.start_ns as called_ns,
        gap.device,
        greatest(api.start_ns, gap.start_ns) as start_ns,
        least(api.end_ns, gap.end_ns) as end_ns
    from gap
    join api on api.process = gap.process and api.start_ns < gap.end_ns and api.end_ns > gap.start_ns
),
counted as (
    select
        *,
        max(end_ns) over (
            partition by name, process, device order by start_ns, end_ns
            rows between unbounded preceding and 1 preceding
        ) as before_ns
    from under_way
),
counted_once as (
    select *, greatest(0, end_ns - greatest(start_ns, coalesce(before_ns, start_ns))) as new_ns from counted
)
select
    name,
    count(distinct (process, thread, called_ns)) as calls,
    sum(new_ns)::bigint as idle_ns,
    sum(new_ns) / (select sum(end_ns - start_ns) from gap) as share
from counted_once
group by name
order by idle_ns desc, name
limit 25
"""


def find(trace: Trace) -> Finding:
    """Idle time of the devices that passes while a runtime or driver call is under way, by the call's name.

    `share` is of all idle time. Time that several calls of one name share counts once; calls of other names within it
    count as well: shares do not add up.
    """
    rows = trace.sql(SQL)
    if not len(rows):
        return Finding("host_calls", "No runtime or driver call is under way while a device idles.", rows, SQL.strip())
    name, ns, share = rows.select("name", "idle_ns", "share").row(0)
    sentence = f"{duration(ns)} of the idle time ({percent(share, 1)}) passes while the host is in {name}."
    return Finding("host_calls", sentence, rows, SQL.strip())
