"""Perfetto protobuf traces (`*.pftrace`) of rocprofv3, rocprof-sys, omnitrace and others that write track events.

Read are track events (slices, marks, counters), their annotations and arrows, and GPU render stages; packets of other
kinds are counted in a note. An end closes the slice begun last on its track by the same sequence of packets.
"""

from itertools import islice
from typing import Any

from ...store.errors import UnreadableFile
from ...store.trace import Facts
from ..files import TraceFile
from ..perfetto import KERNELS, NAMES, STAGES, Begin, Clocks, Sequence, annotations, packets
from ..perfetto_events import decoded
from ..perfetto_schema import WIRES
from ..perfetto_slices import Slices
from ..perfetto_tracks import Track, Tracks
from ..protobuf import BYTES, VARINT, Damage, Field, MalformedError, check, fields, pieces, signed
from ..rocprof_rows import MEANINGS, note_host_copies
from ..rowwise import Rowwise, as_json
from ..sink import Sink

__all__ = ["VERSION", "read", "recognises"]

VERSION = 4

NUMBERS = frozenset({3, 8, 10, 13, 41, 42, 58, 79, 87, 98})
"""Fields of a packet that are numbers; all others are messages or bytes."""
MARKS = frozenset({8, 10, 13, 58})
HIGHEST = 200
LOOKED_AT = 64
SNAPSHOT, EVENT, INTERNED, STATS, SYSTEM, STAGE, DEFAULTS, DESCRIPTOR = 6, 11, 12, 35, 45, 53, 59, 60
DESCRIBING = frozenset({33, 36, 69, 89, SNAPSHOT, INTERNED, DEFAULTS, DESCRIPTOR, STATS, SYSTEM})
CLEARED = 1
BEGIN, END, INSTANT, COUNTER = 1, 2, 3, 4
LOSSES = {3: "overwritten", 18: "discarded", 19: "lost before they were written"}
STAGE_NUMBERS = {
    1: "event_id",
    2: "duration",
    3: "hw_queue_id",
    4: "stage_id",
    5: "context",
    8: "render_target_handle",
    9: "render_pass_handle",
    10: "submission_id",
    11: "gpu_id",
    12: "command_buffer_handle",
    13: "queue",
    14: "stage",
    19: "kernel",
    20: "name",
}
STAGE_NAME = 17
NO_SEQUENCE = 0


def recognises(file: TraceFile) -> bool:
    """Whether the content is a list of trace packets: known fields of the right wire types, and a sequence or time."""
    marks: set[int] = set()
    cut = Damage()
    for number, wire, _, content in islice(pieces(file.head, cut), LOOKED_AT):
        if number != 1 or wire != BYTES:
            return False
        if cut.count:
            break
        try:
            parts = [(inner, kind) for inner, kind, _, _ in fields(content)]
        except MalformedError:
            return False
        if any(kind != (VARINT if inner in NUMBERS else BYTES) for inner, kind in parts if inner <= HIGHEST):
            return False
        marks.update(inner for inner, _ in parts)
    return bool(marks & MARKS) and bool(marks - NUMBERS)


def read(file: TraceFile, sink: Sink) -> Facts:
    """Hands every event to the sink and returns the facts; `UnreadableFile` when damage leaves no event."""
    damage = Damage()
    reading = _Reading(sink)
    # Read twice: a track may be described after its first event.
    damaged = reading.tracks.describe(p for p in packets(file.blocks(), Damage()) if b"\xe2\x03" in p)
    if damaged:
        sink.note("damaged-track", MEANINGS["damaged-track"], count=damaged)
    for packet in packets(file.blocks(), damage):
        reading.packet(packet)
    reading.finish()
    if damage.count:
        meaning = "the file is cut or damaged: what follows that place is missing"
        sink.note("damaged", meaning, count=damage.count, example=damage.first)
    if damage.count and not sink.rows.keys() - {"process", "track", "device"}:
        raise UnreadableFile(f"{file.path}: damaged ({damage.first}), without any event", "copy or record it again")
    clocks = reading.clocks
    producer = reading.producer
    return Facts("perfetto", producer=producer, clock=clocks.name, base_unix_ns=clocks.base_unix_ns)


