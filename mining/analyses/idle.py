"""Why does the device wait?"""

from ...store.trace import Trace
from ..finding import Finding, total
from ..words import duration, percent, plural

NEEDS = ("segments",)

CAUSES = {
    "synchronisation": "the launching thread had waited for the device before it launched the next work",
    "launch": "the device finished before the next of a steady row of launches came",
    "host": "the launching thread was late: it did something else",
    "dependency": "what ran last was on another stream",
    "device": "the next work was there in time, the device took it up late",
    "unknown": "no host call is recorded for the work that came next",
}
"""What each cause of `segment.cause` means."""

SQL = """
select
    cause,
    count(*) as gaps,
    sum(duration_ns)::bigint as time_ns,
    sum(duration_ns) / sum(sum(duration_ns)) over () as share,
    quantile_cont(duration_ns, 0.5) as p50_ns,
    max(duration_ns) as longest_ns
from segment
where state = 'idle'
group by cause
order by time_ns desc, cause
"""


def find(trace: Trace) -> Finding:
    """Idle gaps by cause, each gap with exactly one; `share` is of the idle time of all devices."""
    rows = trace.sql(SQL)
    if not len(rows):
        return Finding("idle", "No device is ever idle between its first and last work.", rows, SQL.strip())
    whole, first = total(rows, "time_ns"), rows.row(0, named=True)
    sentence = (
        f"{plural(total(rows, 'gaps'), 'idle gap')} of {duration(whole)} in sum, "
        f"{percent(first['time_ns'], whole)} of it because {CAUSES[first['cause']]}."
    )
    return Finding("idle", sentence, rows, SQL.strip())
