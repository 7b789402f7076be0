"""Which copies take the time, and which come again in every iteration."""

from ...mining.finding import Finding
from ...store.trace import Trace
from ..report import Block, Column, Section, Text
from ..shown import Ask, section_of, table

__all__ = ["section"]


def section(trace: Trace, ask: Ask) -> Section:
    """The section."""
    return section_of("copies", "Copies", ask, "transfers", lambda found: _blocks(found, ask))


def _blocks(found: Finding, ask: Ask) -> tuple[Block, ...]:
    columns = (
        Column("process", "Process", "id"),
        Column("device", "Device", "id"),
        Column("kind", "Direction"),
        Column("bytes", "Size", "bytes"),
        Column("copies", "Copies", "count"),
        Column("copies_per_iteration", "An iteration", "ratio"),
        Column("time_ns", "Time", "ns"),
        Column("time_per_iteration_ns", "Time of an iteration", "ns"),
        Column("exposed_ns", "Exposed", "ns"),
        Column("bytes_per_s", "Bandwidth per s", "bytes"),
    )
    recurring = (
        Column("process", "Process", "id"),
        Column("device", "Device", "id"),
        Column("kind", "Direction"),
        Column("bytes", "Size", "bytes"),
        Column("host_memory", "Host memory"),
        Column("copies", "Copies", "count"),
        Column("copies_per_iteration", "An iteration", "ratio"),
        Column("bytes_per_iteration", "Bytes of an iteration", "bytes"),
        Column("time_per_iteration_ns", "Time of an iteration", "ns"),
        Column("exposed_ns", "Exposed", "ns"),
        Column("bytes_per_s", "Bandwidth per s", "bytes"),
    )
    again = ask("repeated_copies")
    told = [table("Copies between host and device that come again in every iteration", recurring, again)]
    return (
        table("Copies by direction and size, the most time first", columns, found),
        Text(again.sentence),
        *(told if len(again.rows) else ()),
    )
