"""The performance graphs of two traces, one over the other: where in its structure a program became slower."""

from collections.abc import Sequence
from typing import Any

from ...mining.finding import Finding
from ..charts.icicle import changes
from ..report import Chart, Column, Section
from ..shown import table

__all__ = ["section"]

MOST_PICTURES = 4
"""Devices drawn, at most."""

NODES = (
    Column("kind", "Kind"),
    Column("name", "Name"),
    Column("change", "Change"),
    Column("base_repeat", "Repeat in the base", "count"),
    Column("repeat", "In the candidate", "count"),
    Column("base_time_per_unit_ns", "Base, per iteration", "ns"),
    Column("time_per_unit_ns", "Candidate, per iteration", "ns"),
    Column("delta_ns", "Difference in all", "ns"),
)


def section(found: Finding, labels: Sequence[str]) -> Section:
    """The section, from the finding of the comparison `graphs` and what the two runs are called."""
    shows = (
        "Bars below each other: what a device does, the iterations, the repeated blocks in them, and the operations; "
        "each as wide as the mean of its busy times in both traces, coloured by how its time per iteration changed."
    )
    devices = _devices(found)
    pictures = [
        Chart(
            f"What changed in the busy time of {name}" if len(devices) > 1 else "What changed in the busy time",
            changes(rows),
            shows,
            found.sql,
        )
        for name, rows in devices[:MOST_PICTURES]
        if any(row["base_time_ns"] + row["time_ns"] for row in rows)
    ]
    blocks = (*pictures, table("Nodes of both graphs, each before what is in it", NODES, found))
    which = f"The graphs are those of {' and '.join(labels)}."
    return Section("graph", "Performance graphs of both", found.sentence, blocks, (*found.notes, which))


def _devices(found: Finding) -> list[tuple[str, list[dict[str, Any]]]]:
    """The rows of each device, by its name: its own row comes first, then all that is in it."""
    devices: list[tuple[str, list[dict[str, Any]]]] = []
    for row in found.rows.iter_rows(named=True):
        if row["parent"] is None:
            devices.append((row["name"], []))
        devices[-1][1].append(row)
    return devices
