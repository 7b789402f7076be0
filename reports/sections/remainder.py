"""What neither iterations nor patterns explain."""

from ...mining.finding import Finding
from ...store.trace import Trace
from ..report import Block, Column, Section
from ..shown import Ask, section_of, table

__all__ = ["section"]


def section(trace: Trace, ask: Ask) -> Section:
    """The section."""
    return section_of("remainder", "What is not explained", ask, "remainder", _blocks)


def _blocks(found: Finding) -> tuple[Block, ...]:
    columns = (
        Column("process", "Process", "id"),
        Column("device", "Device", "id"),
        Column("name", "Operation"),
        Column("part", "Where"),
        Column("operations", "Operations", "count"),
        Column("time_ns", "Time", "ns"),
        Column("share_of_remainder", "Share of what is not explained", "share"),
        Column("share", "Share of device work", "share"),
    )
    return (table("Operations outside iterations and patterns, the most time first", columns, found),)
