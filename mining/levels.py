"""Which of the mined levels stands for the iterations of a process, and what their time is spent on."""

__all__ = ["MAIN", "MAIN_OF_TRACES", "PARTS", "STEP"]

CHOSEN = """
    select {key}, level, device, period, confidence, phase_confidence, coverage
    from level
    where kind = 'iteration'
    qualify row_number() over (partition by {key} order by count * period desc, level) = 1
"""
MAIN = CHOSEN.format(key="process")
"""SQL: for each process its iteration level that covers the most operations."""
MAIN_OF_TRACES = CHOSEN.format(key="trace_id, process")
"""SQL: the same for each process of each trace."""

STEP = f"""
main as ({MAIN}),
step as (
    select iteration.process, iteration.iteration, from_ns, start_ns, end_ns
    from iteration
    join main using (process, level)
)
"""
"""SQL: the iterations of the main level of each process, as `step`."""

PARTS = """
    select part.process, part.device, part.iteration, part.state, part.time_ns, iteration.time_ns as iteration_ns
    from iteration_state as part
    join iteration
        on iteration.process = part.process
        and iteration.level = part.level
        and iteration.iteration = part.iteration
"""
"""SQL: the time of each main iteration by state of its device; the states add up to it."""
