"""Which pages move where and why, how fast, in which iterations, and which go back and forth."""

from dataclasses import replace

from ...mining.finding import Finding
from ...store.trace import Trace
from ..charts.migrations import moved_bytes
from ..known import known_section, known_table
from ..report import Block, Chart, Column, Section, Text
from ..shown import Ask, pictures, section_of

__all__ = ["contention", "iterations", "moves", "round_trips"]

LANE = (Column("process", "Process", "id"), Column("device", "Device", "id"))
MOVES = (
    *LANE,
    Column("kind", "Direction"),
    Column("cause", "Cause"),
    Column("moves", "Moves", "count"),
    Column("bytes", "Moved", "bytes"),
    Column("time_ns", "Time, added up", "ns"),
    Column("untimed", "Without an end", "count"),
    Column("bytes_per_s", "Throughput per s", "bytes"),
    Column("again_bytes", "Moved again", "bytes"),
    Column("returned_bytes", "Came the other way last", "bytes"),
)
LINKS = (
    *LANE,
    Column("kind", "Direction"),
    Column("moves", "Moves", "count"),
    Column("bytes", "Moved", "bytes"),
    Column("bytes_per_s", "Throughput per s", "bytes"),
    Column("large_moves", "Large moves", "count"),
    Column("large_bytes_per_s", "Their throughput per s", "bytes"),
)
STEPS = (
    Column("process", "Process", "id"),
    Column("iteration", "Iteration", "id"),
    Column("kind", "Direction"),
    Column("cause", "Cause"),
    Column("moves", "Moves", "count"),
    Column("bytes", "Moved", "bytes"),
    Column("gpu_faults", "Fault groups", "count"),
)
TRIPS = (
    *LANE,
    Column("range", "Range", "id"),
    Column("block", "Block at", "id"),
    Column("to_device_moves", "To the device", "count"),
    Column("to_host_moves", "To the host", "count"),
    Column("returns", "Returns", "count"),
    Column("again_bytes", "Moved again", "bytes"),
    Column("time_ns", "Time of returns", "ns"),
)
ACTS = (
    *LANE,
    Column("kind", "What"),
    Column("range", "Range", "id"),
    Column("events", "Times", "count"),
    Column("bytes", "Bytes", "bytes"),
    Column("time_ns", "Throttled", "ns"),
)


def moves(trace: Trace, ask: Ask) -> Section:
    """The section on moves by direction and cause."""
    return section_of("uvm_moves", "Moves of pages", ask, "uvm_moves", lambda found: _moves(found, ask("uvm_links")))


def _moves(found: Finding, links: Finding) -> tuple[Block, ...]:
    by = "direction and cause" if found.rows["cause"].count() else "direction"
    told = (known_table(f"Moves by {by}", MOVES, found), Text(links.sentence))
    return (*told, known_table("Throughput by direction", LINKS, links)) if len(links.rows) else told


def iterations(trace: Trace, ask: Ask) -> Section:
    """The section on iterations."""
    return section_of("uvm_iterations", "Moves of each iteration", ask, "uvm_iterations", _iterations)


def _iterations(found: Finding) -> tuple[Block, ...]:
    import polars as pl

    moving = found.rows.filter(pl.col("bytes").sum().over("process") > 0)
    shows = "Bytes that move in each iteration, by direction and cause."
    drawn: list[Chart] = []
    if len(moving):
        part = Finding(found.name, found.sentence, moving, found.sql)
        drawn = pictures(part, "Bytes moved in each iteration", moved_bytes, shows)
    return (*drawn, replace(known_table("Moves of each iteration", STEPS, found), limit=10))


def round_trips(trace: Trace, ask: Ask) -> Section:
    """The section on pages that go back and forth."""
    caption = "Blocks of 2 MiB whose pages come back, the most bytes first"
    return known_section("uvm_round_trips", "Back and forth", ask, caption, TRIPS)


def contention(trace: Trace, ask: Ask) -> Section:
    """The section on thrashing, throttling and remote maps."""
    caption = "Thrashing, throttling and remote maps by range"
    heading = "Thrashing, throttling, remote maps"
    return known_section("uvm_contention", heading, ask, caption, ACTS)
