"""The headline metrics of runs: what a gate may fail on, and the SQL that gives each value again.

Warm-up never counts: all but the peak of memory is over the steady iterations of the main level of each process, from
the first on that takes no longer than usual (`slow`). A run without iterations can be measured as a whole, as if its
processes did one iteration each.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Literal

from ..store.trace import Trace
from .slow import JUDGED

__all__ = ["HEADLINE", "Metric", "statement", "steps"]

Combined = Literal["slowest", "largest", "mean", "sum"]
"""How the values of the processes of a run make the run's: the slowest rank holds the others up."""

COMBINED: Mapping[Combined, str] = {"slowest": "max", "largest": "max", "mean": "avg", "sum": "sum"}


@dataclass(frozen=True)
class Metric:
    """A quantity of a run. `sql` gives it for each process, as `value`, from the tables `steady` and `counted`.

    `needs` is the table that a trace must have for it.
    """

    name: str
    title: str
    unit: Literal["ns", "share", "bytes", "count"]
    better: Literal["lower", "higher"]
    combined: Combined
    needs: str
    sql: str


STEPS = f"""
{JUDGED.strip()},
steady as (
    select trace_id, process, main.device, iteration, from_ns, end_ns, time_ns
    from judged
    join main using (trace_id, process, level)
    where phase = 'steady' and iteration >= coalesce(first_usual, 0) and trace_id in (select trace_id from named)
),
spent as (
    select steady.trace_id, steady.process, part.state, part.time_ns
    from iteration_state as part
    join steady using (trace_id, process, iteration)
)"""
WHOLE = """
steady as (
    select
        trace_id,
        process,
        min(device) as device,
        0 as iteration,
        min(start_ns) as from_ns,
        max(end_ns) as end_ns,
        max(end_ns) - min(start_ns) as time_ns
    from segment
    where trace_id in (select trace_id from named)
    group by all
),
spent as (
    select trace_id, process, state, duration_ns as time_ns
    from segment
    where trace_id in (select trace_id from named)
)"""
COUNTED = """
counted as (
    select trace_id, process, count(*) as steps from steady group by all
)"""

QUANTILE = """
select trace_id, process, quantile_cont(time_ns, {}) as value from steady group by all
"""
SPENT = """
select trace_id, process, coalesce(sum(time_ns) filter (state = '{}'), 0) / any_value(steps) as value
from counted
left join spent using (trace_id, process)
group by all
"""
BUSY = """
select trace_id, process, coalesce(sum(time_ns) filter (state <> 'idle'), 0) / sum(time_ns) as value
from spent
group by all
"""
PEAK = """
select trace_id, process, max(value) as value
from (
    select trace_id, process, device, coalesce(max(bytes) filter (granularity = 'tensor'), max(bytes)) as value
    from memory_curve
    where trace_id in (select trace_id from named)
    group by all
)
group by all
"""
WITHIN = """
select trace_id, process, if(count(there) = 0, 0, sum(amount)) / any_value(steps) as value
from counted
left join (
    select steady.trace_id, steady.process, true as there, {amount} as amount
    from {table} as work
    asof join steady
        on steady.trace_id = work.trace_id and steady.process = work.process and steady.from_ns <= work.start_ns
    where work.start_ns < steady.end_ns and {condition}
) using (trace_id, process)
group by all
"""
MOVED = """
select trace_id, process, coalesce(sum(bytes), 0) / any_value(steps) as value
from counted
left join (
    select steady.trace_id, steady.process, bytes
    from uvm_event
    join steady on {within}
    where kind in ('HtoD', 'DtoH', 'DtoD')
) using (trace_id, process)
where trace_id in (select trace_id from uvm_event where kind in ('HtoD', 'DtoH', 'DtoD') and bytes is not null)
group by all
"""
STALLED = """
select trace_id, process, coalesce(sum(stall_ns), 0) / any_value(steps) as value
from counted
left join (
    select steady.trace_id, steady.process, stall_ns from uvm_stall join steady on {within}
) using (trace_id, process)
group by all
"""
SAME = "steady.trace_id = {0}.trace_id and steady.process = {0}.process"

