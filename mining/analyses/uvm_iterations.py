"""How many bytes of managed memory move in each iteration, and why?"""

from ...store.errors import NotCollected
from ...store.trace import Trace
from ..finding import Finding, total
from ..levels import STEP
from ..managed_sums import wanted
from ..words import count, plural, size

NEEDS = ("iterations", "uvm_events")

SQL = f"""
with {STEP.strip()},
told as (
    select process, iteration, kind, coalesce(cause, 'cause not told') as cause, count(*) as moves, sum(bytes) as bytes
    from uvm_event
    where kind in ('HtoD', 'DtoH', 'DtoD') and iteration is not null
    group by all
),
faulted as (
    select process, iteration, count(*) as gpu_faults
    from uvm_event
    where kind = 'gpu_fault' and iteration is not null
    group by all
)
select
    process,
    iteration,
    kind,
    cause,
    coalesce(moves, 0) as moves,
    coalesce(bytes, 0)::bigint as bytes,
    %s as gpu_faults
from step
left join told using (process, iteration)
left join faulted using (process, iteration)
order by process, iteration, kind, cause
"""


def find(trace: Trace) -> Finding:
    """The moves that start in each iteration of the main level, by direction and cause.

    An iteration without any has one row without a kind and with 0 bytes. `gpu_faults` are those of the iteration,
    beside each of its rows; null where none was recorded in the trace.
    """
    there = wanted(trace, "HtoD", "DtoH", "DtoD")
    if not trace.has("iteration"):
        raise NotCollected("work of a device to find iterations in", "record kernels too")
    sql = (SQL % ("coalesce(gpu_faults, 0)" if "gpu_fault" in there else "null::bigint")).strip()
    rows = trace.sql(sql)
    if not len(rows):
        raise NotCollected("no iterations were found in the work of the device", "record more of them")
    steps = rows.select("process", "iteration").n_unique()
    moved = rows.filter(rows["bytes"] > 0)
    with_moves = moved.select("process", "iteration").n_unique()
    sentence = f"{size(total(rows, 'bytes'))} move in {count(with_moves)} of {plural(steps, 'iteration')}"
    if len(moved):
        per_step = moved.select("process", "iteration", "bytes").group_by("process", "iteration").sum()
        most = per_step.sort("bytes", "process", "iteration", descending=[True, False, False]).row(0, named=True)
        sentence += f", most in iteration {most['iteration']}: {size(most['bytes'])}"
    return Finding("uvm_iterations", f"{sentence}.", rows, sql)
