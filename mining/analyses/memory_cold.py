"""Which objects or tensors hold memory without being used: what to offload?"""

from ...store.trace import Trace
from ..call_site import WHO
from ..evidence_levels import memory_missing, told
from ..finding import Finding
from ..words import count, duration, plural, size

NEEDS = ("memory_use",)

MEASURED = """
with last as (
    select process, max(launch) as last_launch from working_set group by process
),
used as (
    select distinct process, granularity, object, object_id, object_bytes as bytes, launch
    from access
    where launch is not null and object is not null and granularity != 'block' and coalesce(accesses, 1) > 0
),
gap as (
    select
        *,
        launch - lag(launch, 1, -1) over (
            partition by process, granularity, object, object_id, bytes order by launch
        ) - 1 as before,
        lead(launch) over (partition by process, granularity, object, object_id, bytes order by launch) as following
    from used
)
select
    process,
    granularity,
    object,
    '0x' || lower(to_hex(object)) as address,
    object_id,
    bytes,
    count(*) as uses,
    min(launch) as first_launch,
    max(launch) as last_launch,
    (max(launch) - min(launch) + 1 - count(*))::bigint as idle_launches,
    coalesce(max(before) filter (before < launch), 0)::bigint as longest_gap,
    (any_value(last.last_launch) - max(gap.launch))::bigint as after_last_use,
    bytes::double * (max(launch) - min(launch) + 1 - count(*) + any_value(last.last_launch) - max(gap.launch)) as cold
from gap
join last using (process)
group by process, granularity, object, object_id, bytes
order by cold desc, bytes desc, process, granularity, object, object_id
"""
HELD = f"""
select
    process,
    device,
    granularity,
    {WHO},
    bytes,
    count(*) as allocations,
    max(coalesce(death_ns, stop_ns) - coalesce(birth_ns, begin_ns)) as longest_ns,
    sum(bytes::hugeint * (coalesce(death_ns, stop_ns) - coalesce(birth_ns, begin_ns)))::double as byte_ns
from memory_life, (
    select min(birth_ns) as begin_ns, greatest(max(birth_ns), max(death_ns)) as stop_ns from memory_life
)
group by process, device, granularity, phase, module, operator, owner, site, bytes
having byte_ns > 0
order by granularity desc, byte_ns desc, bytes desc, process, device, phase, module, operator, owner, site
"""


def find(trace: Trace) -> Finding:
    """Candidates for offloading, what costs most first.

    With measured accesses: `cold` is bytes times the launches in which an object is not used, after its first use.
    Without, only how long allocations live is known: `byte_ns` is bytes times lifetime, an upper bound on what
    offloading could free, since it has the time of use as well.
    """
    if _measured(trace):
        rows = trace.sql(MEASURED.strip())
        first = rows.row(0, named=True)
        sentence = (
            f"Of {plural(len(rows), 'object')} that were used, the coldest for its size is {first['granularity']} "
            f"{first['object']:#x} of {size(first['bytes'])}: {plural(first['uses'], 'use')}, unused in "
            f"{count(first['idle_launches'] + first['after_last_use'])} launches after its first."
        )
        return Finding("memory_cold", sentence, rows, MEASURED.strip(), (told("A"),))
    if not trace.has("memory_life"):
        raise memory_missing(trace, "allocations of device memory")
    rows = trace.sql(HELD.strip())
    if not len(rows):
        raise memory_missing(trace, "how long allocations live")
    first = rows.row(0, named=True)
    sentence = (
        f"Accesses were not collected, so what is idle is not known: at most, allocations of {size(first['bytes'])} "
        f"that live up to {duration(first['longest_ns'])} are what to look at first."
    )
    return Finding("memory_cold", sentence, rows, HELD.strip(), (told("C"),))


def _measured(trace: Trace) -> bool:
    return (
        trace.has("access")
        and trace.has("working_set")
        and trace.sql(
            "select count(*) from access where launch is not null and object is not null and granularity != 'block'"
        ).item()
        > 0
    )
