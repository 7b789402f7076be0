"""Kineto and Chrome trace-event JSON: PyTorch profiles of NVIDIA, AMD and MTIA devices, and other tools' timelines.

The compiled scanner takes the usual events, block by block; the JSON path takes the rest; both fill one batch, which
becomes rows of the tables when it is full. Memory does not grow with the file but for rows that wait to be linked.
"""

import json
import re
from collections import Counter

from ...store.errors import UnreadableFile
from ...store.trace import Facts
from ..files import TraceFile
from ..jsonrepair import with_repeated
from ..jsonscan import FULL
from ..kineto_batch import Batch
from ..kineto_elements import Elements
from ..kineto_facts import facts_of, write_devices, write_processes
from ..kineto_layout import CLOSED, FIRST_LOOSE, LOOSE, POSITION, SPANS
from ..kineto_process import Processes
from ..kineto_scan import scan
from ..kineto_tables import Tables
from ..kineto_text import BOM, EVENTS, MOST_TEXT, Window, members_of
from ..kineto_vocabulary import MARKS_OF_KINETO, Kind
from ..sink import Sink

__all__ = ["VERSION", "read", "recognises"]

VERSION = 5

KINETO_MEMBER = re.compile(
    rb'\{\s*"(?:schemaVersion|deviceProperties|computeProperties|distributedInfo|traceName|baseTimeNanoseconds)"\s*:'
)
EVENT_CAP = 1_000_000
"""The exporters of TensorFlow and JAX write no more events than that into one JSON file (openxla/xla#44702)."""
PHASE = re.compile(rb'"ph"\s*:\s*"[A-Za-z]"')


def recognises(file: TraceFile) -> bool:
    """Whether the file is a Chrome trace: an object with `traceEvents`, or a bare list whose first element is an event.

    Where the first element is `{}`, the file is one of the AMD tools' own, which other readers take.
    """
    head = file.head.removeprefix(BOM).lstrip()
    if head.startswith(b"{"):
        found = EVENTS.search(head)
        if found is None:
            return KINETO_MEMBER.match(head) is not None
        return re.match(rb"\s*\{\s*\}\s*[,\]]", head[found.end() :]) is None
    return head.startswith(b"[") and _begins_with_event(head)


def read(file: TraceFile, sink: Sink) -> Facts:
    """Hands the events to the sink; `UnreadableFile` when there is no list of events, or damage before the first."""
    reading = _Reading(file, sink)
    members = reading.read()
    used = reading.finish()
    write_devices(members, reading.processes.main, sink)
    tables = reading.tables
    if reading.generic and sink.rows.get("range") == EVENT_CAP:
        meaning = f"exactly {EVENT_CAP} spans, at which exporters of XLA stop without a word: the rest may be missing"
        sink.note("event-cap", meaning)
    if not reading.generic and len(used) > 1:
        meaning = "processes in one file, as where ranks were merged: kept apart, but their clocks need not agree"
        sink.note("merged-ranks", meaning, count=len(used), example=f"processes {', '.join(map(str, used[:4]))}")
    write_processes(members, used, reading.processes, tables.process_names, tables.raw_pids, sink)
    return facts_of(members, reading.first_ns, generic=reading.generic)


