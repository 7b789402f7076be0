"""Which of the processes of one recording do the others wait for?"""

from ...store.trace import Trace
from ..finding import Finding
from ..ranks import ITERATIONS, SLOWER
from ..words import duration, percent, plural

NEEDS = ("segments", "iterations", "iteration_states")

SQL = f"""
with each as ({ITERATIONS}),
usual as (
    select
        process,
        count(*) as iterations,
        median(operations)::bigint as operations,
        median(time_ns) as time_ns,
        median(communication_ns) as communication_ns,
        median(time_ns - communication_ns) as own_ns
    from each
    group by process
)
select
    process,
    iterations,
    operations,
    time_ns,
    communication_ns,
    own_ns,
    own_ns - median(own_ns) over () as late_ns,
    own_ns > (1 + {SLOWER}) * median(own_ns) over () as straggler
from usual
order by own_ns desc, process
"""


def find(trace: Trace) -> Finding:
    """The median iteration of each process, the slowest first; `own_ns` is its time outside communication.

    A straggler has more than 3 % more of it than the median process: the others wait for it in their communication.
    Recordings of one process each are compared by `ranks`.
    """
    rows = trace.sql(SQL)
    sql = SQL.strip()
    if len(rows) < 2:
        said = "One process has iterations" if len(rows) else "No process has iterations"
        return Finding("stragglers", f"{said}: none waits for another.", rows, sql)
    late = rows.filter(rows["straggler"])
    if not len(late):
        return Finding("stragglers", f"None of {len(rows)} processes is slower.", rows, sql)
    first = late.row(0, named=True)
    usual = first["own_ns"] - first["late_ns"]
    sentence = (
        f"{plural(len(late), 'straggler')} among {len(rows)} processes; process {first['process']} takes "
        f"{duration(first['late_ns'])} ({percent(first['late_ns'], usual)}) more than the median outside communication."
    )
    return Finding("stragglers", sentence, rows, sql)
