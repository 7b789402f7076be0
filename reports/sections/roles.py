"""Which parts of a training iteration the mined structure shows, by the rules of frameworks."""

from ...mining.finding import Finding
from ...store.trace import Trace
from ..report import Block, Column, Section
from ..shown import Ask, section_of, table

__all__ = ["section"]


def section(trace: Trace, ask: Ask) -> Section:
    """The section."""
    return section_of("roles", "Roles of the mined structure", ask, "roles", _blocks)


def _blocks(found: Finding) -> tuple[Block, ...]:
    columns = (
        Column("process", "Process", "id"),
        Column("label", "Part"),
        Column("rule", "Rule"),
        Column("stretches", "Stretches", "count"),
        Column("operations", "Operations", "count"),
        Column("first", "First operation", "id"),
        Column("last", "Last operation", "id"),
        Column("time_ns", "Time", "ns"),
        Column("share", "Share of the time of the iteration's operations", "share"),
        Column("sequence", "Place"),
    )
    return (table("Parts of the iteration of median time, the most time first", columns, found),)
