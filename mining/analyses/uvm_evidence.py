"""Which faults and moves does the advice on managed memory rest on?"""

from ...store.trace import Trace
from ..finding import Finding
from ..managed_sums import recorded
from ..words import plural

NEEDS = ("uvm_choices",)

MOST = 12
"""Rows of an advice, those with the most events."""

SQL = f"""
select
    advice,
    event.kernel,
    event.kind as what,
    coalesce(event.access, event.cause) as cause,
    count(*) as events,
    sum(pages)::bigint as pages,
    sum(event.bytes)::bigint as bytes,
    sum(end_ns - start_ns)::bigint as time_ns,
    sum(again_bytes)::bigint as again_bytes,
    min(start_ns) as first_ns,
    max(start_ns) as last_ns
from uvm_advice
join uvm_event as event
    on uvm_advice.range = if(uvm_advice.level = 'tensor', event.tensor, event.range)
where action <> 'leave'
group by advice, event.kernel, event.kind, coalesce(event.access, event.cause)
qualify row_number() over (
    partition by advice order by count(*) desc, event.kernel nulls last, event.kind, coalesce(event.access, event.cause)
) <= {MOST}
order by advice, events desc, event.kernel nulls last, what, cause
"""


def find(trace: Trace) -> Finding:
    """The events on the range of each advice to act, by kernel, kind and cause: the dozen with the most events."""
    recorded(trace)
    rows = trace.sql(SQL)
    said = f"{plural(int(rows['events'].sum()), 'event')} of managed memory on ranges to act on."
    return Finding("uvm_evidence", said, rows, SQL.strip())
