"""How long allocations of each size live, and which of them stand at the peak."""

from ...mining.finding import Finding
from ...store.trace import Trace
from ..charts.lifetimes import lifetimes
from ..report import Block, Chart, Column, Section
from ..shown import Ask, section_of, table

__all__ = ["section"]


def section(trace: Trace, ask: Ask) -> Section:
    """The section."""
    return section_of("workload_lifetimes", "Lifetime and size", ask, "memory_lives", _blocks)


def _blocks(found: Finding) -> tuple[Block, ...]:
    columns = (
        Column("granularity", "Of"),
        Column("from_ns", "Lived from", "ns"),
        Column("from_bytes", "Size from", "bytes"),
        Column("allocations", "Allocations", "count"),
        Column("bytes", "In sum", "bytes"),
        Column("peak_allocations", "At the peak", "count"),
        Column("peak_bytes", "Bytes at the peak", "bytes"),
    )
    own = found.rows.filter(found.rows["granularity"] == found.rows["granularity"].max())
    shows = (
        "A bubble is as large as the bytes of all allocations of its lifetime and size; within it is what of these "
        "stands at the peak. Lifetimes are from a power of ten to the next, sizes from a power of two. What was "
        "allocated before the recording and is not in one of its allocations has no bubble."
    )
    title = f"Lifetime and size of {own['granularity'][0]}s, and what stands at the peak"
    drawn = [Chart(title, lifetimes(own.to_dicts()), shows, found.sql)] if own["bytes"].sum() else []
    return (*drawn, table("Allocations by lifetime, up to ten times each, and by size", columns, found))
