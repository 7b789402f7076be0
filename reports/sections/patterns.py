"""Which sequences of operations take the time."""

from ...mining.finding import Finding
from ...store.trace import Trace
from ..charts.bars import pattern_bars
from ..report import Block, Chart, Column, Section
from ..shown import Ask, section_of, table

__all__ = ["section"]


def section(trace: Trace, ask: Ask) -> Section:
    """The section."""
    return section_of("patterns", "Repeated patterns", ask, "repeats", _blocks)


def _blocks(found: Finding) -> tuple[Block, ...]:
    columns = (
        Column("pattern", "No.", "id"),
        Column("operations", "Operations in order"),
        Column("length", "Length", "count"),
        Column("count", "Occurrences", "count"),
        Column("time_ns", "Time", "ns"),
        Column("share", "Share of work", "share"),
        Column("idle_share", "Idle inside", "share"),
    )
    bars = [
        {
            "pattern": f"{row['pattern']}: {row['operations']}",
            "total_ns": row["time_ns"],
            "occurrences": row["count"],
        }
        for row in sorted(found.rows.head(12).to_dicts(), key=lambda row: -row["time_ns"])
    ]
    picture = Chart(
        "Patterns by time",
        pattern_bars(bars),
        "Summed device time of each pattern, and how often it occurs.",
        found.sql,
    )
    return (picture, table("Patterns, by the time they add to those before them", columns, found))
