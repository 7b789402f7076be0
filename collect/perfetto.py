"""Packets of a Perfetto trace: sequences with their interned names, defaults and clocks, and the events in them.

Field numbers are those of trace_packet.proto and what it includes. State belongs to a sequence of packets; a packet
that clears it begins it anew.
"""

import zlib
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from typing import Any

from .perfetto_schema import WIRES
from .protobuf import BYTES, Damage, MalformedError, check, double, fields, pieces, signed, streamed

__all__ = ["CATEGORIES", "KERNELS", "NAMES", "STAGES", "Begin", "Clocks", "Sequence", "annotations", "packets"]

MOST_UNPACKED = 1 << 28
"""Bytes that one compressed packet may give."""
BOOT_CLOCK = 6
REAL_TIME = 1
OWN_CLOCKS = range(64, 128)
"""Clocks that a sequence defines for itself."""
CLOCK_NAMES = {
    1: "realtime",
    2: "realtime-coarse",
    3: "monotonic",
    4: "monotonic-coarse",
    5: "monotonic-raw",
    6: "boottime",
}
DEEPEST = 16

CATEGORIES, NAMES, ARGUMENT_NAMES, ARGUMENT_TEXTS, STAGES, KERNELS = 1, 2, 3, 29, 24, 1000
INTERNED = {
    **dict.fromkeys((CATEGORIES, NAMES, ARGUMENT_NAMES), WIRES["Named"]),
    ARGUMENT_TEXTS: WIRES["InternedString"],
    STAGES: WIRES["StageSpecification"],
    KERNELS: WIRES["ComputeKernel"],
}
"""Tables of texts, with the wire types of their entries' fields."""
ARGUMENT_NUMBERS = {2: "bool", 3: "unsigned", 4: "signed", 5: "double", 7: "pointer"}


@dataclass
class Begin:
    """A slice that has begun: when, what, and what is said of it."""

    sequence: int
    start_ns: int
    name: str | None
    categories: list[str]
    args: dict[str, Any]


@dataclass
class Sequence:
    """The state of one sequence of packets."""

    interned: dict[int, dict[int, str]] = field(default_factory=dict[int, dict[int, str]])
    track: int = 0
    clock: int | None = None
    own: dict[int, list[int]] = field(default_factory=dict[int, list[int]])
    """Own clock: its time, that of another clock then, ns per unit, whether times are differences, the other clock."""
    unnamed: int = 0
    """How often an interned text was asked for that was never given."""

    def clear(self) -> None:
        """Forgets all, as a packet that clears the state demands."""
        self.interned, self.track, self.clock, self.own = {}, 0, None, {}

    def name(self, table: int, number: int) -> str | None:
        """An interned text; None where it was never given."""
        text = self.interned.get(table, {}).get(number)
        self.unnamed += text is None
        return text

    def intern(self, content: bytes) -> None:
        """Takes interned texts. Of a kernel the demangled name counts."""
        for table, wire, _, entry in fields(content):
            check(table, wire, WIRES["InternedData"])
            if table not in INTERNED:
                continue
            number, text = 0, None
            for place, kind, value, inner in fields(entry):
                check(place, kind, INTERNED[table])
                if place == 1:
                    number = value
                elif place == 2 or (place == 3 and table == KERNELS):
                    text = inner.decode("utf-8", "replace")
            if text is not None:
                self.interned.setdefault(table, {})[number] = text

    def defaults(self, content: bytes) -> None:
        """Takes what holds for packets that do not say otherwise."""
        for number, wire, value, inner in fields(content):
            check(number, wire, WIRES["TracePacketDefaults"])
            if number == 58:
                self.clock = value
            elif number == 11:
                for place, kind, track, _ in fields(inner):
                    check(place, kind, WIRES["TrackEventDefaults"])
                    self.track = track if place == 11 else self.track


