"""How does allocated memory go, by changes and over time?"""

from ...store.errors import NotCollected
from ...store.trace import Trace
from ..evidence_levels import HINTS, told
from ..finding import Finding
from ..words import plural

NEEDS = ("memory_use",)

BINS = 240
"""Stretches of the curve; of each the least and the most is told."""

SQL = f"""
with span as (
    select process, device, granularity, count(*) as changes, min(time_ns) as first_ns, max(time_ns) as last_ns
    from memory_curve
    group by all
),
placed as (
    select
        curve.*,
        changes,
        first_ns,
        event * {BINS} // greatest(changes, {BINS}) as by_event,
        ((time_ns - first_ns) * {BINS}.0 / nullif(last_ns - first_ns + 1, 0))::double as by_time
    from memory_curve as curve
    join span
        on span.process = curve.process
        and span.granularity = curve.granularity
        and span.device is not distinct from curve.device
)
select
    process,
    device,
    granularity,
    'event' as axis,
    by_event as place,
    min(event)::double as position,
    min(bytes) as low_bytes,
    max(bytes) as high_bytes,
    arg_max(coalesce(stage, '(other)'), row(bytes, -event)) as stage
from placed
group by process, device, granularity, by_event
union all
select
    process,
    device,
    granularity,
    'time',
    floor(by_time)::bigint,
    (min(time_ns) - any_value(first_ns))::double,
    min(bytes),
    max(bytes),
    arg_max(coalesce(stage, '(other)'), row(bytes, -event))
from placed
where by_time is not null
group by process, device, granularity, floor(by_time)
order by process, device, granularity, axis, place
"""


def find(trace: Trace) -> Finding:
    """The curve in at most 240 stretches, by numbers of the changes and (`axis` time) by nanoseconds from the first.

    `stage` is that of the highest point of the stretch, `(other)` outside the iteration that holds the peak.
    """
    if not trace.has("memory_curve"):
        raise NotCollected("what is allocated on the device", HINTS["C"])
    rows = trace.sql(SQL.strip())
    changes = trace.sql("select count(*) from memory_curve").item()
    return Finding("memory_usage", f"{plural(changes, 'change')} of allocated memory.", rows, SQL.strip(), (told("C"),))
