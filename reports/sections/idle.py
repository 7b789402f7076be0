"""Why the device waits."""

from ...mining.finding import Finding
from ...store.trace import Trace
from ..charts.gaps import gap_histogram
from ..report import Block, Chart, Column, Section, Text
from ..shown import Ask, section_of, table

__all__ = ["section"]


def section(trace: Trace, ask: Ask) -> Section:
    """The section."""
    return section_of("idle", "Idle time by cause", ask, "idle", lambda found: _blocks(found, ask))


def _blocks(found: Finding, ask: Ask) -> tuple[Block, ...]:
    columns = (
        Column("cause", "Cause"),
        Column("gaps", "Gaps", "count"),
        Column("time_ns", "Time", "ns"),
        Column("share", "Share of idle time", "share"),
        Column("p50_ns", "Median gap", "ns"),
        Column("longest_ns", "Longest gap", "ns"),
    )
    lengths = ask("gap_lengths")
    drawn = [
        Chart(
            "Idle time by length of gap",
            gap_histogram(lengths.rows.to_dicts()),
            "Summed idle time of gaps by their length, stacked by cause.",
            lengths.sql,
        )
    ] * bool(len(lengths.rows))
    return (*drawn, Text(lengths.sentence), table("Idle time by cause", columns, found))
