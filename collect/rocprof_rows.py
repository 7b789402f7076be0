"""Rows made one at a time from the text outputs of AMD's profilers, whose records vary from release to release."""

import json
import re
from collections.abc import Mapping
from decimal import Decimal
from typing import Any, NamedTuple

import pyarrow as pa

from ..store.tables import TABLES
from .jsonrepair import text_of
from .rowwise import Gathered
from .sink import Sink

__all__ = [
    "HOST_COPY",
    "MEANINGS",
    "End",
    "Rows",
    "arguments",
    "copy_kind",
    "copy_place",
    "handle",
    "integer",
    "label",
    "nanoseconds",
    "note_host_copies",
    "text",
]

FARTHEST = 2**62
MOST = 10**16
"""Microseconds of any clock are fewer."""

WHOLE = re.compile(r"[+-]?[0-9]{1,20}")
HEXADECIMAL = re.compile(r"0[xX][0-9a-fA-F]{1,16}")
MICROSECONDS = re.compile(r"-?[0-9]{1,16}(\.[0-9]{1,9})?")
DIRECTION = re.compile(r"(host|device|peer)_?to_?(host|device|peer)", re.IGNORECASE)
HOST_COPY = "host_copy"
"""The kind of a range that is a copy within the host's memory."""

MEANINGS = {
    "damaged-track": "descriptions of tracks that are damaged: names, threads or processes are missing",
    "no-thread": "calls of no stated thread: kept without one",
    "unnamed-call": "calls of which the file has no name",
    "unnamed-kernel": "kernels of which the file has no name",
    "no-direction": "copies that do not say their direction",
    "no-number": "cells that should hold a number and do not: read as null",
    "no-stream": "device work of no stated stream: counted as stream 0",
    "no-process": "events of no stated process: counted as process 0",
    "no-correlation": "records without the number that a call and its work share: nothing links them",
    "unknown-agent": "devices that the file does not describe: called by their handle",
}
MISSED = {
    "api": (("thread", "no-thread"), ("name", "unnamed-call")),
    "kernel": (("name", "unnamed-kernel"),),
    "copy": (("kind", "no-direction"),),
}
"""Columns by whose null value something is lost, and the note that says so."""

REQUIRED = {name: [(c.name, str(c.type)) for c in table.columns if c.required] for name, table in TABLES.items()}


class End(NamedTuple):
    """An end of a copy: the number of its agent, and whether that is a GPU; None where the file does not say."""

    agent: int | None
    gpu: bool | None = None


class Rows:
    """Collects rows for a sink; a row that lacks what its table requires goes to `other`, whole, and is counted."""

    def __init__(self, sink: Sink) -> None:
        self.sink = sink
        self.processes: dict[int, dict[str, Any]] = {}
        self._rows = Gathered(self._write)

    def add(self, table: str, source: Mapping[str, Any], /, **values: Any) -> None:
        """Appends a row; `source` is the record it was made from. Numbers that do not fit their column become null."""
        for name, kind in REQUIRED[table]:
            if not _fits(values.get(name), kind) and (name != "end_ns" or values.get(name) is not None):
                meaning = "records without a time, a place or a size that can be: kept in `other`"
                self.sink.note("incomplete", meaning, example=f"{table}: {name} of {arguments(source)}"[:200])
                self.other(table, source)
                return
        for name, note in MISSED.get(table, ()):
            if values.get(name) is None:
                self.sink.note(note, MEANINGS[note], example=(arguments(source) or "")[:200])
        self.processes.setdefault(values["process"], {})
        self._rows.add(table, values)

    def tell(self, note: str, example: str | None = None) -> None:
        """Counts one of the remarks that are the same in all outputs."""
        self.sink.note(note, MEANINGS[note], example=example)

    def number(self, value: Any) -> int | None:
        """The number that a value is or wraps, which every record of its kind has: one without is counted."""
        found = handle(value)
        if found is None:
            self.tell("no-number")
        return found

    def other(self, kind: str, source: Any, time_ns: int | None = None) -> None:
        """Keeps a record as it stood in the file."""
        record = _json(source)
        self._rows.add("other", {"time_ns": time_ns if _fits(time_ns, "int64") else None, "kind": kind, "json": record})

    def add_copy(self, source: Mapping[str, Any], ends: tuple[End, End], /, **values: Any) -> int | None:
        """Appends a copy from the first end to the second, at the device it belongs to, which is returned.

        One within the host's memory becomes a range, since no device does it.
        """
        kind: str | None = values["kind"]
        device, peer = copy_place(kind, *ends)
        if device is None and _within_host(kind, *ends):
            note_host_copies(self.sink, 1)
            said = {name: values[name] for name in ("process", "start_ns", "end_ns", "args")}
            self.add("range", source, **said, stream=values["stream"], name=kind or "HtoH", kind=HOST_COPY)
        else:
            self.add("copy", source, device=device, peer_device=peer, **values)
        return device

    def describe(self, table: str, **values: Any) -> None:
        """Appends a row of an identity table, whose process becomes one of the trace; 0 for one that cannot be."""
        if not _fits(values["process"], "int64"):
            self.tell("no-process", f"{table} of process {values['process']}"[:120])
            values["process"] = 0
        self.processes.setdefault(values["process"], {})
        self._rows.add(table, values)

    def only_process(self) -> int:
        """The process of records that name none: the one of the file, or 0 where there are several or none."""
        return next(iter(self.processes)) if len(self.processes) == 1 else 0

    def close(self) -> None:
        """Hands over what is left, and the processes: 0 stands for one that the file does not name."""
        for process, facts in sorted(self.processes.items()):
            self._rows.add("process", {"process": process, "pid": process or None, **facts})
        self.finish()

    def finish(self) -> None:
        """Hands over what is left, for a reader that writes the processes itself."""
        self._rows.finish()

    def _write(self, table: str, rows: list[dict[str, Any]]) -> None:
        columns = {name for row in rows for name in row}
        schema = TABLES[table].schema
        self.sink.write(table, {n: self._column([row.get(n) for row in rows], schema.field(n).type) for n in columns})

    def _column(self, values: list[Any], kind: pa.DataType) -> pa.Array:
        try:
            return pa.array(values, kind)
        except (pa.ArrowInvalid, pa.ArrowTypeError, OverflowError, UnicodeEncodeError):
            if pa.types.is_string(kind):
                return pa.array([None if value is None else _clean(str(value)) for value in values], kind)
            kept = [value if value is None or _fits(value, str(kind)) else None for value in values]
            lost = [str(a)[:40] for a, b in zip(values, kept, strict=True) if a is not None and b is None]
            self.sink.note("out-of-range", "numbers beyond what can be: read as null", count=len(lost), example=lost[0])
            return pa.array(kept, kind)


