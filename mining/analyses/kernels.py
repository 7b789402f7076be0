"""Which kernels take the time?"""

from ...store.trace import Trace
from ..finding import Finding, total
from ..words import duration, percent, plural

NEEDS = ()

SQL = """
select
    name,
    category,
    count(*) as calls,
    coalesce(sum(duration_ns), 0)::bigint as total_ns,
    sum(duration_ns) / sum(sum(duration_ns)) over () as share,
    sum(sum(duration_ns)) over (order by sum(duration_ns) desc, name)
        / sum(sum(duration_ns)) over () as cumulative_share,
    avg(duration_ns) as mean_ns,
    quantile_cont(duration_ns, 0.5) as p50_ns,
    quantile_cont(duration_ns, 0.95) as p95_ns,
    stddev_pop(duration_ns) / nullif(avg(duration_ns), 0) as variation
from (select coalesce(name, '(no name)') as name, category, duration_ns from kernel)
group by name, category
order by total_ns desc, name
"""


def find(trace: Trace) -> Finding:
    """Calls, total, mean, median, 95th percentile and coefficient of variation by kernel name.

    `share` is of the summed kernel time, in which kernels that run at the same time count each: it is not a share of
    the device's time.
    """
    rows = trace.sql(SQL)
    flawed = trace.sql("select count(*) from kernel where flaw is not null").item()
    note = f"{plural(flawed, 'call')} without trusted times in no sum and no mean: see the trace's notes."
    whole, top = total(rows, "total_ns"), total(rows.head(10), "total_ns")
    sentence = (
        f"{plural(total(rows, 'calls'), 'kernel')} of {plural(len(rows), 'name')}, {duration(whole)} in sum; "
        f"{percent(top, whole)} of it in the {min(10, len(rows))} names that take most."
    )
    return Finding("kernels", sentence, rows, SQL.strip(), (note,) if flawed else ())
