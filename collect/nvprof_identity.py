"""What an nvprof database says of itself: release, processes, devices, names of threads and streams."""

import struct
from typing import Any, TypeGuard

from ..store.trace import Facts
from .nsys_columns import as_json
from .nvprof_database import Activities

__all__ = ["facts", "name_main", "write_identities"]

SINCE_2001 = 10**18
"""Times beyond this are nanoseconds of Unix time; the profiler's own clock would need thirty years to get there."""

PROCESS, THREAD = 1, 2
STREAM_FLAGS = {1: "default", 2: "non-blocking", 3: "null"}
DEVICE_NUMBERS = {
    "numMultiprocessors": ("compute_units", 1, 2**31),
    "globalMemorySize": ("memory_bytes", 1, 2**63),
    "globalMemoryBandwidth": ("memory_bandwidth", 1000, 2**63),
    "coreClockRate": ("clock_hz", 1000, 2**63),
}
"""A device's column: ours, the factor to our unit (kB/s and kHz), the first value too great."""

DEVICE_TOLD = frozenset({*DEVICE_NUMBERS, "id", "name", "computeCapabilityMajor", "computeCapabilityMinor"})
DEVICE_LIMITS = ("max", "numThreads", "flags")
"""What the columns begin with that only repeat the limits of the architecture: left out."""


def facts(activities: Activities) -> Facts:
    """The facts of the database as a whole."""
    version = next(iter(activities.database.rows("Version")), {}) if activities.holds("Version") else {}
    unix = activities.first_ns is not None and activities.first_ns > SINCE_2001
    return Facts(
        "nvprof",
        producer="nvprof",
        clock="nanoseconds of Unix time" if unix else "nanoseconds of the profiler's clock",
        base_unix_ns=0 if unix else None,
        labels={"database_version": str(version["version"])} if version.get("version") is not None else {},
    )


def name_main(activities: Activities) -> None:
    """Takes the process the database names, where no call tells the process of the devices' work."""
    pids = [pid for kind, pid, _, _ in _names(activities) if kind == PROCESS]
    if not activities.calls and pids:
        activities.main = pids[0]


def write_identities(activities: Activities) -> None:
    """Writes the processes, their devices, and the names of their threads and streams."""
    named = _names(activities)
    titles = {pid: text for kind, pid, _, text in named if kind == PROCESS}
    workers = {process for process, _ in activities.device_work}
    for process in sorted({*activities.calls, *workers, *titles}):
        row = {"pid": process or None, "name": titles.get(process)}
        activities.sink.write("process", {"process": [process], **row})
    _write_devices(activities, workers or {activities.main})
    for kind, pid, thread, text in named:
        if kind == THREAD:
            activities.sink.write("track", {"process": [pid], "track": thread, "name": text, "kind": "thread"})
    _write_streams(activities)


def _names(activities: Activities) -> list[tuple[int, int, int, str]]:
    """Named objects: kind, process, thread (signed, as in calls), name."""
    found: list[tuple[int, int, int, str]] = []
    for row in activities.rows("NAME"):
        kind, data, text = row.get("objectKind"), row.get("objectId"), activities.string(row.get("name"))
        if kind in (PROCESS, THREAD) and isinstance(data, bytes) and len(data) >= 8 and text:
            found.append((kind, *struct.unpack_from("<Ii", data), text))
    return found


def _write_devices(activities: Activities, processes: set[int]) -> None:
    cards = {row["id"]: row for row in activities.rows("DEVICE") if _fits(row.get("id"))}
    found = {(process, number): card for process in processes for number, card in cards.items()}
    empty: dict[str, Any] = {}
    found |= {pair: empty for pair in activities.device_work if pair not in found}
    for (process, device), row in sorted(found.items(), key=lambda item: item[0]):
        columns: dict[str, Any] = {"process": [process], "device": device, "vendor": "nvidia"}
        columns["name"] = activities.string(row.get("name"))
        for theirs, (ours, factor, most) in DEVICE_NUMBERS.items():
            if isinstance(value := row.get(theirs), int) and 0 < value * factor < most:
                columns[ours] = value * factor
        if isinstance(major := row.get("computeCapabilityMajor"), int):
            columns["architecture"] = f"{major}.{row.get('computeCapabilityMinor') or 0}"
        rest = {k: v for k, v in row.items() if k not in DEVICE_TOLD and not k.startswith(DEVICE_LIMITS)}
        rest = {k: v if (v.strip(b"\0") if isinstance(v, bytes) else v) else None for k, v in rest.items()}
        activities.sink.write("device", columns | {"args": as_json(rest)})


def _write_streams(activities: Activities) -> None:
    for row in activities.rows("STREAM"):
        stream = row.get("streamId")
        if not isinstance(stream, int):
            continue
        kind = STREAM_FLAGS.get(row.get("flag", 0), "")
        args = {name: row.get(name) or None for name in ("contextId", "priority")}
        name = " ".join(word for word in (kind, "stream", str(stream)) if word)
        columns = {"process": [activities.main], "track": stream, "name": name, "kind": "stream"}
        activities.sink.write("track", columns | {"args": as_json(args)})


def _fits(value: Any) -> TypeGuard[int]:
    return isinstance(value, int) and 0 <= value < 2**31
