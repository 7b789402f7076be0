"""Which kernels are launched most often."""

from ...mining.finding import Finding
from ...store.trace import Trace
from ..charts.frequency import rank_plot
from ..report import Block, Chart, Column, Section, Table
from ..shown import Ask, section_of, table

__all__ = ["section"]


def section(trace: Trace, ask: Ask) -> Section:
    """The section."""
    return section_of(
        "workload_frequency", "Kernel frequency", ask, "kernel_frequency", lambda found: _blocks(found, ask)
    )


def _blocks(found: Finding, ask: Ask) -> tuple[Block, ...]:
    ranks, counts = ask("kernel_ranks"), ask("kernel_counts")
    columns = (
        Column("rank", "Rank", "id"),
        Column("name", "Kernel, without template arguments"),
        Column("calls", "Launches", "count"),
        Column("share", "Share of launches", "share"),
        Column("cumulative_share", "Up to here", "share"),
        *_times(found),
        Column("full_names", "Full names", "count"),
        Column("full_name", "Its most frequent full name"),
    )
    of_device = (
        Column("process", "Process", "id"),
        Column("device", "Device", "id"),
        Column("phase", "Phase"),
        Column("launches", "Kernels", "count"),
        Column("iterations", "Iterations", "count"),
        Column("launches_per_iteration", "Kernels an iteration", "ratio"),
    )
    shows = "Launches of each kernel name by its rank. A straight line down: few names have most of the launches."
    drawn = (Chart("Launches by rank of the kernel name", rank_plot(ranks.rows.to_dicts()), shows, ranks.sql),)
    return (
        *(drawn if len(ranks.rows) > 1 else ()),
        Table("The 20 names launched most often, and all others", columns, found.rows.to_dicts(), found.sql),
        table("Kernels by device and phase", of_device, counts),
    )


def _times(found: Finding) -> tuple[Column, ...]:
    """The columns on time, where the source has times."""
    if found.rows["work_ns"].null_count() == len(found.rows):
        return ()
    return (Column("work_ns", "Time", "ns"), Column("work_share", "Share of kernel time", "share"))