HEADLINE: tuple[Metric, ...] = (
    Metric("iteration_p50_ns", "Median iteration", "ns", "lower", "slowest", "segment", QUANTILE.format(0.5)),
    Metric(
        "iteration_p95_ns", "95th percentile of iterations", "ns", "lower", "slowest", "segment", QUANTILE.format(0.95)
    ),
    Metric("busy_share", "Busy share of the devices", "share", "higher", "mean", "segment", BUSY),
    Metric(
        "exposed_communication_ns",
        "Exposed communication per iteration",
        "ns",
        "lower",
        "slowest",
        "segment",
        SPENT.format("communication"),
    ),
    Metric("idle_ns", "Idle time per iteration", "ns", "lower", "slowest", "segment", SPENT.format("idle")),
    Metric("peak_memory_bytes", "Peak of allocated device memory", "bytes", "lower", "largest", "memory_curve", PEAK),
    Metric(
        "copied_bytes",
        "Copied to devices per iteration",
        "bytes",
        "lower",
        "sum",
        "copy",
        WITHIN.format(table="copy", amount="work.bytes", condition="work.kind = 'HtoD'"),
    ),
    Metric("uvm_bytes", "Managed memory moved per iteration", "bytes", "lower", "sum", "uvm_event", MOVED),
    Metric("uvm_stall_ns", "Stall for managed memory per iteration", "ns", "lower", "slowest", "uvm_stall", STALLED),
    Metric(
        "kernels",
        "Kernels per iteration",
        "count",
        "lower",
        "sum",
        "kernel",
        WITHIN.format(table="kernel", amount="1", condition="true"),
    ),
)
"""The metrics of a run that a gate may fail on: no more than ten, since each is a chance to fail for nothing."""


def steps(runs: Mapping[str, Sequence[str]], *, whole: bool = False) -> str:
    """SQL: the tables of a `with` clause: `steady`, the iterations that count, and `counted`, how many a process has.

    `runs` are the ids of the traces of each run. With `whole` each process is one iteration.
    """
    named = ", ".join(f"('{trace}', {_quoted(run)})" for run, traces in runs.items() for trace in traces)
    return f"named(trace_id, run) as (values {named}),{WHOLE if whole else STEPS},{COUNTED}"


def statement(runs: Mapping[str, Sequence[Trace]], *, whole: bool = False) -> str:
    """SQL: the values of runs as rows of `metric`, `run` and `value`, of all metrics that were collected.

    Without rows where none was. The traces are mined (`measured_run.NEEDS`).
    """
    within = {"uvm_event": SAME.format("uvm_event"), "uvm_stall": SAME.format("uvm_stall")}
    if not whole:
        within = {name: f"{same} and steady.iteration = {name}.iteration" for name, same in within.items()}
    parts: list[str] = []
    for one in HEADLINE:
        ids = [trace.id for traces in runs.values() for trace in traces if trace.has(one.needs)]
        if ids:
            sql = one.sql.format(within=within[one.needs]) if one.needs in within else one.sql
            listed = ", ".join(f"'{id}'" for id in ids)
            parts.append(
                f"select '{one.name}' as metric, run, {COMBINED[one.combined]}(value)::double as value\n"
                f"from ({sql.rstrip()}\n)\njoin named using (trace_id)\nwhere trace_id in ({listed})\ngroup by run"
            )
    if not parts:
        return "select null::varchar as metric, null::varchar as run, null::double as value where false"
    ids = {run: [trace.id for trace in traces] for run, traces in runs.items()}
    return f"with {steps(ids, whole=whole)}\n" + "\nunion all\n".join(parts) + "\norder by metric, run"


def _quoted(text: str) -> str:
    return "'" + text.replace("'", "''") + "'"
