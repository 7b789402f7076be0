"""XSpace protobuf (`*.xplane.pb`) of the TensorFlow, JAX and XLA profilers, with NVIDIA, AMD and TPU devices.

Times are integer nanoseconds: the line's origin plus the event's offset in picoseconds, rounded down; the end likewise.
The zero is the start of the recording, whose Unix time newer files give.
"""

import re
from typing import Any

from ...store.errors import UnreadableFile
from ...store.trace import Facts
from ..files import TraceFile
from ..protobuf import BYTES, VARINT, Damage, pieces
from ..rowwise import Rowwise, as_json
from ..sink import Sink
from ..xplane import Plane, Space, planes
from ..xplane_work import PROCESS, DeviceWork, HostWork

__all__ = ["VERSION", "read", "recognises"]

VERSION = 1

PLANE_NAME = re.compile(r"/(host|device)\b[\w: ./#()-]*|Task Environment|/[\w:./-]+")
DEVICE = re.compile(r"/device:(\w+):(\d{1,6})(?= |$)")
ENVIRONMENT = "Task Environment"


def recognises(file: TraceFile) -> bool:
    """Whether the content begins with a plane: an optional number, then a name as the profilers give them."""
    found = next(pieces(file.head, Damage()), None)
    if found is None or found[0] != 1 or found[1] != BYTES:
        return False
    for number, wire, _, content in pieces(found[3], Damage()):
        if number == 1 and wire == VARINT:
            continue
        return number == 2 and wire == BYTES and PLANE_NAME.fullmatch(content.decode("utf-8", "replace")) is not None
    return False


def read(file: TraceFile, sink: Sink) -> Facts:
    """Hands every event to the sink and returns the facts; `UnreadableFile` when damage leaves no event."""
    space, damage, rows = Space(), Damage(), Rowwise(sink)
    reading = _Reading(rows)
    for plane in planes(file.blocks(), space, damage):
        reading.plane(plane)
    rows.finish()
    _report(reading, damage, space, sink)
    if damage.count and not sink.rows.keys() - {"device", "track", "other"}:
        raise UnreadableFile(f"{file.path}: damaged ({damage.first}), without any event", "copy or record it again")
    host = ", ".join(space.hosts) or None
    rows.add("process", {"process": PROCESS, "host": host})
    rows.finish()
    labels = {name: str(value) for name, value in sorted(reading.environment.items())}
    base = reading.environment.get("profile_start_time")
    return Facts("xplane", host=host, base_unix_ns=base if _is_time(base) else None, labels=labels)


class _Reading:
    """The planes of one file on their way to the tables."""

    def __init__(self, rows: Rowwise) -> None:
        self._rows = rows
        self.devices, self._hosts = DeviceWork(rows), HostWork(rows)
        self.environment: dict[str, Any] = {}
        self.bad_events = self.unnamed = 0
        self._told: set[int] = set()

    def plane(self, plane: Plane) -> None:
        """Writes one plane."""
        stats = plane.stats()
        if plane.name == ENVIRONMENT:
            self.environment |= stats
        elif plane.name.startswith("/device:"):
            place = DEVICE.match(plane.name)
            device = int(place[2]) if place else None
            if device is not None and device not in self._told:  # names of planes may repeat
                self._told.add(device)
                self._rows.add("device", _device(plane.name, device, stats))
            elif stats:
                self._other(plane.name, "xplane plane", stats)
            self.devices.write(plane, device, streams=place is not None and place[1] == "GPU")
        else:
            if stats:
                self._other(plane.name, "xplane plane", stats)
            self._hosts.write(plane)
        for name, values in plane.metadata():
            self._other(plane.name, "xplane event metadata", {"name": name, **values})
        self.bad_events += plane.bad_events
        self.unnamed += plane.unnamed

    def _other(self, plane: str, kind: str, values: dict[str, Any]) -> None:
        self._rows.add("other", {"process": PROCESS, "kind": kind, "json": as_json({"plane": plane, **values})})


def _device(plane: str, device: int, stats: dict[str, Any]) -> dict[str, Any]:
    """The row of a device; the clock is given in kHz."""
    numbers = {name: value for name, value in stats.items() if isinstance(value, int) and value >= 0}
    major, minor = numbers.get("compute_cap_major"), numbers.get("compute_cap_minor")
    clock = numbers.get("clock_rate")
    row: dict[str, Any] = {
        "process": PROCESS,
        "device": device,
        "name": _text(stats.get("device_type_string")),
        "vendor": (_text(stats.get("device_vendor")) or "").lower() or None,
        "compute_units": numbers.get("core_count"),
        "memory_bytes": numbers.get("memory_size"),
        "memory_bandwidth": numbers.get("memory_bandwidth"),
        "clock_hz": None if clock is None else clock * 1000,
        "architecture": None if major is None else f"{major}.{minor or 0}",
    }
    held = {"device_type_string", "device_vendor", "core_count", "memory_size", "memory_bandwidth", "clock_rate"}
    rest = {
        name: value for name, value in stats.items() if name not in held | {"compute_cap_major", "compute_cap_minor"}
    }
    return row | {"args": as_json({"plane": plane, **rest})}


def _text(value: object) -> str | None:
    return value if isinstance(value, str) and value else None


def _is_time(value: object) -> bool:
    return isinstance(value, int) and 0 < value < 1 << 63


def _report(reading: _Reading, damage: Damage, space: Space, sink: Sink) -> None:
    if damage.count:
        meaning = "the file is cut or damaged: what follows that place within its part is missing"
        sink.note("damaged", meaning, count=damage.count, example=damage.first)
    if reading.bad_events:
        sink.note("bad-event", "events that are no whole message: left out", count=reading.bad_events)
    if unsized := reading.devices.unsized:
        sink.note("no-size", "copies and fills that do not say their size", count=unsized)
    if undirected := reading.devices.undirected:
        sink.note("no-direction", "copies that do not say their direction", count=undirected)
    if unknown := reading.devices.unknown:
        meaning = "events on a device that do not say what they are or when they ran: in `other`, in no sum"
        sink.note("unknown-event", meaning, count=unknown)
    if reading.unnamed:
        meaning = "names given by a number that the file gives no text for: the number stands for the name"
        sink.note("unknown-name", meaning, count=reading.unnamed)
    if space.messages:
        meaning = "errors and warnings of the recorder"
        sink.note("recorder-message", meaning, count=len(space.messages), example=space.messages[0])
