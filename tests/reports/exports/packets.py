"""Reads Perfetto traces in the tests, field by field, knowing nothing of how they were written."""

import gzip
from collections import defaultdict
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from data.generator.wire import fields

TABLES = {1: "categories", 2: "names", 3: "keys", 29: "texts"}


@dataclass
class Slice:
    """A slice, or a sample of a counter (its `end_ns` is its time)."""

    track: str
    lane: int
    depth: int
    name: str
    category: str
    start_ns: int
    end_ns: int = -1
    args: dict[str, Any] = field(default_factory=dict[str, Any])


@dataclass
class Content:
    """What a file holds: slices, samples, descriptors of tracks by their id, how often each text was interned."""

    slices: list[Slice] = field(default_factory=list[Slice])
    samples: list[tuple[str, int, bytes]] = field(default_factory=list[tuple[str, int, bytes]])
    tracks: dict[int, dict[int, Any]] = field(default_factory=dict[int, dict[int, Any]])
    interned: dict[tuple[int, int, int], int] = field(default_factory=lambda: defaultdict(int))
    clocks: list[dict[int, int]] = field(default_factory=list[dict[int, int]])

    def of(self, category: str) -> list[tuple[int, int, str]]:
        """Start, end and name of the slices whose category begins so, in order."""
        return sorted((s.start_ns, s.end_ns, s.name) for s in self.slices if s.category.startswith(category))

    def label(self, uuid: int) -> str:
        """What a track is called, below what it stands."""
        parts = self.tracks[uuid]
        name = parts.get(2) or dict(fields(parts.get(4, parts.get(3))))[5 if 4 in parts else 6]
        return (f"{self.label(parts[5])} / " if 5 in parts else "") + name.decode()


def content(path: Path) -> Content:
    """Reads the file as `trace_processor` does; a packet that needs what its sequence never said is an error."""
    raw = path.read_bytes()
    raw = gzip.decompress(raw) if path.suffix == ".gz" else raw
    found, sequences = Content(), dict[int, dict[str, Any]]()
    for number, packet in fields(raw):
        assert number == 1
        assert isinstance(packet, bytes)
        _packet(dict(fields(packet)), found, sequences)
    for state in sequences.values():
        assert state["open"] == []
    return found


def _packet(parts: dict[int, Any], found: Content, sequences: dict[int, dict[str, Any]]) -> None:
    number = parts[10]
    if parts.get(13, 0) & 1:
        sequences[number] = {"open": [], "time": 0, "track": None, **{name: {} for name in TABLES.values()}}
    state = sequences.get(number, {})
    if 60 in parts:
        descriptor = dict(fields(parts[60]))
        found.tracks[descriptor[1]] = descriptor
    if 6 in parts:
        clocks = [dict(fields(c)) for _, c in fields(parts[6])]
        own = [c for c in clocks if c[1] == 64]
        state.update({"time": own[0][2]} if own else {})
        assert all(c[3] == 1 for c in own)
        found.clocks += [{c[1]: c[2] for c in clocks}] if not own else []
    if 59 in parts:
        defaults = dict(fields(parts[59]))
        assert defaults[58] == 64
        state["track"] = dict(fields(defaults[11]))[11]
    for table, entry in fields(parts.get(12, b"")):
        one = dict(fields(entry))
        state[TABLES[table]][one[1]] = one[2].decode()
        found.interned[number, table, one[1]] += 1
    if 11 in parts:
        state["time"] += parts[8]
        _event(list(fields(parts[11])), found, state)


def _event(parts: list[tuple[int, Any]], found: Content, state: dict[str, Any]) -> None:
    event = dict(parts)
    if event[9] == 4:
        found.samples.append((found.label(state["track"]), state["time"], event[44].to_bytes(8, "little")))
    elif event[9] == 2:
        state["open"].pop().end_ns = state["time"]
    else:
        args = {}
        for _, annotation in (part for part in parts if part[0] == 4):
            said = dict(fields(annotation))
            args[state["keys"][said[1]]] = state["texts"][said[17]] if 17 in said else said[4]
        where = found.label(state["track"]), state["track"], len(state["open"])
        one = Slice(*where, state["names"][event[10]], state["categories"][event[3]], state["time"], args=args)
        state["open"].append(one)
        found.slices.append(one)
