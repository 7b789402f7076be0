"""Which iterations are slow: the one rule, in SQL, for all that speak of them."""

from .levels import MAIN_OF_TRACES

__all__ = ["DEVIATIONS", "JUDGED", "ROBUST"]

DEVIATIONS = 5
ROBUST = 1.4826
"""Standard deviations in a median absolute deviation of normally distributed values."""
LEAST_EXCESS = 0.05
FEW = 5
"""A type with fewer steady iterations than this is judged by all it has, and if these are as few, by the process'."""

JUDGED = f"""
main as ({MAIN_OF_TRACES}),
typed as (
    select
        iteration.*,
        unit.type,
        unit.distance,
        phase = 'steady' or count(*) filter (phase = 'steady') over alike < {FEW} as usual,
        case when count(*) over alike >= {FEW} then unit.type end as peers
    from iteration
    semi join main
        on main.trace_id = iteration.trace_id
        and main.process = iteration.process
        and main.level = iteration.level
    left join unit
        on unit.trace_id = iteration.trace_id
        and unit.level = iteration.level
        and unit.iteration = iteration.iteration
    window alike as (partition by iteration.trace_id, iteration.process, unit.type)
),
time as (
    select
        *,
        coalesce(
            median(time_ns) filter (usual and peers is not null) over (partition by trace_id, process, peers),
            median(time_ns) filter (phase = 'steady') over (partition by trace_id, process)
        ) as median_ns
    from typed
),
spread as (
    select
        *,
        coalesce(
            median(abs(time_ns - median_ns)) filter (usual and peers is not null)
                over (partition by trace_id, process, peers),
            median(abs(time_ns - median_ns)) filter (phase = 'steady') over (partition by trace_id, process)
        ) as mad_ns
    from time
),
judged as (
    select
        *,
        time_ns - median_ns > greatest({DEVIATIONS} * {ROBUST} * mad_ns, {LEAST_EXCESS} * median_ns) as slow,
        min(iteration) filter (not slow) over (partition by trace_id, process) as first_usual
    from spread
)
"""
"""SQL: the iterations of the main level of each process of the traces, and whether each is slow.

Slow: longer than the median of the steady ones of its type by more than `DEVIATIONS` robust standard deviations (1.4826
times the median absolute deviation) and by more than the share `LEAST_EXCESS` of the median. `usual`: whether it is one
of those that say what is usual in its type. Those before `first_usual` are warm-up, whatever their phase.
"""