def _fits(value: Any, kind: str) -> bool:
    if kind == "int64":
        return type(value) is int and -FARTHEST < value < FARTHEST
    if kind == "int32":
        return type(value) is int and -(2**31) < value < 2**31
    return isinstance(value, str if kind == "string" else float)


def _clean(value: str) -> str:
    """The text without halves of characters, which cannot be written."""
    return value.encode("utf-8", "replace").decode()


def _json(value: Any) -> str:
    try:
        return _clean(json.dumps(value, ensure_ascii=False))
    except TypeError:  # a number with a fraction, which `text_of` writes as it was
        return _clean(text_of(value))
    except RecursionError:
        return '"nested too deeply"'


def arguments(values: Mapping[str, Any]) -> str | None:
    """The values that say something (neither empty nor zero) as a JSON object; null when none does."""
    said = {name: value for name, value in values.items() if value and value != "0"}
    return _json(said) if said else None


def label(value: Any) -> str:
    """The value as the facts of a trace hold it: text as it is, anything else as JSON."""
    return _clean(value if isinstance(value, str) else _json(value))


def integer(value: Any) -> int | None:
    """A whole number given as one, as decimal digits or as hexadecimal digits after 0x; null for anything else."""
    if type(value) is int:
        return value
    if not isinstance(value, str):
        return None
    if value.isascii() and value.isdecimal() and len(value) < 20:  # nearly all: no need to match a pattern
        return int(value)
    if WHOLE.fullmatch(value):
        return int(value)
    return int(value, 16) if HEXADECIMAL.fullmatch(value) else None


def handle(value: Any) -> int | None:
    """A number, or the one that a member like `{"handle": 16}` wraps."""
    if isinstance(value, dict):
        value = value.get("handle", value.get("value"))
    return integer(value)


def nanoseconds(microseconds: Any) -> int | None:
    """Microseconds, as a number or as text, in nanoseconds: exact from the decimal digits, what is finer cut off."""
    if isinstance(microseconds, str):
        if not MICROSECONDS.fullmatch(microseconds):
            return None
        microseconds = Decimal(microseconds)
    if type(microseconds) is int:
        return microseconds * 1000
    if not isinstance(microseconds, Decimal) or not microseconds.is_finite() or not -MOST < microseconds < MOST:
        return None
    return int(microseconds * 1000)


def text(value: Any) -> str | None:
    """The value where it is a text that is not empty."""
    return _clean(value) if isinstance(value, str) and value else None


def copy_kind(name: str) -> str | None:
    """The direction that a name like CopyHostToDevice or MEMORY_COPY_HOST_TO_DEVICE tells."""
    found = DIRECTION.search(name)
    if not found:
        return None
    ends = (found[1][0].upper(), found[2][0].upper())
    return "PtoP" if "P" in ends else "to".join(ends)


def note_host_copies(sink: Sink, count: int) -> None:
    """Says in a note how many copies are ranges, since no device does them."""
    meaning = "copies within the memory of the host, which no device does: kept as ranges of kind host_copy"
    sink.note("host-copy", meaning, count=count)


def copy_place(kind: str | None, source: End, target: End) -> tuple[int | None, int | None]:
    """The device that a copy belongs to, and the other device of one between two.

    It belongs to the GPU of its two ends, and between two GPUs to the one it goes to. Of an end that the file does not
    describe the direction tells; where neither does, it is taken for a GPU.
    """
    goes, comes = _on_host(target, (kind or "")[-1:]), _on_host(source, (kind or "")[:1])
    if target.agent is not None and not goes:
        between = comes is False and source.agent != target.agent
        return target.agent, source.agent if between else None
    return (None if comes else source.agent), None


def _on_host(end: End, letter: str) -> bool | None:
    if end.gpu is not None:
        return not end.gpu
    return letter == "H" if letter else None


def _within_host(kind: str | None, source: End, target: End) -> bool:
    return bool(_on_host(source, (kind or "")[:1]) and _on_host(target, (kind or "")[-1:]))
