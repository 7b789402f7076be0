"""How launches are laid out: grids and blocks, what limits the threads that fit, how far the last wave fills."""

from ...mining.finding import Finding, total
from ...store.trace import Trace
from ..charts.histogram import size_histogram
from ..charts.waves import last_waves
from ..known import known, known_table
from ..report import Block, Chart, Column, Section, Table
from ..shown import Ask, section_of

__all__ = ["geometry", "occupancy", "waves"]

SHARES = (
    Column("launches", "Launches", "count"),
    Column("launch_share", "Share", "share"),
    Column("time_ns", "Kernel time", "ns"),
    Column("share", "Share of time", "share"),
)
SIZES = {"blocks": "Blocks in a grid, from", "threads": "Threads in a block, from"}


def geometry(trace: Trace, ask: Ask) -> Section:
    """Grids and blocks by size."""
    return section_of("launch_geometry", "Launch geometry", ask, "launch_geometry", _geometry)


def occupancy(trace: Trace, ask: Ask) -> Section:
    """What limits the threads that a multiprocessor holds."""

    def blocks(found: Finding) -> tuple[Block, ...]:
        columns = (
            Column("limited_by", "What limits"),
            Column("kernels", "Kernel names", "count"),
            *SHARES,
            Column("occupancy", "Occupancy", "share"),
            Column("least_occupancy", "Least", "share"),
        )
        return (known_table("Threads that fit on a multiprocessor at once, by what limits them", columns, found),)

    return section_of("launch_occupancy", "What limits occupancy", ask, "launch_limits", blocks)


def waves(trace: Trace, ask: Ask) -> Section:
    """How far the last wave of blocks fills the device."""
    return section_of("launch_waves", "Waves and tails", ask, "launch_waves", lambda found: _waves(found, ask))


def _geometry(found: Finding) -> tuple[Block, ...]:
    columns = (
        Column("measure", "Of"),
        Column("least_size", "From", "count"),
        Column("most_size", "To", "count"),
        *SHARES,
    )
    drawn: list[Block] = []
    for measure, title in SIZES.items():
        rows = found.rows.filter(found.rows["measure"] == measure)
        bins = rows.select("from_size", "time_ns", "launches").rows()
        picture = size_histogram(bins, x=title, unit="count", bars="kernel time", ticks="launches")
        shows = f"Kernel time (bars) and launches (lines) by {measure}, up to twice the number each."
        drawn.append(Chart(f"Launches by {title.removesuffix(', from').lower()}", picture, shows, found.sql))
    caption = "Launches by blocks and by threads a block, up to twice the number each"
    return (*drawn, known_table(caption, columns, found))


def _waves(found: Finding, ask: Ask) -> tuple[Block, ...]:
    by = "time_ns" if total(found.rows, "time_ns") else "launches"
    shows = (
        "How far the last wave of blocks fills the device, by the waves of the launch. What stands to the right leaves "
        "little of the device empty at its end."
    )
    picture = last_waves(found.rows.to_dicts(), by=by)
    columns = (
        Column("waves", "Launches of"),
        Column("fill_from", "Last wave fills, from", "share"),
        *SHARES,
        Column("tail_ns", "Tail", "ns"),
    )
    return (
        Chart("Launches by how far their last wave fills the device", picture, shows, found.sql),
        known_table("Launches by waves and by the tenth that the last one fills", columns, found),
        _tails(ask("launch_tails")),
    )


def _tails(found: Finding) -> Table:
    columns = (
        Column("name", "Kernel"),
        Column("launches", "Launches", "count"),
        Column("time_ns", "Kernel time", "ns"),
        Column("tail_ns", "Tail", "ns"),
        Column("blocks", "Blocks", "count"),
        Column("threads", "Threads a block", "count"),
        Column("registers", "Registers", "count"),
        Column("shared_bytes", "Shared memory", "bytes"),
        Column("resident", "Blocks that fit", "count"),
        Column("occupancy", "Occupancy", "share"),
        Column("limited_by", "What limits"),
        Column("waves", "Waves", "ratio"),
        Column("last_fill", "Last wave fills", "share"),
    )
    caption = "Kernels, grids and blocks with the longest tails"
    return Table(caption, known(columns, found), found.rows.to_dicts(), found.sql)
