"""Which collectives take the time, what bandwidth they reach, and who comes last."""

from ...mining.finding import Finding
from ...store.errors import NotCollected
from ...store.trace import Trace
from ..report import Block, Column, Section, Text
from ..shown import Ask, section_of, table

__all__ = ["section"]


def section(trace: Trace, ask: Ask) -> Section:
    """The section."""
    return section_of("collectives", "Collectives", ask, "collectives", lambda found: _blocks(found, ask))


def _blocks(found: Finding, ask: Ask) -> tuple[Block, ...]:
    columns = (
        Column("operation", "Collective"),
        Column("type", "Type"),
        Column("bytes", "Size", "bytes"),
        Column("group_size", "Ranks", "count"),
        Column("calls", "Calls", "count"),
        Column("time_ns", "Time", "ns"),
        Column("share", "Share", "share"),
        Column("shortest_ns", "Shortest", "ns"),
        Column("bus_bytes_per_s", "busbw per s", "bytes"),
        Column("best_bus_bytes_per_s", "best busbw per s", "bytes"),
        Column("algorithm_bytes_per_s", "algbw per s", "bytes"),
    )
    caption = "Collectives by kind, type, size and ranks, the most time first; –: not recorded"
    return (table(caption, columns, found), *_skew(ask))


def _skew(ask: Ask) -> tuple[Block, ...]:
    try:
        found = ask("collective_skew")
    except NotCollected:
        return ()
    if not len(found.rows):
        return ()
    columns = (
        Column("group", "Group"),
        Column("kind", "Collective"),
        Column("processes", "Processes", "count"),
        Column("collectives", "Collectives", "count"),
        Column("p50_spread_ns", "Starts apart, median", "ns"),
        Column("longest_spread_ns", "Starts apart, most", "ns"),
        Column("p50_end_spread_ns", "Ends apart, median", "ns"),
        Column("late_process", "Last: process", "id"),
        Column("late_rank", "Rank", "id"),
        Column("late_share", "How often", "share"),
    )
    caption = "How far apart processes start the same collective"
    return (Text(" ".join((found.sentence, *found.notes))), table(caption, columns, found))
