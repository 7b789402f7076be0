"""Sums of page faults and moves, of recordings that hold nothing else of managed memory."""

from ...store.trace import Trace
from ..known import known_section
from ..report import Column, Section
from ..shown import Ask

__all__ = ["section"]

COLUMNS = (
    Column("process", "Process", "id"),
    Column("kind", "Sum of"),
    Column("name", "What"),
    Column("device", "Device", "id"),
    Column("count", "Times", "count"),
    Column("bytes", "Bytes", "bytes"),
    Column("time_ns", "Time, added up", "ns"),
)


def section(trace: Trace, ask: Ask) -> Section:
    """The section."""
    return known_section("uvm_totals", "Sums", ask, "Sums over the run", COLUMNS)
