"""Which of the mined levels stands for the iterations of a process, and what their time is spent on."""

__all__ = ["MAIN", "PARTS"]

MAIN = """
    select process, level, device, period, confidence, phase_confidence, coverage
    from level
    where kind = 'iteration'
    qualify row_number() over (partition by process order by count * period desc, level) = 1
"""
"""SQL: for each process its iteration level that covers the most operations."""

PARTS = """
    select
        iteration.process,
        segment.device,
        iteration.iteration,
        segment.state,
        sum(
            least(segment.end_ns, iteration.end_ns) - greatest(segment.start_ns, iteration.from_ns)
        )::bigint as time_ns,
        any_value(iteration.time_ns) as iteration_ns
    from iteration
    join main on main.process = iteration.process and main.level = iteration.level
    join segment
        on segment.process = iteration.process
        and main.device = segment.device
        and segment.start_ns < iteration.end_ns
        and segment.end_ns > iteration.from_ns
    group by iteration.process, segment.device, iteration.iteration, segment.state
"""
"""SQL: the time of each iteration of the levels in `main` by state of its device; the states add up to it."""
