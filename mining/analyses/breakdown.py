"""Where does the time of each iteration go?"""

from ...store.trace import Trace
from ..finding import Finding, total
from ..levels import MAIN
from ..words import percent

NEEDS = ("segments", "iterations")

SQL = f"""
with main as ({MAIN})
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
    and (main.device is null or main.device = segment.device)
    and segment.start_ns < iteration.end_ns
    and segment.end_ns > iteration.from_ns
group by iteration.process, segment.device, iteration.iteration, segment.state
order by iteration.process, segment.device, iteration.iteration, segment.state
"""


def find(trace: Trace) -> Finding:
    """Time of each iteration by state (compute, exposed communication, exposed copy, idle), which add up to it."""
    rows = trace.sql(SQL)
    if not len(rows):
        return Finding("breakdown", "No iterations were found, so their time cannot be broken down.", rows, SQL.strip())
    whole = total(rows, "time_ns")
    states = rows.group_by("state").sum().sort(["time_ns", "state"], descending=[True, False])
    parts = [f"{percent(time, whole)} {state}" for state, time in states.select("state", "time_ns").rows()]
    return Finding("breakdown", f"An iteration's time is {', '.join(parts)}.", rows, SQL.strip())
