"""How long does each iteration take, and which stand out?"""

from typing import TYPE_CHECKING

from ...store.trace import Trace
from ..finding import Finding
from ..levels import MAIN
from ..words import duration, plural

if TYPE_CHECKING:
    import polars as pl

NEEDS = ("iterations",)

DEVIATIONS = 5
LEAST_EXCESS = 0.05

SQL = f"""
with main as ({MAIN}),
time as (
    select iteration.*, median(time_ns) filter (phase = 'steady') over (partition by process) as median_ns
    from iteration
    semi join main on main.process = iteration.process and main.level = iteration.level
),
spread as (
    select *, median(abs(time_ns - median_ns)) filter (phase = 'steady') over (partition by process) as mad_ns
    from time
),
judged as (
    select
        *,
        time_ns - median_ns > greatest({DEVIATIONS} * 1.4826 * mad_ns, {LEAST_EXCESS} * median_ns) as slow,
        min(iteration) filter (not slow) over (partition by process) as first_usual
    from spread
)
select
    process,
    level,
    iteration,
    phase,
    operations,
    start_ns,
    end_ns,
    start_ns - from_ns as wait_ns,
    time_ns as duration_ns,
    median_ns,
    mad_ns,
    time_ns / median_ns as ratio,
    case
        when phase = 'warm-up' or iteration < first_usual then 'warm-up'
        when slow then 'slow'
        when phase <> 'steady' then phase
    end as mark
from judged
order by process, iteration
"""


def find(trace: Trace) -> Finding:
    """Each iteration of the main level with its duration: from the end of the one before it to its own end.

    `mark` says what stands out: 'warm-up' for leading ones that are slow or differ, 'slow', or 'deviating' content.

    Slow: longer than the median of the steady ones by more than 5 robust standard deviations (1.4826 times the median
    absolute deviation) and by more than 5 %.
    """
    rows = trace.sql(SQL)
    if not len(rows):
        return Finding("iteration_times", "No iterations were found in this trace.", rows, SQL.strip())
    parts = [_sentence(process) for process in rows.partition_by("process", maintain_order=True)]
    if len(parts) > 1:
        parts = [
            f"Process {number}: {part}" for number, part in zip(rows["process"].unique().sort(), parts, strict=True)
        ]
    return Finding("iteration_times", " ".join(parts[:4]), rows, SQL.strip())


def _sentence(rows: "pl.DataFrame") -> str:
    """Count, median and slow ones of one process' iterations."""
    slow = rows.filter((rows["mark"] == "slow").fill_null(False))["iteration"].to_list()
    some = (
        f"{len(slow)} slow ({', '.join(map(str, slow[:5]))}{', …' if len(slow) > 5 else ''})" if slow else "none slow"
    )
    median = rows["median_ns"][0]
    typical = f"{duration(float(median))} in the median" if median is not None else "none of them steady"
    return f"{plural(len(rows), 'iteration')}, {typical}, {some}."
