"""How does allocated memory go, by changes and over time?"""

from ...store.trace import Trace
from ..evidence_levels import memory_missing, told
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
        last_ns,
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
    max(event)::double + 1 as until,
    min(bytes) as low_bytes,
    max(bytes) as high_bytes,
    arg_max(bytes, event) as last_bytes,
    arg_max(coalesce(stage, '(other)'), row(bytes, -event)) as stage,
    arg_max(coalesce(stage, '(other)'), event) as last_stage
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
    (floor(by_time) + 1) * (any_value(last_ns) - any_value(first_ns) + 1) / {BINS},
    min(bytes),
    max(bytes),
    arg_max(bytes, event),
    arg_max(coalesce(stage, '(other)'), row(bytes, -event)),
    arg_max(coalesce(stage, '(other)'), event)
from placed
where by_time is not null
group by process, device, granularity, floor(by_time)
order by process, device, granularity, axis, place
"""


def find(trace: Trace) -> Finding:
    """The curve in at most 240 stretches, by numbers of the changes and (`axis` time) by nanoseconds from the first.

    A stretch is from `position`, its first change, to `until`; what is allocated after its last change, `last_bytes`,
    is held until the next one that has changes. `stage` is that of the highest point of the stretch, `last_stage` of
    the last, `(other)` outside the iteration that holds the peak.
    """
    if not trace.has("memory_curve"):
        raise memory_missing(trace, "what is allocated on the device")
    rows = trace.sql(SQL.strip())
    changes = trace.sql("select count(*) from memory_curve").item()
    return Finding("memory_usage", f"{plural(changes, 'change')} of allocated memory.", rows, SQL.strip(), (told("C"),))
