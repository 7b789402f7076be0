"""How long are the idle gaps?"""

from ...store.trace import Trace
from ..finding import Finding, total
from ..words import percent

NEEDS = ("segments",)

LONG_NS = 1_000_000

SQL = """
select
    cause,
    min(duration_ns) as duration_ns,
    count(*) as gaps,
    sum(duration_ns)::bigint as total_ns
from segment
where state = 'idle' and duration_ns > 0
group by cause, floor(3 * log10(duration_ns))
order by duration_ns, cause
"""


def find(trace: Trace) -> Finding:
    """Idle gaps by cause and length, three bins to a factor of ten; `duration_ns` is the shortest of its bin."""
    rows = trace.sql(SQL)
    if not len(rows):
        return Finding("gap_lengths", "There is no idle gap.", rows, SQL.strip())
    long = total(rows.filter(rows["duration_ns"] >= LONG_NS), "total_ns")
    sentence = f"Gaps of a millisecond and more make up {percent(long, total(rows, 'total_ns'))} of the idle time."
    return Finding("gap_lengths", sentence, rows, SQL.strip())
