"""How much of the communication and of the copies is hidden behind other work."""

from ...mining.finding import Finding
from ...store.trace import Trace
from ..report import Block, Column, Section
from ..shown import Ask, section_of, table

__all__ = ["section"]


def section(trace: Trace, ask: Ask) -> Section:
    """The section."""
    heading = "Overlap of communication, copies and compute"
    return section_of("overlap", heading, ask, "overlap", lambda found: _blocks(found, ask))


def _blocks(found: Finding, ask: Ask) -> tuple[Block, ...]:
    columns = (
        Column("process", "Process", "id"),
        Column("device", "Device", "id"),
        Column("work", "Work"),
        Column("time_ns", "Time", "ns"),
        Column("beside_compute_ns", "Beside compute", "ns"),
        Column("beside_communication_ns", "Beside communication", "ns"),
        Column("exposed_ns", "Exposed", "ns"),
        Column("hidden_share", "Hidden", "share"),
        Column("exposed_share", "Exposed, of span", "share"),
    )
    sets = (
        Column("process", "Process", "id"),
        Column("device", "Device", "id"),
        Column("running", "What runs"),
        Column("time_ns", "Time", "ns"),
        Column("share", "Share of span", "share"),
    )
    caption = "What runs at once: each moment is in one row, and the rows of a device add up to its span"
    return (
        table("Time of each kind of work, and what runs beside it", columns, found),
        table(caption, sets, ask("combinations")),
    )
