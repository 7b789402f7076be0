"""How much device memory is allocated: at the peak, at a launch on average, over time on average?"""

from typing import TYPE_CHECKING

from ...store.trace import Trace
from ..evidence_levels import memory_missing, told
from ..finding import Finding
from ..memory_sources import asked
from ..touched import devices_joined
from ..words import count, size

if TYPE_CHECKING:
    import polars as pl

NEEDS = ("memory_use",)

SQL = """
with step as (
    select
        *,
        lead(time_ns) over (partition by process, device, granularity order by event) - time_ns as held_ns,
        max(bytes) over (partition by process, device, granularity) as top_bytes
    from memory_curve
),
curve as (
    select
        process,
        device,
        granularity,
        any_value(source) as source,
        count(*) as changes,
        max(bytes) as peak_bytes,
        min(event) filter (bytes = top_bytes) as peak_event,
        min(time_ns) filter (bytes = top_bytes) as peak_ns,
        sum(bytes::hugeint * held_ns)::double / nullif(sum(held_ns), 0) as time_mean_bytes,
        max(time_ns) - min(time_ns) as span_ns
    from step
    group by process, device, granularity
),
launch as ({launches})
select
    curve.process,
    curve.device,
    curve.granularity,
    source,
    changes,
    peak_bytes,
    peak_event,
    peak_ns,
    launches,
    all_launches,
    launch_mean_bytes,
    time_mean_bytes,
    span_ns
from curve
left join launch
    on launch.process = curve.process
    and launch.granularity = curve.granularity
    and launch.device is not distinct from curve.device
order by curve.process, curve.device, curve.granularity
"""
LAUNCHES = """
    select
        process,
        memory_device as device,
        granularity,
        count(bytes) as launches,
        count(*) as all_launches,
        avg(bytes) as launch_mean_bytes
    from (
        select process, memory_device, 'object' as granularity, object_footprint_bytes as bytes from working_set
        union all
        select process, memory_device, 'tensor', tensor_footprint_bytes from working_set
    )
    group by all
"""
NO_LAUNCHES = """
    select null::bigint as process, null::integer as device, null::varchar as granularity, null::bigint as launches,
    null::bigint as all_launches, null::double as launch_mean_bytes
    where false
"""
SOURCES = {
    "total": "totals that the allocator or profiler counts",
    "lives": "allocations seen in the recording; what was allocated before is in it only where the source tells so",
    "changes": "sums of changes from an unknown beginning: the lowest level is taken as what was released, or 0",
    "launches": "totals at kernel launches: peaks between launches are not seen",
}


def find(trace: Trace) -> Finding:
    """Peak, launch-weighted mean (over kernels, of what is allocated at their launch) and time-weighted mean.

    The mean over launches is over the `launches` of `all_launches` that are not before the first change: what is
    allocated before that is not known. The time-weighted mean is from the first change to the last. `source` says what
    the curve is made of. Without a curve `NotCollected`.
    """
    if not trace.has("memory_curve"):
        raise memory_missing(trace, "what is allocated on the device")
    launches = LAUNCHES if trace.has("working_set") else NO_LAUNCHES
    sql = SQL.format(launches=launches.rstrip() + "\n").strip()
    rows = trace.sql(sql)
    sentence = _sentence(rows, max(rows["granularity"]))  # tensors where they are known
    sources = tuple(f"{one}: {SOURCES[one]}." for one in sorted(set(rows["source"])))
    joined = devices_joined(trace) if trace.has("working_set") else ()
    return Finding("memory_footprint", sentence, rows, sql, (told("C"), *sources, *asked(trace), *joined))


def _sentence(rows: "pl.DataFrame", granularity: str) -> str:
    """What is to say of the device with the highest peak."""
    top = rows.filter(rows["granularity"] == granularity).sort("peak_bytes", descending=True).row(0, named=True)
    of = ""
    if top["launches"] != top["all_launches"]:
        known, every = count(top["launches"]), count(top["all_launches"])
        of = f" (of {known} of {every} launches: the others come before the first change)"
    means = [
        f"{size(top[key])} {words}"
        for key, words in (("launch_mean_bytes", f"at a launch{of}"), ("time_mean_bytes", "over time"))
        if top[key] is not None
    ]
    mean = f", on average {' and '.join(means)}" if means else ""
    return f"At the peak {size(top['peak_bytes'])} of {granularity}s are allocated{mean}."
