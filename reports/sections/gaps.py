"""Between which operations the device waits."""

from ...mining.finding import Finding
from ...store.trace import Trace
from ..report import Block, Column, Section
from ..shown import Ask, section_of, table

__all__ = ["section"]


def section(trace: Trace, ask: Ask) -> Section:
    """The section."""
    return section_of("gaps", "Where the device waits", ask, "gaps", _blocks)


def _blocks(found: Finding) -> tuple[Block, ...]:
    columns = (
        Column("cause", "Cause"),
        Column("before", "After which operation"),
        Column("after", "Before which operation"),
        Column("gaps", "Gaps", "count"),
        Column("time_ns", "Time", "ns"),
        Column("share", "Share of idle time", "share"),
        Column("longest_ns", "Longest", "ns"),
    )
    return (table("Places with the most idle time", columns, found),)