class Clocks:
    """Puts all times on one clock of the trace: the first that a packet uses."""

    def __init__(self) -> None:
        self.main: int | None = None
        self._offsets: dict[int, dict[int, int]] = {}

    @property
    def name(self) -> str | None:
        """What the clock is called."""
        return None if self.main is None else CLOCK_NAMES.get(self.main, f"clock {self.main}")

    @property
    def base_unix_ns(self) -> int | None:
        """The Unix time of the clock's zero, where a snapshot tells."""
        return None if self.main is None else self._offset(self.main, REAL_TIME)

    def snapshot(self, content: bytes, sequence: Sequence) -> None:
        """Takes the times of several clocks at one moment."""
        times: dict[int, int] = {}
        own: dict[int, list[int]] = {}
        for number, wire, _, inner in fields(content):
            check(number, wire, WIRES["ClockSnapshot"])
            if number != 1:
                continue
            said: dict[int, int] = {}
            for place, kind, value, _ in fields(inner):
                check(place, kind, WIRES["ClockTime"])
                said[place] = value
            if said.get(1, 0) in OWN_CLOCKS:
                unit = signed(said.get(4, 1)) or 1
                own[said[1]] = [said.get(2, 0) * unit, 0, unit, said.get(3, 0), 0]
            elif 1 in said:
                times[said[1]] = said.get(2, 0)
        for clock, time in times.items():
            for other, then in times.items():
                self._offsets.setdefault(clock, {}).setdefault(other, then - time)
        for number, state in own.items():
            if times:
                at = BOOT_CLOCK if BOOT_CLOCK in times else min(times)
                state[1], state[4] = times[at], at
            sequence.own[number] = state

    def time(self, value: int, clock: int | None, sequence: Sequence) -> int | None:
        """The time in ns on the trace's clock; None where nothing says how that clock runs against it."""
        clock = clock or sequence.clock or BOOT_CLOCK
        if clock in OWN_CLOCKS:
            state = sequence.own.get(clock)
            if state is None:
                return None
            seen, then, unit, incremental, clock = state
            now = value * unit + (seen if incremental else 0)
            value = then + now - seen
            if incremental:
                state[0], state[1] = now, value
        if self.main is None:
            self.main = clock
        offset = self._offset(clock, self.main)
        return None if offset is None else value + offset

    def _offset(self, clock: int, other: int) -> int | None:
        return 0 if clock == other else self._offsets.get(clock, {}).get(other)


def packets(blocks: Iterable[bytes], damage: Damage) -> Iterator[bytes]:
    """The packets of a trace in order, those within compressed packets too; it may come in blocks."""
    for number, wire, _, packet in streamed(blocks, damage):
        if number != 1 or wire != BYTES:
            continue
        unpacked = _unpacked(packet, damage) if b"\x92\x03" in packet else None
        if unpacked is None:
            yield packet
        else:
            yield from (p for n, w, _, p in pieces(unpacked, damage) if n == 1 and w == BYTES)


def _unpacked(packet: bytes, damage: Damage) -> bytes | None:
    """What a packet of compressed packets (field 50) holds; None for any other."""
    try:
        inner = next((c for n, w, _, c in fields(packet) if n == 50 and w == BYTES), None)
    except MalformedError:
        return None
    if inner is None:
        return None
    decoder = zlib.decompressobj()
    try:
        unpacked = decoder.decompress(inner, MOST_UNPACKED)
    except zlib.error as error:
        damage.add(f"compressed packets: {error}")
        return b""
    if not decoder.eof:
        damage.add("compressed packets that do not end")
    return unpacked


def annotations(contents: list[bytes], sequence: Sequence) -> dict[str, Any]:
    """Debug annotations as names and values."""
    found: dict[str, Any] = {}
    for content in contents:
        name, value = _annotation(content, sequence, 0)
        found[name] = value
    return found


def _annotation(content: bytes, sequence: Sequence, depth: int) -> tuple[str, Any]:
    if depth > DEEPEST:
        raise MalformedError(0, f"annotations more than {DEEPEST} deep")
    name, found = None, None
    entries: dict[str, Any] = {}
    items: list[Any] = []
    for number, wire, value, inner in fields(content):
        check(number, wire, WIRES["DebugAnnotation"])
        if number == 1:
            name = sequence.name(ARGUMENT_NAMES, value) or f"annotation {value}"
        elif number in ARGUMENT_NUMBERS:
            found = _number(ARGUMENT_NUMBERS[number], value)
        elif number == 17:
            found = sequence.name(ARGUMENT_TEXTS, value)
        elif wire != BYTES:
            continue
        elif number in (6, 9):
            found = inner.decode("utf-8", "replace")
        elif number == 10:
            name = inner.decode("utf-8", "replace")
        elif number == 11:
            key, entry = _annotation(inner, sequence, depth + 1)
            entries[key] = entry
        elif number == 12:
            items.append(_annotation(inner, sequence, depth + 1)[1])
        else:
            found = inner
    if name is None and depth == 0:
        sequence.unnamed += 1
    return name or "annotation", entries or items or found


def _number(kind: str, value: int) -> Any:
    if kind == "bool":
        return bool(value)
    if kind == "double":
        return double(value)
    return signed(value) if kind == "signed" else value
