"""Which kernels take the time."""

from ...mining.finding import Finding
from ...store.trace import Trace
from ..charts.bars import pareto
from ..report import Block, Chart, Column, Section, Text
from ..shown import Ask, section_of, table

__all__ = ["section"]


def section(trace: Trace, ask: Ask) -> Section:
    """The section."""
    return section_of("kernels", "Kernels", ask, "kernels", _blocks)


def _blocks(found: Finding) -> tuple[Block, ...]:
    columns = (
        Column("name", "Kernel"),
        Column("category", "Category"),
        Column("calls", "Calls", "count"),
        Column("total_ns", "Total", "ns"),
        Column("share", "Share", "share"),
        Column("p50_ns", "Median", "ns"),
        Column("p95_ns", "95 %", "ns"),
    )
    rows = found.rows.head(15).to_dicts()
    if not rows[0]["total_ns"]:
        return (
            Text("All kernels last 0 ns: the trace's clock is too coarse."),
            table("Kernels by name", columns, found),
        )
    picture = Chart(
        "Kernels by summed time",
        pareto(rows),
        "Summed time of the kernels that take most, and the share that they and all above them take.",
        found.sql,
    )
    return (picture, table("Kernels by name, the most time first", columns, found))
