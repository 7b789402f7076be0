"""Planes, lines and events of an XSpace: the protobuf that the profilers of TensorFlow, JAX and XLA write.

Field numbers are those of xplane.proto. Names and values are looked up in the tables of the plane, which follow its
lines in the file: a plane that is cut has lines without names.
"""

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any

from .protobuf import BYTES, FIXED64, VARINT, Damage, MalformedError, check, double, fields, pieces, signed, streamed

__all__ = ["Event", "Line", "Plane", "Space", "planes"]

MOST_KNOWN = 200_000
"""Decoded values remembered per plane: most repeat."""
MOST_SCALARS = 10_000
"""Numbers between the planes of a file, where none belongs, after which the rest is taken for filler."""
Stat = tuple[str, Any]

SPACE_WIRES = {1: BYTES, 2: BYTES, 3: BYTES, 4: BYTES}
PLANE_WIRES = {1: VARINT, **dict.fromkeys(range(2, 7), BYTES)}
LINE_WIRES = {1: VARINT, 2: BYTES, 3: VARINT, 4: BYTES, 9: VARINT, 10: VARINT, 11: BYTES}
EVENT_WIRES = {1: VARINT, 2: VARINT, 3: VARINT, 4: BYTES, 5: VARINT}
STAT_WIRES = {1: VARINT, 2: FIXED64, 3: VARINT, 4: VARINT, 5: BYTES, 6: BYTES, 7: VARINT}
"""The wire type of each field: one of another type is damage, not a field that is new."""


@dataclass
class Space:
    """What the file says beside its planes."""

    hosts: list[str] = field(default_factory=list[str])
    messages: list[str] = field(default_factory=list[str])


@dataclass(frozen=True)
class Event:
    """One event: its name (None: the plane does not tell), its times in ns (None: a sum of many), its values."""

    name: str | None
    display: str | None
    start_ns: int | None
    end_ns: int | None
    stats: dict[str, Any]


@dataclass
class Line:
    """A row of the timeline: a stream, a thread, or one derived from others."""

    id: int = 0
    name: str = ""
    timestamp_ns: int = 0
    events: list[bytes] = field(default_factory=list[bytes], repr=False)


