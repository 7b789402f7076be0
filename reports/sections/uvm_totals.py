"""Sums of page faults and moves, of recordings that hold nothing else of managed memory."""

from ...store.trace import Trace
from ..known import known_table
from ..report import Column, Section
from ..shown import Ask, section_of

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
    caption = "Sums over the run"
    return section_of("uvm_totals", "Sums", ask, "uvm_totals", lambda found: (known_table(caption, COLUMNS, found),))