class _Reading:
    """One trace on its way to the tables."""

    def __init__(self, sink: Sink) -> None:
        self._sink, self._rows = sink, Rowwise(sink)
        self._slices = Slices(self._rows)
        self._sequences: dict[int, Sequence] = {}
        self._open: dict[int, list[Begin]] = {}
        self._flows: set[int] = set()
        self._processes: dict[int, int] = {}
        self.tracks, self.clocks = Tracks(), Clocks()
        self.producer: str | None = None

    def packet(self, content: bytes) -> None:
        """Reads one packet; a damaged one is counted and left out."""
        try:
            self._packet(content)
        except MalformedError as error:
            self._sink.note("bad-packet", "packets that are no whole message: left out", example=str(error))

    def finish(self) -> None:
        """Writes what is left: slices that never ended, processes, tracks, devices."""
        for uuid, begun in self._open.items():
            for begin in begun:
                meaning = "slices that begin and never end: in `other`, in no sum"
                self._sink.note("unfinished", meaning, example=begin.name)
                record = {"name": begin.name, "categories": begin.categories, **begin.args}
                row = {"process": self._process(uuid), "time_ns": begin.start_ns, "kind": "unfinished slice"}
                self._rows.add("other", row | {"json": as_json(record)})
        if self._slices.unplaced:
            meaning = "device work that does not say on which device: taken for device 0"
            self._sink.note("no-device", meaning, count=self._slices.unplaced)
        if self._slices.streamless:
            meaning = "device work of no stated stream: counted as stream 0"
            self._sink.note("no-stream", meaning, count=self._slices.streamless)
        for kind, count in sorted(self._slices.unnamed.items()):
            if count:
                self._sink.note(kind, MEANINGS[kind], count=count)
        if self._slices.uncorrelated and self._slices.correlated:
            self._sink.note("no-correlation", MEANINGS["no-correlation"], count=self._slices.uncorrelated)
        if self._slices.uncategorised and self._slices.recognised:
            meaning = "slices without a category, which this recorder gives to all: kept as ranges"
            self._sink.note("no-category", meaning, count=self._slices.uncategorised)
        if self._slices.on_host:
            note_host_copies(self._sink, self._slices.on_host)
        if unnamed := sum(sequence.unnamed for sequence in self._sequences.values()):
            meaning = "names given by a number that the file gives no text for: the number stands for the name"
            self._sink.note("unknown-name", meaning, count=unnamed)
        self._identities()
        self._rows.finish()

    def _identities(self) -> None:
        named: dict[int, str | None] = dict.fromkeys(sorted(set(self._processes.values())))
        for uuid, track in self.tracks.all():
            if track.own and track.pid is not None:
                named[track.pid] = track.process or track.name or named.get(track.pid)
            elif track.thread is not None and track.name:
                row = {"process": self._process(uuid), "track": track.thread, "name": track.name, "kind": "thread"}
                self._rows.add("track", row)
        for pid, name in named.items():
            self._rows.add("process", {"process": pid, "pid": pid or None, "name": name})
        for (process, device), agent in sorted(self._slices.devices.items()):
            row = {"process": process, "device": device, "args": as_json({"agent": agent} if agent else {})}
            self._rows.add("device", row)

    def _packet(self, content: bytes) -> None:
        parts = list(fields(content))
        numbers: dict[int, int] = {}
        for number, wire, value, _ in parts:
            check(number, wire, WIRES["TracePacket"])
            if wire == VARINT:
                numbers[number] = value
        sequence = self._sequences.setdefault(numbers.get(10, NO_SEQUENCE), Sequence())
        if numbers.get(13, 0) & CLEARED or numbers.get(41):
            sequence.clear()
        if numbers.get(42) and not numbers.get(87):
            meaning = "the recorder lost packets before these: slices may lack their end or their name"
            self._sink.note("packets-lost", meaning)
        self._state(parts, sequence)
        time = None
        if 8 in numbers or any(number in (EVENT, STAGE) for number, *_ in parts):
            time = self.clocks.time(numbers.get(8, 0), numbers.get(58), sequence)
        for number, wire, _, inner in parts:
            if wire != BYTES or number in DESCRIBING:
                continue
            if number not in (EVENT, STAGE):
                meaning = "packets that hold no track event: counted, not read"
                self._sink.note("unread-packet", meaning, example=f"field {number}")
                continue
            if time is None:
                meaning = "events of a clock that nothing relates to the trace's own: left out"
                self._sink.note("unknown-clock", meaning)
            elif number == EVENT:
                self._event(inner, time, sequence, numbers.get(10, NO_SEQUENCE))
            else:
                self._stage(inner, time, sequence)

    def _state(self, parts: list[Field], sequence: Sequence) -> None:
        for number, wire, _, inner in parts:
            if wire != BYTES:
                continue
            if number == SNAPSHOT:
                self.clocks.snapshot(inner, sequence)
            elif number == INTERNED:
                sequence.intern(inner)
            elif number == DEFAULTS:
                sequence.defaults(inner)
            elif number == STATS:
                self._stats(inner)
            elif number == SYSTEM:
                version = next((c for n, w, _, c in fields(inner) if n == 4 and w == BYTES), b"")
                self.producer = version.decode("utf-8", "replace") or None

    def _stats(self, content: bytes) -> None:
        """What the recorder says it lost."""
        for number, wire, _, inner in fields(content):
            if number != 1 or wire != BYTES:
                continue
            for what, _, count, _ in fields(inner):
                if what in LOSSES and count:
                    meaning = "pieces of the trace that its recorder dropped: events are missing"
                    self._sink.note("recorder-loss", meaning, count=count, example=f"{count} {LOSSES[what]}")

    def _event(self, content: bytes, time: int, sequence: Sequence, number: int) -> None:
        event = decoded(content, sequence)
        uuid = sequence.track if event.track is None else event.track
        track, process = self.tracks.get(uuid), self._process(uuid)
        args = annotations(event.annotations, sequence)
        begin = Begin(number, time, event.name, event.categories, args)
        if event.kind == BEGIN:
            self._open.setdefault(uuid, []).append(begin)
        elif event.kind == END:
            self._end(uuid, begin)
        elif event.kind == INSTANT:
            self._slices.mark(begin, track, process)
        elif event.kind == COUNTER and event.value is not None:
            self._slices.sample(time, _value(event.value, track), track, process)
        else:
            meaning = "track events of a kind that is not known here: in `other`"
            self._sink.note("unknown-event", meaning, example=event.name)
            record = {"name": event.name, "categories": event.categories, "type": event.kind, **args}
            row = {"process": process, "time_ns": time, "kind": "track event", "json": as_json(record)}
            self._rows.add("other", row)
        for flow, last in event.flows:
            self._flow(flow, time, track, process, last=last)

    def _end(self, uuid: int, end: Begin) -> None:
        begun = self._open.get(uuid)
        if not begun:
            self._sink.note("unbegun", "ends of slices that never began: left out", example=f"at {end.start_ns} ns")
            return
        at = next((i for i in reversed(range(len(begun))) if begun[i].sequence == end.sequence), len(begun) - 1)
        begin = begun.pop(at)
        begin.args |= end.args
        self._slices.slice(begin, end.start_ns, self.tracks.get(uuid), self._process(uuid))

    def _flow(self, flow: int, time: int, track: Track, process: int, *, last: bool) -> None:
        phase = "f" if last else "t" if flow in self._flows else "s"
        self._flows.add(flow)
        row = {"process": process, "track": track.thread, "time_ns": time, "kind": "flow", "id": signed(flow)}
        self._rows.add("flow", row | {"phase": phase})

    def _stage(self, content: bytes, time: int, sequence: Sequence) -> None:
        """A stage of a GPU's pipeline; it is called as its event says, else as its stage."""
        event: dict[str, Any] = {}
        name = None
        for number, wire, value, inner in fields(content):
            check(number, wire, WIRES["GpuRenderStageEvent"])
            if number in STAGE_NUMBERS:
                event[STAGE_NUMBERS[number]] = value
            elif number == STAGE_NAME:
                name = inner.decode("utf-8", "replace")
        for table, what in ((STAGES, "stage"), (STAGES, "queue"), (KERNELS, "kernel"), (NAMES, "name")):
            if what in event:
                event[what] = sequence.name(table, event[what])
        event["name"] = name or event.get("name") or event.pop("stage", None)
        self._slices.stage(event, time, self._process(sequence.track))

    def _process(self, uuid: int) -> int:
        if uuid not in self._processes:
            self._processes[uuid] = self.tracks.pid(uuid)
        return self._processes[uuid]


def _value(value: float, track: Track) -> float:
    """A counter's value in its unit; one given by differences is summed."""
    value *= track.multiplier
    if not track.incremental:
        return value
    track.total += value
    return track.total