class _Reading:
    """One file on its way to the sink."""

    def __init__(self, file: TraceFile, sink: Sink) -> None:
        head = file.head.lower()
        self.generic = not any(mark.encode() in head for mark in MARKS_OF_KINETO)
        plain = Kind.SPAN if self.generic else Kind.OTHER
        self._file, self._sink = file, sink
        self.processes = Processes(sink)
        self.tables = Tables(self.processes, generic=self.generic)
        self._batch = Batch(plain, self._note)
        self._elements = Elements(self._batch, self.processes, plain, self._flush)
        self._window = Window(file.blocks())

    def read(self) -> dict[str, object]:
        """Reads all arrays of events; the members around them."""
        text = self._window.find_events()
        if text is None:
            raise UnreadableFile(
                f"{self._file.path}: no list of events in {self._window.offset + self._window.end} bytes of JSON",
                "was the profile written to its end? record it again",
            )
        members, rest = members_of(text, self._rest)
        lists, follows = 1, "list"
        while follows != "end":
            if not self._list():
                self._cut_off()
                return self._one_of_each(members, several=lists > 1)
            at = self._window.offset + self._window.at
            text, follows = self._window.find_more()
            lists += follows == "list"
            if follows == "event":
                self._elements.read(text.encode(), at, damaged=True)
                continue
            more, rest = members_of(text, self._rest)
            members += more
        if self._window.dropped:
            self._sink.note(
                "metadata-dropped",
                f"bytes outside the list of events beyond the first {MOST_TEXT >> 20} MiB: dropped",
                count=self._window.dropped,
            )
        if lists > 1:
            self._sink.note("several-traces", "several traces in one file: read as one", count=lists)
        if rest.strip() != ("" if self._window.is_list else "}"):
            self._rest(rest)
        return self._one_of_each(members, several=lists > 1)

    def _one_of_each(self, members: list[tuple[str, object]], *, several: bool) -> dict[str, object]:
        """The members by name: of a name that comes again the last value; of several traces that of the first."""
        if several:
            return dict(reversed(members))
        names = Counter(name for name, _ in members)
        if repeated := [name for name, times in names.items() if times > 1]:
            self._elements.note("duplicate-key", repeated[0][:80], len(repeated))
        return with_repeated(members)

    @property
    def first_ns(self) -> int | None:
        """The time of the file's first event that has one."""
        return self._batch.first_time

    def finish(self) -> list[int]:
        """Writes what was kept until the end; the processes. `UnreadableFile` when all there is, is damage."""
        self._elements.finish()
        self._flush()
        self._batch.close()
        self.tables.finish()
        used = self.processes.finish()
        if self._elements.damaged_from is not None and not self._sink.rows.keys() - {"other"}:
            raise self._unusable()
        return used

    def _list(self) -> bool:
        """Reads one list of events; whether it was closed."""
        window, batch, final = self._window, self._batch, False
        while True:
            outcome = scan(batch.scan, window.data, window.at, window.end, final)
            window.at = int(batch.scan.at[POSITION])
            spans = batch.scan.spans[: int(batch.scan.at[SPANS])].tolist()
            self._tell_gaps()
            batch.scan.at[SPANS] = 0
            for begin, end, damaged in spans:
                self._elements.read(window.data[begin:end].tobytes(), window.offset + begin, damaged=bool(damaged))
            if outcome == CLOSED:
                return True
            if outcome == FULL:
                if batch.full:
                    self.tables.write_kind(batch, batch.full)
                elif not spans and batch.count:
                    self._flush()
                elif not spans:
                    batch.grow()
            elif final:
                return False
            elif window.end - window.at > MOST_TEXT:
                self._elements.note(
                    "damaged", f"{window.end - window.at} bytes from byte {window.offset + window.at} on"
                )
                window.at = window.end
            else:
                final = not window.extend()

    def _tell_gaps(self) -> None:
        """Counts what the scanner found between events that JSON does not have there."""
        at, window = self._batch.scan.at, self._window
        if count := int(at[LOOSE]):
            first = int(at[FIRST_LOOSE])
            text = window.data[first : min(first + 40, window.end)].tobytes().decode(errors="replace")
            self._elements.note("mended", f"before the element at byte {window.offset + first}: {text}", count)
            at[LOOSE] = 0

    def _flush(self) -> None:
        self.tables.write(self._batch)
        self._elements.write()

    def _note(self, kind: str, count: int, example: str) -> None:
        self._elements.note(kind, example, count)

    def _cut_off(self) -> None:
        at = self._window.offset + self._window.at
        if not self._sink.rows and not self._batch.count:
            raise self._unusable()
        if not self._file.damage:  # which ingest notes by itself
            self._sink.note(
                "truncated",
                "the file ends early: events after that point are missing",
                example=f"the list of events ends between byte {at} and byte {self._file.size}",
            )

    def _unusable(self) -> UnreadableFile:
        begin = self._elements.damaged_from
        end = self._window.offset + self._window.end
        fault = f"ends at byte {end}" if begin is None else f"is damaged from byte {begin} on"
        return UnreadableFile(f"{self._file.path}: {fault}, before the first event", "copy or record the trace again")

    def _rest(self, rest: str) -> None:
        self._sink.note(
            "metadata-damaged",
            "what the file says of itself around its events is cut off or damaged: some of it is missing",
            example=rest.strip(" \t\r\n,{")[:120],
        )


def _begins_with_event(head: bytes) -> bool:
    text = head.decode(errors="replace")
    begin = re.match(r"\[\s*", text)
    try:
        first, _ = json.JSONDecoder(strict=False).raw_decode(text, begin.end() if begin else 1)
    except (ValueError, RecursionError):
        return PHASE.search(head[:4096]) is not None and b'"pid"' in head[:4096]
    return isinstance(first, dict) and isinstance(first.get("ph"), str) and ("ts" in first or first["ph"] == "M")
