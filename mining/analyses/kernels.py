"""Which kernels take the time?"""

from ...store.trace import Trace
from ..finding import Finding, total
from ..kernel_calls import PER_ITERATION, calls, of_calls
from ..words import duration, percent, plural

NEEDS = ("iterations",)

SQL = """
select
    name,
    any_value(category) as category,
    count(*) as calls,
    coalesce(sum(duration_ns), 0)::bigint as total_ns,
    sum(duration_ns) / nullif(sum(sum(duration_ns)) over (), 0) as share,
    sum(sum(duration_ns)) over (order by sum(duration_ns) desc, name)
        / nullif(sum(sum(duration_ns)) over (), 0) as cumulative_share,
    avg(duration_ns) as mean_ns,
    quantile_cont(duration_ns, 0.5) as p50_ns,
    quantile_cont(duration_ns, 0.95) as p95_ns,
    stddev_pop(duration_ns order by duration_ns) / nullif(avg(duration_ns), 0) as variation,
    {per_iteration}
from (
{calls}
)
group by name
order by total_ns desc, name
"""


def find(trace: Trace) -> Finding:
    """Calls, total, mean, median, 95th percentile and coefficient of variation by kernel name.

    `share` is of the summed kernel time, in which kernels that run at the same time count each: it is not a share of
    the device's time. `variation` is the standard deviation over the mean. What an iteration has of a kernel is the
    mean over all main iterations, of the calls that start in them; null where there are no iterations.
    """
    query = SQL.format(per_iteration=PER_ITERATION, calls=calls(trace)).strip()
    rows = of_calls(trace, SQL.format(per_iteration=PER_ITERATION, calls="{calls}").strip())
    flawed = trace.sql("select count(*) from kernel where flaw is not null").item()
    note = f"{plural(flawed, 'call')} without trusted times in no sum and no mean: see the trace's notes."
    whole, top = total(rows, "total_ns"), total(rows.head(10), "total_ns")
    sentence = (
        f"{plural(total(rows, 'calls'), 'kernel')} of {plural(len(rows), 'name')}, {duration(whole)} in sum; "
        f"{percent(top, whole)} of it in the {min(10, len(rows))} names that take most."
    )
    return Finding("kernels", sentence, rows, query, (note,) if flawed else ())
