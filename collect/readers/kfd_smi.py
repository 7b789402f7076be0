"""Event stream of AMD's kernel driver (KFD SMI events), recorded line by line: faults and moves of managed memory.

The recorder (`python -m tracelode.collect.kfd_recorder`) writes a first line that says what the stream does not: the
size of a page, the GPUs by the ids that the driver gives them, how the boot clock stood to Unix time. Without it, pages
are of 4 KiB and a device is called by its id. There is no work of the device in it: kernels are in another trace of the
same run.
"""

import json
import re
from collections.abc import Mapping
from typing import Any

from ...store.trace import Facts
from ..files import TraceFile
from ..kfd import STOPS, TRIGGERS, add_fault, add_move, add_stop, note_dropped
from ..kfd_events import BEGINS, ENDS, HOST, UNDEFINED, Event, Pairs, event_of
from ..nvprof_print import lines
from ..rocprof_json import records
from ..rocprof_rows import End, Rows, arguments, integer, label, text
from ..sink import Sink

__all__ = ["VERSION", "read", "recognises"]

VERSION = 1

HEADER = re.compile(r'#\s*\{"tracelode": "kfd_smi", .*')
PAGE_BYTES = 4096
MOST_PAGE_BYTES = 1 << 21
LOOKED_AT = 20
LONGEST = 300
MOST_UNREAD = 100_000
RESCHEDULED = "R"


def recognises(file: TraceFile) -> bool:
    """Whether it begins with the recorder's line, or its first lines are all the driver's and one has a moment."""
    if b"\n" not in file.head:
        return False
    found = file.head.decode(errors="replace").split("\n")[:-1][:LOOKED_AT]
    if HEADER.fullmatch(found[0]):
        return True
    events = [event_of(line) for line in found if line]
    return all(events) and any(event is not None and event.time_ns is not None for event in events)


def read(file: TraceFile, sink: Sink) -> Facts:
    """Hands every event to the sink and returns the facts; lines that are none of the driver's are counted."""
    reading: _Stream | None = None
    for line, ended in lines(file):
        if reading is None:
            reading = _Stream(Rows(sink), _header(line, sink))
            if HEADER.fullmatch(line):
                continue
        reading.take(line, ended=ended)
    return (reading or _Stream(Rows(sink), {})).finish()


