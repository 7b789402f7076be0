"""What each stream does, and how many are busy at once."""

from ...mining.finding import Finding
from ...store.trace import Trace
from ..charts.streams import busy_streams
from ..report import Block, Column, Section, Text
from ..shown import Ask, pictures, section_of, table

__all__ = ["section"]


def section(trace: Trace, ask: Ask) -> Section:
    """The section."""
    return section_of("streams", "Streams", ask, "streams", lambda found: _blocks(found, ask))


def _blocks(found: Finding, ask: Ask) -> tuple[Block, ...]:
    columns = (
        Column("process", "Process", "id"),
        Column("device", "Device", "id"),
        Column("stream", "Stream", "id"),
        Column("operations", "Operations", "count"),
        Column("computing", "Compute", "count"),
        Column("communicating", "Communication", "count"),
        Column("copying", "Copies and fills", "count"),
        Column("busy_ns", "Busy", "ns"),
        Column("share", "Share of span", "share"),
        Column("gaps", "Gaps", "count"),
        Column("gap_ns", "Time in gaps", "ns"),
        Column("longest_gap_ns", "Longest gap", "ns"),
    )
    at_once = ask("busy_streams")
    shows = "Time by the number of streams that are busy at once; with 0 the device is idle."
    several = bool((at_once.rows["streams"] > 1).any())
    drawn = pictures(at_once, "Streams busy at once", busy_streams, shows) if several else []
    return (*drawn, Text(at_once.sentence), table("Streams, the busiest first", columns, found))
