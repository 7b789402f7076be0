"""What takes the device's time: iterations, repeated blocks, operations, and what follows what."""

from ...mining.finding import Finding
from ...store.trace import Trace
from ..charts.flow import flow
from ..charts.icicle import icicle
from ..report import Block, Chart, Column, Section, Text
from ..shown import Ask, section_of, table

__all__ = ["section"]

MOST_PICTURES = 4
"""Devices drawn, at most."""

NODES = (
    Column("process", "Process", "id"),
    Column("device", "Device", "id"),
    Column("kind", "Kind"),
    Column("name", "Name"),
    Column("within", "Within"),
    Column("repeat", "Repeat", "count"),
    Column("count", "Passes", "count"),
    Column("time_ns", "Busy time", "ns"),
    Column("share", "Share of busy time", "share"),
    Column("mean_ns", "Mean of a pass", "ns"),
    Column("p50_ns", "Median", "ns"),
    Column("p95_ns", "95 %", "ns"),
    Column("variation", "Variation", "share"),
)
STEPS = (
    Column("process", "Process", "id"),
    Column("device", "Device", "id"),
    Column("step", "Step", "id"),
    Column("name", "Name"),
    Column("repeat", "Repeat", "count"),
    Column("before_ns", "Idle before it", "ns"),
    Column("cause", "Cause"),
    Column("time_ns", "Busy time", "ns"),
    Column("inside_ns", "Idle within", "ns"),
)


def section(trace: Trace, ask: Ask) -> Section:
    """The section."""
    return section_of("graph", "Performance graph", ask, "graph", lambda found: _blocks(found, ask))


def _blocks(found: Finding, ask: Ask) -> tuple[Block, ...]:
    shows = (
        "Bars below each other: what a device does, the iterations, the repeated blocks in them, and the operations; "
        "each as wide as the busy time that counts to it, in the order of the iteration, coloured by how much its "
        "passes vary."
    )
    drawn = [
        Chart(f"What the busy time{of} consists of", icicle(rows), shows, found.sql) for of, rows in _by_device(found)
    ]
    steps = ask("flow")
    flows: tuple[Block, ...] = ()
    if len(steps.rows):
        shows = "The steps of an iteration from top to bottom: mean busy time, idle time within, and the wait before."
        flows = (
            Text(steps.sentence),
            *(Chart(f"A typical iteration{of}", flow(rows), shows, steps.sql) for of, rows in _by_device(steps)),
            table("Steps of a typical iteration, means per iteration", STEPS, steps),
        )
    return (*drawn, table("Nodes of the performance graph, the most time first", NODES, found), *flows)


def _by_device(found: Finding) -> list[tuple[str, list[dict[str, object]]]]:
    """The rows of the first devices, and what to call each where there are several."""
    parts = found.rows.partition_by("process", "device", maintain_order=True)
    many = len(parts) > 1
    return [
        (f" of process {part['process'][0]}, device {part['device'][0]}" if many else "", part.to_dicts())
        for part in parts[:MOST_PICTURES]
    ]
