"""Page faults of managed memory, and where and when they and the moves fall."""

from dataclasses import replace
from typing import Any

from ...mining.finding import Finding
from ...store.trace import Trace
from ..charts.matrix import matrix
from ..known import known_section, known_table
from ..report import Block, Chart, Column, Section
from ..shown import Ask, section_of
from ..units import Unit, scale, show

__all__ = ["faults", "places"]


def faults(trace: Trace, ask: Ask) -> Section:
    """The section on faults by processor and access."""
    columns = (
        Column("process", "Process", "id"),
        Column("device", "Device", "id"),
        Column("processor", "Processor"),
        Column("access", "Access"),
        Column("faults", "Fault groups", "count"),
        Column("pages", "Page faults", "count"),
        Column("untimed", "Without an end", "count"),
        Column("service_ns", "Service, added up", "ns"),
        Column("median_ns", "Median", "ns"),
        Column("longest_ns", "Longest", "ns"),
        Column("ranges", "Ranges", "count"),
    )
    return known_section("uvm_faults", "Page faults", ask, "Faults by processor and access", columns)


def places(trace: Trace, ask: Ask) -> Section:
    """The section on addresses and time."""
    return section_of("uvm_places", "Addresses over time", ask, "uvm_places", _blocks)


def _blocks(found: Finding) -> tuple[Block, ...]:
    columns = (
        Column("band", "Band", "id"),
        Column("blocks", "Blocks", "count"),
        Column("from_ns", "From", "ns"),
        Column("to_ns", "To", "ns"),
        Column("gpu_faults", "Fault groups", "count"),
        Column("cpu_faults", "Faults of the host", "count"),
        Column("to_device_bytes", "To devices", "bytes"),
        Column("to_host_bytes", "To the host", "bytes"),
    )
    rows = found.rows.to_dicts()
    charts = [_chart(rows, found.sql, *kind) for kind in KINDS if any(sum(r[k] or 0 for k in kind[1]) for r in rows)]
    listed = known_table("Faults and moves by band of addresses, by time from the first event", columns, found)
    return (*charts, replace(listed, limit=10))


KINDS: tuple[tuple[str, tuple[str, ...], Unit], ...] = (
    ("Faults", ("gpu_faults", "cpu_faults"), "count"),
    ("Bytes moved", ("to_device_bytes", "to_host_bytes"), "bytes"),
)


def _chart(rows: list[dict[str, Any]], sql: str, title: str, keys: tuple[str, ...], unit: Unit) -> Chart:
    """A matrix of the sum of those columns; the axis counts from the first event."""
    factor, suffix = scale(max(row["to_ns"] for row in rows), "ns")
    cells = [
        {
            "label": f"{row['band']}: 0x{row['first_address']:x}",
            "left": row["from_ns"] / factor,
            "right": row["to_ns"] / factor,
            "amount": sum(row[key] or 0 for key in keys),
            "tip": f"from 0x{row['first_address']:x} to 0x{row['last_address']:x}, {title.lower()}: "
            f"{show(sum(row[key] or 0 for key in keys), unit)}",
        }
        for row in rows
    ]
    x = f"Time from the first event ({suffix})"
    shows = "Bands of addresses from top to bottom, time from left to right; the darker, the more."
    return Chart(f"{title} by address and time", matrix(cells, x=x, y="Addresses", what=title, unit=unit), shows, sql)
