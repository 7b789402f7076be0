"""When what ran, and how much of the time the device was busy."""

from ...mining.finding import Finding
from ...store.trace import Trace
from ..lanes import timeline
from ..report import Block, Column, Section
from ..shown import Ask, section_of, table

__all__ = ["section"]


def section(trace: Trace, ask: Ask) -> Section:
    """The section."""
    return section_of("timeline", "Timeline", ask, "states", lambda found: _blocks(trace, ask, found))


def _blocks(trace: Trace, ask: Ask, found: Finding) -> tuple[Block, ...]:
    columns = (
        Column("process", "Process", "id"),
        Column("device", "Device", "id"),
        Column("state", "State"),
        Column("time_ns", "Time", "ns"),
        Column("share", "Share of span", "share"),
        Column("span_ns", "Span", "ns"),
    )
    return (timeline(trace, ask), table("Time by state, from first to last work of each device", columns, found))
