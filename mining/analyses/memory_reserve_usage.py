"""How do reserved and allocated memory go over time?"""

from ...store.trace import Trace
from ..evidence_levels import told
from ..finding import Finding, total
from ..reserves import RESERVE, needed
from ..words import plural

NEEDS = ("memory_use",)

BINS = 240
"""Stretches of the time from the first change to the last; of each the most is told."""

SQL = f"""
{RESERVE},
placed as (
    select
        reserve.*,
        min(time_ns) over one as first_ns,
        (time_ns - first_ns)::hugeint * {BINS} // (max(time_ns) over one - first_ns + 1) as place
    from reserve
    window one as (partition by process, device, source)
)
select
    process,
    device,
    source,
    place::bigint as place,
    count(*) as changes,
    (min(time_ns) - any_value(first_ns))::double as position,
    max(reserved_bytes) as reserved_bytes,
    max(allocated_bytes) as allocated_bytes
from placed
group by process, device, source, place
order by process, device, source, place
""".strip()


def find(trace: Trace) -> Finding:
    """Both in at most 240 stretches of equal time, the most of each; `position` is in ns from the first change."""
    needed(trace)
    rows = trace.sql(SQL)
    sentence = f"{plural(total(rows, 'changes'), 'change')} of reserved or allocated memory."
    return Finding("memory_reserve_usage", sentence, rows, SQL, (told("C"),))
