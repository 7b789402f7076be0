"""Copies with the iteration they start in and the time they are exposed for, as SQL for the analyses of copies."""

from .levels import STEP

__all__ = ["PLACED"]

PLACED = f"""
{STEP.strip()},
steps as (
    select process, count(*) as steps from step group by process
),
placed as (
    select transfer.*, if(transfer.start_ns < step.end_ns, step.iteration, null) as iteration
    from transfer
    asof left join step on step.process = transfer.process and transfer.start_ns >= step.from_ns
),
alone as (
    select
        process,
        device,
        start_ns,
        duration_ns,
        sum(duration_ns) over (partition by process, device order by start_ns) - duration_ns as before_ns
    from segment
    where state = 'copy'
),
moment as (
    select number, process, device, unnest([start_ns, end_ns]) as at_ns, unnest([-1, 1]) as sign from transfer
),
exposed as (
    select
        number,
        sum(sign * coalesce(before_ns + least(at_ns - alone.start_ns, duration_ns), 0)) as ns
    from moment
    asof left join alone
        on alone.process = moment.process and alone.device = moment.device and moment.at_ns >= alone.start_ns
    group by number
)
"""
"""SQL after a `transfer` with `number`, `process`, `device`, `start_ns` and `end_ns`.

`placed`: each with the iteration of the main level that it starts in, if any; `steps`: how many of these a process has.
`exposed`: for how long nothing else runs meanwhile, the time of copies alone before its end less that before its start.
Joins by two moments instead would compare every copy of a process with every iteration and every segment of it.
"""
