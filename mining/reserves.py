"""What is reserved of a device's memory against what is allocated of it, over time, as SQL."""

from ..store.trace import Trace
from .evidence_levels import memory_missing

__all__ = ["RESERVE", "needed"]

RESERVE = """
with total as (
    select
        process,
        device,
        source,
        time_ns,
        max(bytes) filter (granularity = 'object') as reserved,
        max(bytes) filter (granularity = 'tensor') as allocated
    from memory_curve
    where time_ns is not null and source in ('total', 'lives')
    group by process, device, source, time_ns
),
carried as (
    select
        process,
        device,
        source,
        time_ns,
        last_value(reserved ignore nulls) over step as reserved_bytes,
        last_value(allocated ignore nulls) over step as allocated_bytes,
        reserved_bytes - allocated_bytes as unused_bytes
    from total
    window step as (partition by process, device, source order by time_ns)
),
reserve as (
    select
        *,
        lead(time_ns) over step - time_ns as held_ns,
        reserved_bytes - lag(reserved_bytes) over step as grown_bytes,
        lag(unused_bytes) over step as before_bytes
    from carried
    where unused_bytes is not null
    window step as (partition by process, device, source order by time_ns)
)
""".strip()
"""SQL: a CTE `reserve` with what is reserved and allocated from each change on (of changes at one time the most).

Objects of the driver, segments of the pool, or the allocator's total are what is reserved; tensors are what is
allocated. Only curves of one `source` are set against each other.
"""


def needed(trace: Trace) -> None:
    """Raises `NotCollected` where no device has both, over time."""
    if not trace.has("memory_curve") or not trace.sql(f"{RESERVE}\nselect count(*) from reserve").item():
        what = "what is reserved and what is allocated of a device's memory, over time"
        raise memory_missing(trace, what, lacks="totals", timed=True)
