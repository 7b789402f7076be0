"""What is the host doing while the device idles?"""

from ...store.errors import NotCollected
from ...store.trace import Trace
from ..finding import Finding
from ..words import duration, percent

NEEDS = ("idle_calls",)

SQL = """
select
    name,
    sum(calls)::bigint as calls,
    sum(idle_ns)::bigint as idle_ns,
    sum(idle_ns) / (select sum(duration_ns) from segment where state = 'idle') as share
from idle_call
group by name
order by idle_ns desc, name
limit 25
"""


def find(trace: Trace) -> Finding:
    """Idle time of the devices that passes while a runtime or driver call is under way, by the call's name.

    `share` is of all idle time. Time that several calls of one name share counts once; calls of other names within it
    count as well: shares do not add up. Raises `NotCollected` where no calls are recorded.
    """
    if not trace.has("idle_call"):
        raise NotCollected("table api was not collected", "record runtime calls with the profiler")
    rows = trace.sql(SQL)
    if not len(rows):
        return Finding("host_calls", "No runtime or driver call is under way while a device idles.", rows, SQL.strip())
    name, ns, share = rows.select("name", "idle_ns", "share").row(0)
    sentence = f"{duration(ns)} of the idle time ({percent(share, 1)}) passes while the host is in {name}."
    return Finding("host_calls", sentence, rows, SQL.strip())
