"""Tracks of a Perfetto trace: which process, thread, counter or queue each stands for."""

import re
from collections.abc import Iterable
from contextlib import suppress
from dataclasses import dataclass, field

from .perfetto_schema import WIRES
from .protobuf import BYTES, MalformedError, check, fields, signed

__all__ = ["Track", "Tracks"]

WANTED = (60, BYTES)
"""Field of a descriptor in its packet, and its wire type."""
AGENT = re.compile(r"AGENT[ -]?\[?(\d{1,6})\]?", re.IGNORECASE)
LANE = re.compile(r"(?:STREAM|QUEUE) ?\[[ \"]*(\d{1,18})[ \"]*\]", re.IGNORECASE)
THREAD = re.compile(r"THREAD (?:\[?\d+\]? )?\((\d{1,18})\)")
HOST = "(CPU)"
UNITS = {1: "ns", 2: "count", 3: "bytes"}
DEEPEST = 32


@dataclass
class Track:
    """One track; a value that its descriptor does not give is None."""

    name: str | None = None
    parent: int | None = None
    pid: int | None = None
    tid: int | None = None
    process: str | None = None
    unit: str | None = None
    multiplier: int = 1
    incremental: bool = False
    total: float = 0.0
    own: bool = field(default=False)
    """Whether it is the track of the process itself, not of something in it."""

    @property
    def agent(self) -> int | None:
        """The number of the agent (device or processor) that its name tells, where it tells one."""
        found = AGENT.search(self.name or "")
        return int(found[1]) if found else None

    @property
    def device(self) -> int | None:
        """The same where it is a device."""
        return None if HOST in (self.name or "") else self.agent

    @property
    def lane(self) -> int | None:
        """The number of the stream or queue that its name tells."""
        found = LANE.search(self.name or "")
        return int(found[1]) if found else None

    @property
    def thread(self) -> int | None:
        """The thread's id, from the descriptor or the name."""
        if self.tid is not None:
            return self.tid
        found = THREAD.fullmatch(self.name or "")
        return int(found[1]) if found else None


class Tracks:
    """All tracks of a trace by their ids."""

    def __init__(self) -> None:
        self._tracks: dict[int, Track] = {}

    def describe(self, packets: Iterable[bytes]) -> int:
        """Takes the descriptors out of packets; a later one adds to an earlier one. Returns how many were damaged."""
        damaged = 0
        for content in packets:
            descriptors: list[bytes] = []
            with suppress(MalformedError):  # which reading the packet for its events will tell
                descriptors = [inner for number, wire, _, inner in fields(content) if (number, wire) == WANTED]
            for inner in descriptors:
                try:
                    self._take(inner)
                except MalformedError:
                    damaged += 1
        return damaged

    def get(self, uuid: int) -> Track:
        """The track; an empty one where nothing describes it."""
        return self._tracks.setdefault(uuid, Track())

    def all(self) -> list[tuple[int, Track]]:
        """Every track that was described or asked for, with its id."""
        return list(self._tracks.items())

    def pid(self, uuid: int) -> int:
        """The process of a track: its own or that of the tracks above; else the trace's only one; else 0."""
        track = self.get(uuid)
        for _ in range(DEEPEST):
            if track.pid is not None:
                return track.pid
            if track.parent is None or track.parent not in self._tracks:
                break
            track = self._tracks[track.parent]
        known = {t.pid for t in self._tracks.values() if t.pid is not None}
        return next(iter(known)) if len(known) == 1 else 0

    def _take(self, content: bytes) -> None:
        parts = list(fields(content))
        for number, wire, *_ in parts:
            check(number, wire, WIRES["TrackDescriptor"])
        uuid = next((value for number, _, value, _ in parts if number == 1), 0)
        track = self._tracks.setdefault(uuid, Track())
        for number, _, value, inner in parts:
            if number == 5:
                track.parent = value
            elif number in (2, 10):
                track.name = inner.decode("utf-8", "replace")
            elif number == 3:
                self._process(track, inner)
            elif number == 4:
                self._thread(track, inner)
            elif number == 8:
                self._counter(track, inner)

    @staticmethod
    def _process(track: Track, content: bytes) -> None:
        track.own = True
        for number, wire, value, inner in fields(content):
            check(number, wire, WIRES["Process"])
            if number == 1:
                track.pid = signed(value)
            elif number == 6:
                track.process = inner.decode("utf-8", "replace")

    @staticmethod
    def _thread(track: Track, content: bytes) -> None:
        for number, wire, value, inner in fields(content):
            check(number, wire, WIRES["Thread"])
            if number == 1:
                track.pid = signed(value)
            elif number == 2:
                track.tid = signed(value)
            elif number == 5 and track.name is None:
                track.name = inner.decode("utf-8", "replace")

    @staticmethod
    def _counter(track: Track, content: bytes) -> None:
        for number, wire, value, inner in fields(content):
            check(number, wire, WIRES["Counter"])
            if number == 3:
                track.unit = track.unit or UNITS.get(value)
            elif number == 4:
                track.multiplier = signed(value)
            elif number == 5:
                track.incremental = bool(value)
            elif number == 6:
                track.unit = inner.decode("utf-8", "replace")
