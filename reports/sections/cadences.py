"""At which periods the work repeats."""

from ...mining.finding import Finding
from ...store.trace import Trace
from ..report import Block, Column, Section
from ..shown import Ask, section_of, table

__all__ = ["section"]


def section(trace: Trace, ask: Ask) -> Section:
    """The section."""
    return section_of("cadences", "Cadences", ask, "cadences", _blocks)


def _blocks(found: Finding) -> tuple[Block, ...]:
    columns = (
        Column("level", "Level", "id"),
        Column("process", "Process", "id"),
        Column("device", "Device", "id"),
        Column("stream", "Stream", "id"),
        Column("kind", "Kind"),
        Column("period", "Operations", "count"),
        Column("count", "Repetitions", "count"),
        Column("period_ns", "Median time", "ns"),
        Column("coverage", "Coverage", "share"),
        Column("confidence", "Confidence", "ratio"),
        Column("phase_confidence", "Confidence of the cut", "ratio"),
    )
    return (table("Levels at which the work repeats", columns, found),)
