"""The calls of kernels, and which of them lie in iterations, as SQL."""

from ..store.trace import Trace
from .levels import MAIN

__all__ = ["PER_ITERATION", "calls"]

CALLS = """
select
    coalesce(name, '(no name)') as name,
    category,
    duration_ns,
    {inside} as inside,
    {steps} as steps
from kernel{joined}
"""
STEP = f"""
select process, from_ns, end_ns from iteration join ({MAIN}) as main using (process, level)
"""
JOINED = f"""
asof left join ({STEP}) as step
    on kernel.process = step.process and kernel.start_ns >= step.from_ns"""

PER_ITERATION = """count(*) filter (inside) / nullif(any_value(steps), 0) as calls_per_iteration,
    sum(duration_ns) filter (inside) / nullif(any_value(steps), 0) as time_per_iteration_ns"""
"""SQL: what a group of calls costs an iteration; null where there are none."""


def calls(trace: Trace) -> str:
    """A query of all kernels: name, category, duration, whether one starts in a main iteration, and how many are these.

    An iteration is taken with the wait before it, as `iteration.from_ns` says; `steps` is the number of all main
    iterations of the trace.
    """
    if not trace.has("iteration"):
        return CALLS.format(inside="false", steps="0", joined="").strip()
    inside = "coalesce(kernel.start_ns < step.end_ns and flaw is distinct from 'no start', false)"
    return CALLS.format(inside=inside, steps=f"(select count(*) from ({STEP.strip()}))", joined=JOINED).strip()
