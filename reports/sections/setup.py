"""What the set-up of this trace does with the program, and what is not known without another one."""

from ...mining.finding import Finding
from ...store.trace import Trace
from ..report import Block, Column, Section
from ..shown import Ask, section_of, table

__all__ = ["section"]


def section(trace: Trace, ask: Ask) -> Section:
    """The section."""
    return section_of("setup", "Set-up", ask, "setup", _blocks)


def _blocks(found: Finding) -> tuple[Block, ...]:
    columns = (
        Column("process", "Process", "id"),
        Column("iterations", "Steady iterations", "count"),
        Column("median_ns", "Median", "ns"),
        Column("mad_ns", "Median deviation", "ns"),
        Column("operations", "Operations", "count"),
    )
    return (table("Iteration time of this set-up", columns, found),)
