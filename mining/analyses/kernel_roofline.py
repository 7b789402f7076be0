"""Which kernels reach the roofs of the device, by the FLOPs and bytes of the operators that launched them?"""

from ...store.trace import Trace
from ..finding import Finding, total
from ..roofs import FAR, needed, roofs
from ..words import count, duration, percent, plural

NEEDS = ("operator_work",)

SQL = """
{work},
part as (
    select
        coalesce(kernel.name, '(no name)') as name,
        kernel.category,
        kernel.duration_ns,
        kernel.duration_ns / nullif(work.time_ns, 0) as part,
        work.flops * part as flops,
        work.bytes * part as bytes,
        work.least_ns * part as least_ns,
        work.compute_ns >= work.memory_ns as computes,
        work.kernels > 1 as shared
    from kernel
    left join work on work.op = kernel.op
)
select
    name,
    any_value(category) as category,
    count(*) as calls,
    coalesce(sum(duration_ns), 0)::bigint as time_ns,
    sum(duration_ns) / nullif(sum(sum(duration_ns)) over (), 0) as share,
    sum(flops) / 1e9 as gflop,
    count(*) filter (flops is null) as without_flops,
    count(*) filter (flops is not null and shared) as shared,
    sum(flops) filter (bytes is not null) / nullif(sum(bytes) filter (flops is not null), 0) as intensity,
    sum(flops) * 1e-3 / nullif(sum(duration_ns) filter (flops is not null), 0) as tflops_per_s,
    sum(bytes) / nullif(sum(duration_ns) filter (bytes is not null), 0) as gb_per_s,
    sum(least_ns) / nullif(sum(duration_ns) filter (least_ns is not null), 0) as roof_share,
    case
        when roof_share is null then 'not known'
        when roof_share < {far} then 'latency'
        when sum(least_ns) filter (computes) > 0.5 * sum(least_ns) then 'compute'
        else 'memory'
    end as bound
from part
group by name
order by time_ns desc, name
"""


def find(trace: Trace) -> Finding:
    """FLOPs, rates and share of the roof by kernel name.

    A kernel has the FLOPs and bytes of the operator that launched it; where that launched several, the part that is
    its part of their time, and `shared` counts these calls. Kernels of operators without FLOPs, and of none, count in
    `without_flops`. No trace that is read holds counters of FLOPs, and a count of instructions is none.
    """
    needed(trace)
    found = roofs(trace)
    query = SQL.format(work=found.work, far=FAR).strip()
    rows = trace.sql(query)
    known = rows.filter(rows["gflop"].is_not_null())
    first = known.sort("gflop", "name", descending=[True, False]).row(0, named=True) if len(known) else None
    names, time = plural(len(rows), "kernel name"), duration(total(rows, "time_ns"))
    sentence = f"Of {names} ({time} of kernel time) {count(len(known))} have FLOPs of their operators"
    if first and first["gflop"]:
        sentence += f"; {percent(first['gflop'], float(known['gflop'].sum()))} of them in one"
    return Finding("kernel_roofline", f"{sentence}.", rows, query, found.notes)
