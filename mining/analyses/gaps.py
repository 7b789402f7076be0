"""Which idle gaps are the longest, and between what?"""

from ...store.trace import Trace
from ..finding import Finding
from ..words import duration, percent, plural

NEEDS = ("segments",)

SQL = """
select
    cause,
    before,
    after,
    count(*) as gaps,
    sum(duration_ns)::bigint as time_ns,
    sum(duration_ns) / sum(sum(duration_ns)) over () as share,
    max(duration_ns) as longest_ns,
    arg_max(start_ns, duration_ns order by start_ns) as longest_at_ns
from segment
where state = 'idle'
group by cause, before, after
order by time_ns desc, before, after, cause
limit 50
"""


def find(trace: Trace) -> Finding:
    """The 50 costliest places where a device waits: cause, operation before, operation after.

    `share` is of the idle time of all devices, places beyond the 50 included.
    """
    rows = trace.sql(SQL)
    if not len(rows):
        return Finding("gaps", "There is no idle gap.", rows, SQL.strip())
    first = rows.row(0, named=True)
    sentence = (
        f"The costliest place to wait takes {duration(first['time_ns'])} in {plural(first['gaps'], 'gap')}, "
        f"{percent(first['share'], 1)} of all idle time ({first['cause']})."
    )
    return Finding("gaps", sentence, rows, SQL.strip())
