"""The rest of an nvprof database that has a time: managed memory, allocations, NVTX, overhead of profiling, sensors."""

import struct
from typing import Any

import pyarrow as pa
import pyarrow.compute

from .cupti_spans import later, read_managed, read_markers, read_overhead
from .cupti_work import MEMORY
from .database_columns import BINARY, INT
from .nsys_columns import arguments, filled, translated
from .nvprof_database import PREFIX, Activities

__all__ = ["read_spans"]

pc: Any = pyarrow.compute  # its functions are made at import, so its types say nothing

ENVIRONMENT = {
    1: (("sm clock", "MHz"), ("memory clock", "MHz"), ("pcie generation", ""), ("pcie width", "lanes")),
    2: (("temperature", "C"),),
    3: (("power", "mW"), ("power limit", "mW")),
    4: (("fan speed", "%"),),
}
"""What the record of each kind of sensor begins with: 32-bit numbers, with their units."""


def read_spans(activities: Activities) -> None:
    """Writes them into the sink."""
    there = activities.database.tables.get(PREFIX + "UNIFIED_MEMORY_COUNTER", {})
    if "start" in there and "counterKind" in there:  # the first releases kept a sum per scope
        read_managed(activities)
    _allocations(activities)
    read_overhead(activities)
    read_markers(activities)
    _environment(activities)


def _allocations(activities: Activities) -> None:
    there = activities.database.tables.get(PREFIX + "MEMORY", {})
    if "start" not in there:
        return
    wanted = ("start", "end", "memoryKind", "address", "bytes", "processId", "deviceId", "name")
    for rows in activities.events("MEMORY", dict.fromkeys(wanted, INT), frozenset({"allocPC", "freePC"})):
        kind = filled(translated(rows["memoryKind"], MEMORY.get), "device").cast(pa.string())
        kind = pc.if_else(pc.equal(kind, "pageable"), "host", kind)
        activities.sink.write(
            "allocation",
            {
                "process": pc.fill_null(rows["processId"], activities.main),
                "device": activities.fitting(rows["deviceId"], "deviceId"),
                "kind": pc.if_else(pc.equal(kind, "array"), "device", kind),
                "address": rows["address"],
                "bytes": pc.fill_null(rows["bytes"], 0),
                "birth_ns": rows["start"],
                "death_ns": later(rows),
                "owner": activities.text(rows["name"]),
                "args": arguments(rows.rest),
            },
        )


def _environment(activities: Activities) -> None:
    """Sensors of the devices, as samples of counters."""
    wanted = dict.fromkeys(("timestamp", "deviceId", "environmentKind"), INT) | {"data": BINARY}
    for rows in activities.events("ENVIRONMENT", wanted):
        columns: dict[str, list[Any]] = {name: [] for name in ("device", "name", "time_ns", "value", "unit")}
        devices = activities.fitting(rows["deviceId"], "deviceId")
        for time, device, kind, data in zip(
            *(a.to_pylist() for a in (rows["timestamp"], devices, rows["environmentKind"], rows["data"])), strict=True
        ):
            sensors = ENVIRONMENT.get(kind, ())
            words = struct.unpack_from(f"<{len(sensors)}I", (data or b"").ljust(4 * len(sensors), b"\0"))
            for (name, unit), value in zip(sensors, words, strict=True):
                for column, cell in zip(
                    columns.values(), (device, name, time, float(value), unit or None), strict=True
                ):
                    column.append(cell)
        activities.sink.write("counter", {"process": activities.main, **columns})
