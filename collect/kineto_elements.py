"""Reads the elements of the array of events that the scanner leaves: the unusual, the damaged, what is not an event."""

from collections import defaultdict
from collections.abc import Callable, Mapping
from decimal import Decimal
from typing import Any

import numpy as np
import pyarrow as pa

from .jsonrepair import FAULTS, load, text_of
from .kineto_batch import Batch
from .kineto_process import Lanes, Processes
from .kineto_record import OWN_KEYS, Record, lane_number, nanoseconds, record_of, whole
from .kineto_vocabulary import DEVICE_KINDS, HOLDS, ROLE_OF, Kind, Role
from .spool import NOTHING

__all__ = ["MEANINGS", "Elements"]

MEANINGS: Mapping[str, str] = {
    **FAULTS,
    "damaged": "pieces of the file that are no event and could not be mended: kept in `other` as they stand",
    "not-an-event": "elements of the event list that are no event (null, a number, {}): kept in `other`",
    "not-understood": "events of a kind, or with times, that tracelode does not understand: kept in `other`",
    "stated-twice": "events that state a time, a place or a name twice: the later counts, the other is in `args`",
    "no-number": "numbers that their columns cannot hold: null there, kept in `args`",
    "no-device": "device work whose device or stream cannot be: those of its lane count",
    "unpaired": "begin or end events without their counterpart: kept in `other`",
}
"""Kinds of notes about elements, and what they mean."""

EXAMPLE = 120
MOST = 10**308
"""Numbers of a counter are below this."""


class Elements:
    """Turns elements into records of a batch, or into rows of the tables that only this path fills.

    `flush` writes and empties the batch. `plain` is the kind of duration events whose category says nothing.
    `damaged_from` becomes the offset of the first damage that could not be mended.
    """

    def __init__(self, batch: Batch, processes: Processes, plain: Kind, flush: Callable[[], None]) -> None:
        self._batch, self._processes, self._plain, self._flush = batch, processes, plain, flush
        self._rows: defaultdict[str, list[dict[str, Any]]] = defaultdict(list)
        self.damaged_from: int | None = None
        self._begun: defaultdict[tuple[Any, Any], list[dict[str, Any]]] = defaultdict(list)

    def read(self, raw: bytes, offset: int, *, damaged: bool) -> None:
        """Reads one element, or what stands where elements should be if it is damaged; `offset` is for messages."""
        try:
            value, faults = load(raw.strip(b" \t\r\n,") if damaged else raw)
        except ValueError:
            value, faults = None, {"damaged"}
        event: dict[str, Any] | None = value if isinstance(value, dict) and isinstance(value.get("ph"), str) else None
        if (damaged or "mended" in faults) and event is None:
            self._damaged(raw, offset)
            return
        if event and "duplicate-key" in faults and _is_stated_twice(event):
            faults = faults - {"duplicate-key"} | {"stated-twice"}
        for fault in sorted(faults):
            self.note(fault, f"at byte {offset}: {raw[:EXAMPLE].decode(errors='replace')}")
        if event is None:
            timed = isinstance(value, dict) and "ts" in value
            self.note(
                "not-understood" if timed else "not-an-event",
                f"at byte {offset}: {raw[:EXAMPLE].decode(errors='replace')}",
            )
            self._other(value, "element")
            return
        self._event(event, offset)

    def write(self) -> None:
        """Writes the rows of tables that only this path fills."""
        for table, rows in self._rows.items():
            if not rows:
                continue
            pid = np.array([row.pop("pid") for row in rows], np.int64)
            names = list(rows[0])
            columns = {name: pa.array([row[name] for row in rows]) for name in names}
            if table == "counter" and self._plain == Kind.SPAN:
                self._processes.write_host(table, columns, Lanes.of(pid))
            else:
                self._processes.write(table, columns, Lanes.of(pid))
        self._rows.clear()

    def finish(self) -> None:
        """Writes what is left when the last element has been read."""
        for events in self._begun.values():
            for event in events:
                self._leave(event, "unpaired")
        self._begun.clear()
        self.write()

    def note(self, kind: str, example: str, count: int = 1) -> None:
        """Counts a remark of the kinds in `MEANINGS`."""
        self._processes.sink.note(kind, MEANINGS[kind], count=count, example=example)

    def _damaged(self, raw: bytes, offset: int) -> None:
        text = raw.decode(errors="replace").strip(" \t\r\n,")
        if text:
            self.damaged_from = offset if self.damaged_from is None else self.damaged_from
            self.note("damaged", f"at byte {offset}: {text[:EXAMPLE]}")
            self._other(text, "damaged")

    def _event(self, event: dict[str, Any], offset: int) -> None:
        phase = event["ph"]
        if phase in ("B", "E"):
            self._half(event, offset)
            return
        if phase == "C" and self._counter(event):
            return
        record = record_of(event, self._plain)
        if record is None:
            self._leave(event, "not-understood", offset)
            return
        if (far := _far_number(event.get("args"), record)) is not None:
            self.note("no-number", f"at byte {offset}: {far}")
        if record.kind in DEVICE_KINDS and _is_misplaced(event.get("args"), record):
            self.note("no-device", f"at byte {offset}: {record.name[:EXAMPLE]}")
        if phase == "X" and record.category is not None:
            self._batch.learn(record.category, record.kind)
        self._add(record)

    def _add(self, record: Record) -> None:
        if self._batch.add(record):
            return
        self._flush()
        while not self._batch.add(record):
            self._batch.grow()

    def _half(self, event: dict[str, Any], offset: int) -> None:
        """Pairs the beginning and the end of a span of the same thread."""
        lane = (event.get("pid"), event.get("tid"))
        if not all(isinstance(key, str | int | None) for key in lane) or nanoseconds(event.get("ts")) is None:
            self._leave(event, "not-understood", offset)
        elif event["ph"] == "B":
            self._begun[lane].append(event)
        elif not self._begun.get(lane):
            self._leave(event, "unpaired", offset)
        else:
            begin = self._begun[lane].pop()
            record = record_of(_joined(begin, event), Kind.SPAN)
            if record is None:
                self._leave(begin, "not-understood", offset)
                self._leave(event, "not-understood", offset)
            else:
                self._add(record)

    def _counter(self, event: dict[str, Any]) -> bool:
        """Adds a row for each series of a counter event; False when it is not understood."""
        arguments, time, name = event.get("args"), nanoseconds(event.get("ts")), event.get("name")
        extra = event.keys() - {"ph", "name", "pid", "tid", "ts", "args", "cat"}
        if not isinstance(arguments, dict) or not arguments or time is None or not isinstance(name, str) or extra:
            return False
        values = {key: _finite(value) for key, value in arguments.items()}
        if None in values.values():
            return False
        for key, value in values.items():
            series = name if len(arguments) == 1 else f"{name} {key}"
            row = {"name": series, "time_ns": time, "value": value}
            self._rows["counter"].append({**self._lane(event.get("pid")), **row})
        return True

    def _leave(self, event: dict[str, Any], why: str, offset: int | None = None) -> None:
        text = text_of(event)
        self.note(why, text[:EXAMPLE] if offset is None else f"at byte {offset}: {text[:EXAMPLE]}")
        category = event.get("cat")
        self._other(event, category if isinstance(category, str) and category else f"ph {event['ph']}")

    def _other(self, value: Any, kind: str) -> None:
        event = value if isinstance(value, dict) else {}
        row = {"time_ns": nanoseconds(event.get("ts")), "kind": kind, "json": text_of(value)}
        self._rows["other"].append({**self._lane(event.get("pid")), **row})

    def _lane(self, pid: Any) -> dict[str, int]:
        if isinstance(pid, str):
            number = lane_number(pid)
            if number < 0 and pid != str(number):
                self._processes.names[number] = pid
        else:
            number = whole(pid)
        return {"pid": NOTHING if number is None else number}