class Plane:
    """A device or a host, its lines still undecoded."""

    def __init__(self, content: bytes, damage: Damage) -> None:
        self.name = ""
        self.bad_events: int = 0
        self.unnamed: int = 0
        """How often a name was asked for that the plane does not tell."""
        self._damage = damage
        self._lines: list[bytes] = []
        self._names: dict[int, str] = {}
        self._displays: dict[int, str] = {}
        self._stat_names: dict[int, str] = {}
        self._metadata: list[tuple[str, list[bytes]]] = []
        self._stats: list[bytes] = []
        self._known: dict[bytes, Stat] = {}
        for number, wire, _, inner in pieces(content, damage):
            _count(number, wire, PLANE_WIRES, "plane", damage)
            if wire == BYTES:
                self._take(number, inner)

    def stats(self) -> dict[str, Any]:
        """The values of the plane itself."""
        return self._sound(self._stats)

    def metadata(self) -> Iterator[tuple[str, dict[str, Any]]]:
        """Names of events with the values that hold for every event of that name."""
        for name, stats in self._metadata:
            if stats:
                yield name, self._sound(stats)

    def lines(self) -> Iterator[Line]:
        """The lines in order."""
        for content in self._lines:
            line = Line()
            for number, wire, value, inner in pieces(content, self._damage):
                _count(number, wire, LINE_WIRES, "line", self._damage)
                if number == 4 and wire == BYTES:
                    line.events.append(inner)
                elif wire == BYTES and (number == 2 or (number == 11 and not line.name)):
                    line.name = inner.decode("utf-8", "replace")
                elif number == 1 and wire == VARINT:
                    line.id = signed(value)
                elif number == 3 and wire == VARINT:
                    line.timestamp_ns = signed(value)
            yield line

    def events(self, line: Line) -> Iterator[Event]:
        """The events of a line; one that is damaged is counted in `bad_events`."""
        for content in line.events:
            try:
                yield self._event(content, line.timestamp_ns)
            except MalformedError:
                self.bad_events += 1

    def _event(self, content: bytes, origin_ns: int) -> Event:
        metadata = duration = offset = 0
        summed = None
        stats: list[bytes] = []
        for number, wire, value, inner in fields(content):
            check(number, wire, EVENT_WIRES)
            if number == 4:
                stats.append(inner)
            elif number == 1:
                metadata = signed(value)
            elif number == 2:
                offset = signed(value)
            elif number == 3:
                duration = signed(value)
            elif number == 5:
                summed = signed(value)
        values = self._values(stats)
        start = origin_ns * 1000 + offset
        times = (start // 1000, (start + duration) // 1000)
        if summed is not None:
            values |= {"num_occurrences": summed, "duration_ps": duration}
            times = (None, None)
        self.unnamed += metadata not in self._names
        return Event(self._names.get(metadata), self._displays.get(metadata), *times, values)

    def _take(self, number: int, content: bytes) -> None:
        if number == 2:
            self.name = content.decode("utf-8", "replace")
        elif number == 3:
            self._lines.append(content)
        elif number == 6:
            self._stats.append(content)
        elif number in (4, 5):
            try:
                self._name(number, content)
            except MalformedError as error:
                self._damage.add(f"a name of plane {self.name}: {error}")

    def _name(self, number: int, entry: bytes) -> None:
        """An entry of the tables of names: of events (4) or of values (5)."""
        key, name, display = 0, "", None
        stats: list[bytes] = []
        for place, wire, value, content in fields(entry):
            if place == 1 and wire == VARINT:
                key = signed(value)
            elif place == 2 and wire == BYTES:
                for inner, kind, _, text in fields(content):
                    if inner == 2 and kind == BYTES:
                        name = text.decode("utf-8", "replace")
                    elif inner == 4 and number == 4:
                        display = text.decode("utf-8", "replace")
                    elif inner == 5 and number == 4:
                        stats.append(text)
        if number == 5:
            self._stat_names[key] = name
            return
        self._names[key] = name
        if display and display != name:
            self._displays[key] = display
        if stats:
            self._metadata.append((name, stats))

    def _sound(self, stats: list[bytes]) -> dict[str, Any]:
        """The values, of which damaged ones are counted and left out."""
        found: dict[str, Any] = {}
        for content in stats:
            try:
                found |= self._values([content])
            except MalformedError as error:
                self._damage.add(f"a value of plane {self.name}: {error}")
        return found

    def _values(self, stats: list[bytes]) -> dict[str, Any]:
        found: dict[str, Any] = {}
        for content in stats:
            known = self._known.get(content)
            if known is None:
                known = self._stat(content)
                if len(self._known) < MOST_KNOWN:
                    self._known[content] = known
            found[known[0]] = known[1]
        return found

    def _stat(self, content: bytes) -> Stat:
        name, found = 0, None
        for number, wire, value, inner in fields(content):
            check(number, wire, STAT_WIRES)
            if number == 1:
                name = signed(value)
            elif number == 2:
                found = double(value)
            elif number == 3:
                found = value
            elif number == 4:
                found = signed(value)
            elif number == 5:
                found = inner.decode("utf-8", "replace")
            elif number == 6:
                found = inner
            elif number == 7:
                self.unnamed += value not in self._stat_names
                found = self._stat_names.get(value, f"value {value}")
        self.unnamed += name not in self._stat_names
        return self._stat_names.get(name, f"stat {name}"), found


def planes(blocks: Iterable[bytes], space: Space, damage: Damage) -> Iterator[Plane]:
    """The planes of the file in order, one held at a time; what else it says goes to `space`."""
    scalars = 0
    for number, wire, _, inner in streamed(blocks, damage):
        _count(number, wire, SPACE_WIRES, "file", damage)
        if wire != BYTES:
            scalars += 1
            if scalars > MOST_SCALARS:
                damage.add(f"more than {MOST_SCALARS} numbers between planes: the rest is not read")
                return
            continue
        if number == 1:
            yield Plane(inner, damage)
        elif number in (2, 3):
            space.messages.append(inner.decode("utf-8", "replace"))
        elif number == 4:
            space.hosts.append(inner.decode("utf-8", "replace"))


def _count(number: int, wire: int, wires: Mapping[int, int], what: str, damage: Damage) -> None:
    """Counts a field of the wrong wire type as damage."""
    if wires.get(number, wire) != wire:
        damage.add(f"a {what} with field {number} of wire type {wire}")
