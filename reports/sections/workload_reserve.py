"""What is reserved of a device's memory against what is allocated of it."""

from dataclasses import replace

from ...mining.finding import Finding
from ...store.errors import NotCollected
from ...store.trace import Trace
from ..charts.memory import two_curves
from ..report import Block, Chart, Column, Section, Text
from ..shown import Ask, section_of, table
from ..units import scale

__all__ = ["section"]

MOST_DEVICES = 4
"""Devices whose curves are drawn."""


def section(trace: Trace, ask: Ask) -> Section:
    """Over time, and, of a memory snapshot, when it was taken."""
    found = section_of(
        "workload_reserve", "Reserved and allocated", ask, "memory_reserve", lambda found: _blocks(found, ask)
    )
    try:
        rounding = ask("memory_rounding")
    except NotCollected:
        return found
    notes = (*found.notes, *(note for note in rounding.notes if note not in found.notes))
    return replace(found, blocks=(*found.blocks, *_rounding(rounding)), notes=notes)


def _blocks(found: Finding, ask: Ask) -> tuple[Block, ...]:
    columns = (
        Column("process", "Process", "id"),
        Column("device", "Device", "id"),
        Column("source", "Known from"),
        Column("peak_reserved_bytes", "Reserved at most", "bytes"),
        Column("peak_allocated_bytes", "Allocated at most", "bytes"),
        Column("reserved_at_peak_bytes", "Reserved then", "bytes"),
        Column("unused_at_peak_share", "Not allocated then", "share"),
        Column("most_unused_bytes", "Not allocated, at most", "bytes"),
        Column("mean_unused_bytes", "On average over time", "bytes"),
        Column("unused_share", "Share of the reserved", "share"),
        Column("grown", "More reserved", "count"),
        Column("grown_in_spite", "Where as much was free", "count"),
        Column("in_spite_bytes", "Reserved there", "bytes"),
    )
    return (*_curves(ask), table("Reserved and allocated memory", columns, found))


def _rounding(found: Finding) -> tuple[Block, ...]:
    columns = (
        Column("process", "Process", "id"),
        Column("device", "Device", "id"),
        Column("tensors", "Tensors", "count"),
        Column("asked_bytes", "Asked for", "bytes"),
        Column("block_bytes", "Taken up by their blocks", "bytes"),
        Column("reserved_bytes", "Reserved", "bytes"),
    )
    return (Text(found.sentence), table("Alive when the snapshot was taken", columns, found))


def _curves(ask: Ask) -> list[Chart]:
    """What is reserved and what is allocated over time, of the four devices with most reserved."""
    found = ask("memory_reserve_usage")
    parts = found.rows.partition_by("process", "device", "source", maintain_order=True)
    parts.sort(key=lambda part: -int(part["reserved_bytes"].max()))  # pyright: ignore[reportArgumentType] - bytes
    drawn: list[Chart] = []
    for part in parts[:MOST_DEVICES]:
        process, device = part.row(0)[:2]
        of = f", process {process}, device {device}" if len(parts) > 1 else ""
        factor, unit = scale(part["position"][-1], "ns")
        rows = [
            {"position": position / factor, "base_bytes": reserved, "bytes": allocated}
            for position, reserved, allocated in part.select("position", "reserved_bytes", "allocated_bytes").rows()
        ]
        if len(rows) > 1:
            x = f"Time from the first change ({unit})"
            picture = two_curves(rows, base="reserved", other="allocated", x=x, of="reserved or allocated")
            shows = f"The most reserved and the most allocated in each stretch of time. {' '.join(found.notes)}"
            drawn.append(Chart(f"Reserved and allocated memory over time{of}", picture, shows, found.sql))
    return drawn
