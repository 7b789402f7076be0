"""What would move if the device held less, and what a plan would ask for: simulated, never beside what was measured."""

from ...mining.finding import Finding
from ...store.trace import Trace
from ..charts.oversubscription import oversubscription
from ..known import known_table
from ..report import Block, Column, Section
from ..shown import Ask, pictures, section_of
from ..units import show

__all__ = ["plan", "section"]

COLUMNS = (
    Column("process", "Process", "id"),
    Column("oversubscription", "Oversubscription", "ratio"),
    Column("policy", "Policy"),
    Column("capacity_bytes", "The device holds", "bytes"),
    Column("faults", "Faults of 64 KiB", "count"),
    Column("moved_bytes", "Moved", "bytes"),
    Column("prefetched_bytes", "By the plan", "bytes"),
    Column("again_bytes", "Again", "bytes"),
    Column("wasted_bytes", "Prefetched in vain", "bytes"),
    Column("least_ns", "Time, prefetches hidden", "ns"),
    Column("most_ns", "Time, none hidden", "ns"),
)
PLAN = (
    Column("level", "By"),
    Column("evidence", "Evidence"),
    Column("steps", "Steps", "count"),
    Column("bytes", "Asked for", "bytes"),
    Column("left_out_bytes", "Left out", "bytes"),
    Column("capacity_bytes", "A step at most", "bytes"),
    Column("faults", "Faults of 64 KiB", "count"),
    Column("faults_without", "Without the plan", "count"),
)


def section(trace: Trace, ask: Ask) -> Section:
    """The section."""
    return section_of("uvm_simulation", "Simulated: a smaller device", ask, "uvm_simulation", _blocks)


def plan(trace: Trace, ask: Ask) -> Section:
    """The section on the plan that `--plan` writes."""
    heading = "Simulated: a plan of prefetches (--plan FILE)"
    return section_of("uvm_plan", heading, ask, "uvm_plan", lambda found: (known_table("The plan", PLAN, found),))


def _blocks(found: Finding) -> tuple[Block, ...]:
    cost = f"{show(found.rows['fault_ns'][0], 'ns')} a fault ({found.rows['fault_source'][0]})"
    shows = f"Simulated time of faults and moves at {cost}, no prefetch hidden; a line for each policy."
    charts = pictures(found, "Simulated time by oversubscription", oversubscription, shows)
    return (*charts, known_table("Simulated: moves by oversubscription and policy", COLUMNS, found))
