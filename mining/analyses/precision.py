"""In which types of numbers do operators compute, by time and by FLOPs?"""

from ...store.trace import Trace
from ..finding import Finding, total
from ..operator_work import MATRIX
from ..roofs import needed
from ..words import percent

NEEDS = ("operator_work",)

SQL = f"""
with part as (
    select type, arithmetic, family in {MATRIX} as matrix, flops, time_ns, 1 as call from operator_work
    union all
    select null, null, false, null, duration_ns, 0
    from kernel
    where op is null or op not in (select op from operator_work)
)
select
    coalesce(type, 'not recorded') as type,
    bool_or(arithmetic = 'tf32') as tf32,
    sum(call)::bigint as calls,
    coalesce(sum(time_ns), 0)::bigint as time_ns,
    sum(time_ns) / nullif(sum(sum(time_ns)) over (), 0) as share,
    sum(flops)::bigint as flops,
    sum(flops) / 1e9 as gflop,
    sum(flops) / nullif(sum(sum(flops)) over (), 0) as flops_share,
    coalesce(sum(time_ns) filter (matrix), 0)::bigint as matrix_ns,
    coalesce(sum(flops) filter (matrix), 0)::bigint as matrix_flops
from part
group by coalesce(type, 'not recorded')
order by time_ns desc, type
"""


def find(trace: Trace) -> Finding:
    """Time and FLOPs by the type of operands, and the part of both in products of matrices and convolutions.

    `tf32` where names of kernels tell that some of these take 32-bit numbers as TF32. Kernels that no operator
    launched, and operators whose types were not recorded, are one row, of calls that are of operators.
    """
    needed(trace)
    rows = trace.sql(SQL.strip())
    time, flops = total(rows, "time_ns"), total(rows, "flops")
    named = rows.filter(rows["type"] != "not recorded")
    if not len(named):
        return Finding("precision", "Types of operands were not recorded.", rows, SQL.strip())
    times = ", ".join(f"{percent(ns, time)} in {type}" for type, ns in named.head(3).select("type", "time_ns").rows())
    sentence = f"Of the kernel time {times}"
    if flops:
        most = named.sort("flops", "type", descending=[True, False], nulls_last=True).row(0, named=True)
        sentence += f"; of the FLOPs {percent(most['flops'], flops)} in {most['type']}"
    return Finding("precision", sentence + ".", rows, SQL.strip())
