"""What the host does while the device waits."""

from ...mining.finding import Finding
from ...store.trace import Trace
from ..report import Block, Column, Section
from ..shown import Ask, section_of, table

__all__ = ["section"]


def section(trace: Trace, ask: Ask) -> Section:
    """The section."""
    return section_of("host_calls", "Host calls while the device idles", ask, "host_calls", _blocks)


def _blocks(found: Finding) -> tuple[Block, ...]:
    columns = (
        Column("name", "Call"),
        Column("calls", "Calls", "count"),
        Column("idle_ns", "Idle time meanwhile", "ns"),
        Column("share", "Share of idle time", "share"),
    )
    return (table("Runtime and driver calls under way while a device idles", columns, found),)
