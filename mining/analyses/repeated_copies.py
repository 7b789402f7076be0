"""Which copies between host and device come again in every iteration, with the same size?"""

from ...store.trace import Trace
from ..copies import PLACED
from ..finding import Finding
from ..words import duration, percent, plural, size

NEEDS = ("iterations", "segments")

EVERY = 0.9
"""Copies that start in this share of the iterations come in every one."""

SQL = f"""
with transfer as (
    select
        process,
        device,
        kind,
        bytes,
        source_memory,
        target_memory,
        if(kind = 'HtoD', source_memory, target_memory) as host_memory,
        start_ns,
        end_ns,
        row_number() over () as number
    from copy
    where flaw is null and kind in ('HtoD', 'DtoH')
),
{PLACED.strip()}
select
    process,
    device,
    kind,
    bytes,
    host_memory,
    count(*) as copies,
    count(distinct iteration) as in_iterations,
    any_value(steps) as iterations,
    count(*) / any_value(steps) as copies_per_iteration,
    bytes::double * count(*) / any_value(steps) as bytes_per_iteration,
    sum(end_ns - start_ns)::bigint as time_ns,
    sum(end_ns - start_ns) / any_value(steps) as time_per_iteration_ns,
    coalesce(sum(exposed.ns), 0)::bigint as exposed_ns,
    bytes::double * count(*) * 1e9 / nullif(sum(end_ns - start_ns), 0) as bytes_per_s
from placed
join steps using (process)
left join exposed using (number)
where iteration is not null
group by process, device, kind, bytes, host_memory
having count(distinct iteration) >= {EVERY} * any_value(steps)
order by time_ns desc, process, device, kind, bytes, host_memory
"""


def find(trace: Trace) -> Finding:
    """Copies of one direction and size that start in at least 90 % of the main iterations of their process;
    those that start outside iterations are left out.

    Host to device they are candidates: for keeping what does not change on the device, for one larger copy in place of
    several, for copying the next batch meanwhile. `host_memory` is pageable or pinned where the source says; copies of
    pageable memory are staged by the driver and hold the calling thread. `exposed_ns` is the time in which nothing but
    copies and fills runs on the device, the most that could be saved; where copies overlap it counts to each.
    """
    rows = trace.sql(SQL)
    sql = SQL.strip()
    if not len(rows):
        said = "No copy between host and device comes again in every iteration with the same size."
        return Finding("repeated_copies", said, rows, sql)
    up = rows.filter(rows["kind"] == "HtoD")
    first = (up if len(up) else rows).row(0, named=True)
    large = "of unknown size" if first["bytes"] is None else f"of {size(first['bytes'])}"
    memory = f" {first['host_memory']}" if first["host_memory"] else ""
    way = "from host to device" if first["kind"] == "HtoD" else "from device to host"
    often = first["copies_per_iteration"]
    sizes = rows.select("kind", "bytes").n_unique()
    sentence = (
        f"{plural(sizes, 'size')} of copies between host and device {'recurs' if sizes == 1 else 'recur'} in every "
        f"iteration; {way} most time goes to {often:.3g}{memory} {'copy' if often == 1 else 'copies'} {large} an "
        f"iteration: {duration(first['time_per_iteration_ns'])}, "
        f"{percent(first['exposed_ns'], first['time_ns'])} of it with no kernel beside "
        f"{'it' if often == 1 else 'them'}."
    )
    return Finding("repeated_copies", sentence, rows, sql)
