"""How long does each iteration take, which stand out, and what are they longer by?"""

from typing import TYPE_CHECKING

import numpy as np

from ...store.trace import Trace
from ..finding import Finding
from ..levels import PARTS
from ..slow import JUDGED
from ..words import duration, plural

if TYPE_CHECKING:
    import polars as pl

NEEDS = ("iteration_states", "hierarchy")

TOO_UNLIKE = 1.25

SQL = f"""
with {JUDGED.strip()},
part as ({PARTS}),
spent as (
    select judged.process, judged.iteration, kind.state, coalesce(sum(part.time_ns), 0) as time_ns
    from judged
    cross join (select unnest(['compute', 'communication', 'copy', 'idle']) as state) as kind
    left join part
        on part.process = judged.process and part.iteration = judged.iteration and part.state = kind.state
    group by judged.process, judged.iteration, kind.state
),
excess as (
    select process, iteration, state, time_ns - median(time_ns) over (partition by process, state) as excess_ns
    from spent
),
reason as (
    select process, iteration, arg_max(state, excess_ns order by state) as state, max(excess_ns)::bigint as excess_ns
    from excess
    group by process, iteration
)
select
    judged.process,
    level,
    judged.iteration,
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
        when phase = 'warm-up' or judged.iteration < first_usual then 'warm-up'
        when slow then 'slow'
        when phase <> 'steady' then phase
    end as mark,
    case when slow then reason.state end as more_of,
    case when slow then reason.excess_ns end as more_ns
from judged
join reason on reason.process = judged.process and reason.iteration = judged.iteration
order by judged.process, judged.iteration
"""


def find(trace: Trace) -> Finding:
    """Each iteration of the main level with its duration: from the end of the one before it to its own end.

    `mark` says what stands out: 'warm-up' for leading ones that are slow or differ, 'slow', or 'deviating' content.
    Slow: longer than the median of the steady ones of its type by more than 5 robust standard deviations (1.4826 times
    the median absolute deviation) and by more than 5 % (`mining.slow`). `more_of` is the state in which a slow one
    exceeds the median of that state most, `more_ns` by how much.
    """
    rows = trace.sql(SQL)
    if not len(rows):
        return Finding("iteration_times", "No iterations were found in this trace.", rows, SQL.strip())
    parts = rows.partition_by("process", maintain_order=True)
    unlike = [str(part["process"][0]) for part in parts if _too_unlike(part)]
    which = f" of process {', '.join(unlike)}" if len(parts) > 1 else ""
    notes = (f"The iterations{which} differ too much among themselves for one to stand out.",) * bool(unlike)
    if len(parts) == 1:
        return Finding("iteration_times", _sentence(rows), rows, SQL.strip(), notes)
    medians = [median for median in map(_median, parts) if median is not None]
    typical = f"medians from {duration(min(medians))} to {duration(max(medians))}" if medians else "none of them steady"
    slow = (rows["mark"] == "slow").sum()
    sentence = f"{len(parts)} processes: {plural(len(rows), 'iteration')} in all, {typical}, {slow or 'none'} slow."
    return Finding("iteration_times", sentence, rows, SQL.strip(), notes)


def _sentence(rows: "pl.DataFrame") -> str:
    """Count, median, range and slow ones of one process' iterations."""
    slow = rows.filter((rows["mark"] == "slow").fill_null(False))
    named = [
        f"{n} ({of} +{duration(ns)})" for n, of, ns in slow.select("iteration", "more_of", "more_ns").head(4).rows()
    ]
    some = f"{len(slow)} slow: {', '.join(named)}{', …' if len(slow) > 4 else ''}" if len(slow) else "none slow"
    median = _median(rows)
    typical = f"{duration(median)} in the median" if median is not None else "none of them steady"
    times: list[int] = rows["duration_ns"].to_list()
    least, most = duration(min(times)), duration(max(times))
    return f"{plural(len(rows), 'iteration')}, {typical} ({least} to {most}), {some}."


def _median(rows: "pl.DataFrame") -> float | None:
    """The median of the steady iterations of a process, whatever their types; None without any."""
    steady: list[int] = rows.filter(rows["phase"] == "steady")["duration_ns"].to_list()
    return float(np.median(steady)) if steady else None


def _too_unlike(rows: "pl.DataFrame") -> bool:
    """Whether nothing stands out although the steady ones differ by more than a quarter, each beside its own median."""
    steady: list[float] = rows.filter((rows["phase"] == "steady") & (rows["median_ns"] > 0))["ratio"].to_list()
    return bool(steady) and max(steady) > TOO_UNLIKE * min(steady) and not (rows["mark"] == "slow").any()
