"""Which kernels take the time."""

from ...mining.finding import Finding
from ...store.trace import Trace
from ..charts.bars import pareto
from ..charts.categories import category_bars
from ..report import Block, Chart, Column, Section, Text
from ..shown import Ask, section_of, table

__all__ = ["section"]

SHARE = "Share of kernel time"
PER_ITERATION = (
    Column("calls_per_iteration", "Calls an iteration", "ratio"),
    Column("time_per_iteration_ns", "Time an iteration", "ns"),
)


def section(trace: Trace, ask: Ask) -> Section:
    """The section."""
    return section_of("kernels", "Kernels", ask, "kernels", lambda found: _blocks(found, ask))


def _blocks(found: Finding, ask: Ask) -> tuple[Block, ...]:
    columns = (
        Column("name", "Kernel"),
        Column("category", "Category"),
        Column("calls", "Calls", "count"),
        Column("total_ns", "Total", "ns"),
        Column("share", SHARE, "share"),
        Column("mean_ns", "Mean", "ns"),
        Column("p50_ns", "Median", "ns"),
        Column("p95_ns", "95 %", "ns"),
        Column("variation", "Variation", "ratio"),
        *_of_iterations(found),
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
    kinds = ask("categories")
    return (
        Text(" ".join([kinds.sentence, *kinds.notes])),
        Chart(
            "Kernel time by category",
            category_bars(kinds.rows.to_dicts()),
            "Summed time of kernels by the kind of work that their names tell.",
            kinds.sql,
        ),
        _by_category(kinds),
        picture,
        table("Kernels by name, the most time first", columns, found),
    )


def _by_category(kinds: Finding) -> Block:
    columns = (
        Column("category", "Category"),
        Column("names", "Kernel names", "count"),
        Column("calls", "Calls", "count"),
        Column("total_ns", "Total", "ns"),
        Column("share", SHARE, "share"),
        Column("mean_ns", "Mean", "ns"),
        Column("p50_ns", "Median", "ns"),
        Column("p95_ns", "95 %", "ns"),
        *_of_iterations(kinds),
    )
    return table("Kernels by category", columns, kinds)


def _of_iterations(found: Finding) -> tuple[Column, ...]:
    """The columns on iterations, where there are any."""
    return PER_ITERATION if found.rows["calls_per_iteration"].null_count() < len(found.rows) else ()
