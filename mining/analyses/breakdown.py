"""Where does the time of each iteration go?"""

from ...store.trace import Trace
from ..finding import Finding, total
from ..levels import PARTS
from ..words import percent

NEEDS = ("iteration_states",)

SQL = f"""
{PARTS.strip()}
order by part.process, part.device, part.iteration, part.state
"""


def find(trace: Trace) -> Finding:
    """Time of each iteration by state (compute, exposed communication, exposed copy, idle), which add up to it."""
    rows = trace.sql(SQL)
    if not len(rows):
        return Finding("breakdown", "No iterations were found, so their time cannot be broken down.", rows, SQL.strip())
    keys = ["process", "device", "iteration"]
    whole = rows.unique(keys, maintain_order=True).sort(["iteration_ns", *keys])
    typical = whole.row((len(whole) - 1) // 2, named=True)
    chosen = rows.filter((rows["process"] == typical["process"]) & (rows["iteration"] == typical["iteration"]))
    chosen = chosen.filter(chosen["device"] == typical["device"]).sort(["time_ns", "state"], descending=[True, False])
    parts = [
        f"{percent(ns, total(chosen, 'time_ns'))} {state}" for state, ns in chosen.select("state", "time_ns").rows()
    ]
    which = f"iteration {typical['iteration']}" + (
        f" of process {typical['process']}" if len(set(rows["process"])) > 1 else ""
    )
    return Finding("breakdown", f"The iteration of median length ({which}) is {', '.join(parts)}.", rows, SQL.strip())
