"""What would move if the device held less: simulated, and never beside what was measured."""

from ...mining.finding import Finding
from ...store.trace import Trace
from ..charts.oversubscription import oversubscription
from ..known import known_table
from ..report import Block, Column, Section
from ..shown import Ask, pictures, section_of

__all__ = ["section"]

COLUMNS = (
    Column("process", "Process", "id"),
    Column("oversubscription", "Oversubscribed", "ratio"),
    Column("policy", "Policy"),
    Column("capacity_bytes", "The device holds", "bytes"),
    Column("faults", "Faults of 64 KiB", "count"),
    Column("moved_bytes", "Moved", "bytes"),
    Column("prefetched_bytes", "By the plan", "bytes"),
    Column("again_bytes", "Again", "bytes"),
    Column("wasted_bytes", "Prefetched in vain", "bytes"),
    Column("least_ns", "Time, prefetches hidden", "ns"),
    Column("most_ns", "None hidden", "ns"),
)


def section(trace: Trace, ask: Ask) -> Section:
    """The section."""
    return section_of("uvm_simulation", "Simulated: a smaller device", ask, "uvm_simulation", _blocks)


def _blocks(found: Finding) -> tuple[Block, ...]:
    shows = "Simulated time of faults and moves by oversubscription, no prefetch hidden; a line for each policy."
    charts = pictures(found, "Simulated time of faults and moves", oversubscription, shows)
    return (*charts, known_table("Simulated: moves by oversubscription and policy", COLUMNS, found))