def _far_number(arguments: Any, record: Record) -> str | None:
    """The first number of the arguments that is beyond the column it is meant for."""
    for name, value in arguments.items() if isinstance(arguments, dict) else ():
        role = ROLE_OF.get(name)
        held = role is not None and HOLDS[record.kind] >> role & 1 and role not in record.roles
        if held and isinstance(value, int | Decimal) and not isinstance(value, bool):
            return f"{name} {str(value)[:EXAMPLE]}"
    return None


def _is_misplaced(arguments: Any, record: Record) -> bool:
    """Whether the arguments name another device or stream than the record has, since it cannot be."""
    said = arguments if isinstance(arguments, dict) else {}
    places = (("device", Role.DEVICE), ("stream", Role.STREAM))
    return any(said.get(name) is not None and whole(said[name]) != record.roles.get(role) for name, role in places)


def _finite(value: Any) -> float | None:
    """The number as a float; None for what is no number, or too large for one."""
    if isinstance(value, bool) or not isinstance(value, int | Decimal) or not -MOST < value < MOST:
        return None
    return float(value)


def _is_stated_twice(event: Mapping[str, Any]) -> bool:
    """Whether a key comes again that says what the event is, when or where."""
    given = event.get("args")
    return any(f"{key} (2)" in event for key in OWN_KEYS) or (
        isinstance(given, dict) and any(f"{key} (2)" in given for key in ROLE_OF)
    )


def _joined(begin: dict[str, Any], end: dict[str, Any]) -> dict[str, Any]:
    """The duration event that a begin and an end event stand for; what only the end says is under `end`."""
    rest = {key: value for key, value in end.items() if key not in ("ph", "ts", "pid", "tid")}
    said = {key: value for key, value in rest.items() if value not in ("", {}) and begin.get(key) != value}
    event = {**begin, "ph": "X", "dur": Decimal(end["ts"]) - Decimal(begin["ts"])}
    return {**event, "end": said} if said else event