class _Stream:
    """The events on their way to the sink: begins wait for their ends."""

    def __init__(self, rows: Rows, header: Mapping[str, Any]) -> None:
        self._rows, self._header, self._pairs = rows, header, Pairs()
        self._unread = 0
        size = integer(header.get("page_bytes"))
        self._page = size if size is not None and 0 < size <= MOST_PAGE_BYTES else PAGE_BYTES
        gpus = records(header, "gpus")
        self._gpus = {number: one for one in gpus if (number := integer(one.get("gpu_id"))) is not None}
        self._seen: set[tuple[int, int]] = set()

    def take(self, line: str, *, ended: bool) -> None:
        """Reads one line."""
        event = event_of(line)
        if not ended:
            meaning = "the file ends early: events after that point are missing"
            self._rows.sink.note("truncated", meaning, example=line[:LONGEST])
        elif event is None:
            self._foreign(line)
        elif event.name in BEGINS:
            self._pairs.begin(event)
        elif event.name in ENDS and event.said.get("again") != RESCHEDULED:
            self._end(event)
        elif event.name == "dropped events":
            note_dropped(self._rows, event.said["count"])
        else:
            if event.name == "process start":
                self._rows.processes.setdefault(event.process, {})["name"] = text(event.said["task"])
            self._rows.other(event.name, {"process": event.process, **event.said}, event.time_ns)

    def finish(self) -> Facts:
        """Writes out what has no end, the devices and the processes; the facts of the file."""
        for begin in self._pairs.left():
            if BEGINS[begin.name] == "page fault":
                self._fault(begin, None)
            else:
                meaning = "moves and evictions that began and are not told to have ended (older drivers tell of no end "
                meaning += "where nothing moved): kept in `other`"
                self._rows.sink.note("without-end", meaning, example=begin.line[:LONGEST])
                self._rows.other(begin.name, {"process": begin.process, **begin.said}, begin.time_ns)
        if self._unread > MOST_UNREAD:
            meaning = f"lines that the driver does not write, beyond the first {MOST_UNREAD:,}: left out"
            self._rows.sink.note("unread-line-dropped", meaning, count=self._unread - MOST_UNREAD)
        self._describe()
        self._rows.close()
        said = {name: label(self._header[name]) for name in ("driver", "release") if name in self._header}
        return Facts(
            format="kfd_smi",
            producer="KFD SMI events",
            host=text(self._header.get("host")),
            clock="boottime",
            base_unix_ns=_base(integer(self._header.get("boottime_ns")), integer(self._header.get("unix_ns"))),
            labels=said,
        )

    def _end(self, event: Event) -> None:
        begin = self._pairs.end(event)
        if begin is None:
            meaning = "ends of what began before the recording: kept in `other`"
            self._rows.sink.note("without-begin", meaning, example=event.line[:LONGEST])
            self._rows.other(event.name, {"process": event.process, **event.said}, event.time_ns)
        elif begin.name == "page fault start":
            self._fault(begin, event)
        elif begin.name == "migrate start":
            self._move(begin, event)
        else:
            self._stop(begin, event)
            while (another := self._pairs.end(event)) is not None:  # a queue comes back from every eviction at once
                self._stop(another, event)

    def _fault(self, begin: Event, end: Event | None) -> None:
        resolved = {"M": "migrated", "U": "updated"}.get(end.said["resolved"]) if end else None
        add_fault(
            self._rows,
            begin.said,
            place={"process": begin.process, "device": self._device(begin)},
            times={"start_ns": begin.time_ns, "end_ns": end.time_ns if end else None},
            address=begin.said["page"] * self._page,
            access={"R": "read", "W": "write"}[begin.said["access"]],
            said={"resolved": resolved},
        )

    def _move(self, begin: Event, end: Event) -> None:
        first = begin.said["page"] * self._page
        places = ((f"{name}_agent", begin.said[name]) for name in ("prefetch", "preferred"))
        add_move(
            self._rows,
            {**begin.said, **end.said},
            process=begin.process,
            ends=(self._place(begin, "source"), self._place(begin, "target")),
            times={"start_ns": begin.time_ns, "end_ns": end.time_ns},
            first=first,
            last=first + begin.said["pages"] * self._page,
            trigger=_numbered(TRIGGERS, begin.said["trigger"]),
            error=end.said.get("error", 0),
            said={name: self._number(node) for name, node in places if node not in (HOST, UNDEFINED)},
        )

    def _stop(self, begin: Event, end: Event) -> None:
        add_stop(
            self._rows,
            begin.said,
            place={"process": begin.process, "device": self._device(begin)},
            times={"start_ns": begin.time_ns, "end_ns": end.time_ns},
            reason=_numbered(STOPS, begin.said["trigger"]),
            said={},
        )

    def _device(self, event: Event) -> int:
        number = self._number(event.said["node"])
        self._seen.add((event.process, number))
        return number

    def _place(self, event: Event, side: str) -> End:
        """An end of a move: the host, or a GPU."""
        node = event.said[side]
        if node == HOST:
            return End(None, gpu=False)
        number = self._number(node)
        self._seen.add((event.process, number))
        return End(number, gpu=True)

    def _number(self, node: int) -> int:
        """The node of a GPU by the id that the driver gives it; that id where it is not described."""
        found = integer(self._gpus.get(node, {}).get("node"))
        if found is None or not 0 <= found < 1 << 31:
            self._rows.tell("unknown-agent", f"{node:x}")
            return node
        return found

    def _describe(self) -> None:
        """Writes the GPUs of the header for each process, and those that only events name."""
        cards = {self._number(node): card for node, card in self._gpus.items()}
        processes = {process for process, _ in self._seen}
        for process, device in sorted(self._seen | {(p, d) for p in processes for d in cards}):
            if device < 1 << 31:
                self._rows.describe(
                    "device", process=process, device=device, vendor="amd", **_card(cards.get(device, {}))
                )

    def _foreign(self, line: str) -> None:
        if not line.strip():
            return
        self._unread += 1
        meaning = "lines that the driver does not write: kept as they stand in `other`"
        self._rows.sink.note("not-understood", meaning, example=line[:LONGEST])
        if self._unread <= MOST_UNREAD:
            self._rows.other("line", {"line": line})


def _header(line: str, sink: Sink) -> Mapping[str, Any]:
    """What the recorder says in its first line; nothing where it is not there, or damaged, which is counted."""
    if not HEADER.fullmatch(line):
        return {}
    try:
        found = json.loads(line.lstrip("# "))
    except (ValueError, RecursionError):
        meaning = "the recorder's first line is damaged: pages count 4 KiB, devices have the driver's ids, no Unix time"
        sink.note("bad-header", meaning, example=line[:LONGEST])
        return {}
    return found if isinstance(found, dict) else {}


def _base(boot_ns: int | None, unix_ns: int | None) -> int | None:
    """The Unix time of the machine's start, where both clocks can be."""
    return (
        unix_ns - boot_ns if boot_ns is not None and unix_ns is not None and 0 <= boot_ns <= unix_ns < 1 << 62 else None
    )


def _numbered(names: tuple[str, ...], number: int) -> str:
    return names[number] if number < len(names) else str(number)


def _card(said: Mapping[str, Any]) -> dict[str, Any]:
    clock, units = integer(said.get("clock_mhz")), integer(said.get("compute_units"))
    return {
        "name": text(said.get("name")),
        "architecture": text(said.get("architecture")),
        "compute_units": units or None,
        "memory_bytes": integer(said.get("memory_bytes")) or None,
        "clock_hz": clock * 10**6 if clock and 0 < clock < 1 << 31 else None,
        "args": arguments({"gpu_id": said.get("gpu_id")}),
    }
