"""How long each iteration takes, and which stand out."""

from ...mining.finding import Finding
from ...store.trace import Trace
from ..charts.iterations import iteration_series
from ..report import Block, Column, Section
from ..shown import Ask, pictures, section_of, table

__all__ = ["section"]


def section(trace: Trace, ask: Ask) -> Section:
    """The section."""
    return section_of("iterations", "Iterations", ask, "iteration_times", _blocks)


def _blocks(found: Finding) -> tuple[Block, ...]:
    columns = (
        Column("process", "Process", "id"),
        Column("iteration", "Iteration", "id"),
        Column("duration_ns", "Duration", "ns"),
        Column("mark", "Remark"),
        Column("more_of", "More of"),
        Column("more_ns", "By", "ns"),
        Column("wait_ns", "Wait before it", "ns"),
        Column("ratio", "Times the median", "ratio"),
        Column("operations", "Operations", "count"),
    )
    shows = "Duration over the iterations; dashed: median; band: 10th to 90th percentile; marked: what stands out."
    drawn = pictures(found, "Duration of each iteration", iteration_series, shows)
    return (*drawn, table("Iterations", columns, found))
