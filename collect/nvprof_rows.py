"""Rows of nvprof's printed traces, turned into rows of our tables.

Moves of managed pages are rows of `migration` (kind UVM_HtoD, ...), not of `copy`: nvprof gives them no stream. Left
out is the throughput of a copy, which is its size over its duration.
"""

import json
import re
from functools import lru_cache
from typing import Any

from ..store.tables import COPY_KINDS, TABLES
from .nvprof_print import Layout, quantity
from .rowwise import Gathered
from .sink import Sink

__all__ = ["Rows"]

COPY = re.compile(r"\[CUDA memcpy (\w+)\]")
MANAGED = re.compile(r"\[Unified Memory (.+)\]")
MOVE = re.compile(r"Memcpy (\w+)")
ACTS = (("thrash", "thrash"), ("throttl", "throttle"), ("remote", "remote_map"))
CALL = re.compile(r"(?:__)?cu(da)?[A-Z]\w*")
CAUSED = re.compile(r"(\S+) \((.*) \[(\d{1,18})\]\)", re.DOTALL)
NUMBERED = re.compile(r"(.*) \[(\d{1,18})\]", re.DOTALL)
PLACE = re.compile(r"(.*) \((\d{1,9})\)?")
WHOLE = re.compile(r"\d{1,18}")
PLACED = frozenset({"Start", "Duration", "Name", "Correlation_ID", "Device", "Context", "Stream", "Throughput"})
SIZES = (
    *("Grid Size", "Block Size"),
    *(f"{what} {axis}" for what in ("Grid", "Block") for axis in "XYZ"),
    *("Registers Per Thread", "Regs"),
)
SHARED_MEMORY = ("Static SMem", "SSMem", "Dynamic SMem", "DSMem")
WHOLES = ("Correlation_ID", "Context", "Stream")
SHAPED = PLACED.union(SIZES, SHARED_MEMORY)
MOVED = PLACED | {"Size", "SrcMemType", "DstMemType"}
FAULTED = frozenset({"Start", "Duration", "Name", "Device", "Virtual Address"})
COLUMNS = SHAPED | MOVED | FAULTED | {"Unified Memory", "Src Dev", "Src Ctx", "Dst Dev", "Dst Ctx"}
"""The titles that nvprof gives to columns of events."""

MANY = 2**31


class Rows:
    """Collects events row by row and hands them to the sink; `names` are the devices it met, by process and number.

    `coarse` is how many starts were printed in steps of a microsecond or more, `coarsest` the widest step in ns.
    """

    def __init__(self, sink: Sink) -> None:
        self.names: dict[tuple[int, int], str] = {}
        self.coarse, self.coarsest = 0, 0
        self._sink = sink
        self._rows = Gathered(self._write)
        self._unnumbered: dict[str, int] = {}

    def add(self, layout: Layout, cells: dict[str, str], process: int) -> bool:
        """Adds the event of one row of a trace; False when it has no name, or no start after the profiler's."""
        name = cells.get("Name", "")
        start = quantity(cells.get("Start", ""), layout.units.get("Start", ""), time=True)
        if not name or start is None or start[0] < 0:
            return False
        if start[1] >= 1000:
            self.coarse, self.coarsest = self.coarse + 1, max(self.coarsest, start[1])
        lasted = quantity(cells.get("Duration", ""), layout.units.get("Duration", ""), time=True)
        end = None if lasted is None else start[0] + lasted[0]
        self._count_unread(layout, cells)
        managed = MANAGED.fullmatch(name)
        if "Correlation_ID" in layout.columns and "Correlation_ID" not in cells and not managed:
            meaning = "records without the number that a call and its work share: nothing links them"
            self._sink.note("no-correlation", meaning, example=name[:120])
        row = {"process": process, "start_ns": start[0], "end_ns": end}
        if managed:
            self._add_managed(managed[1], layout, cells, row)
        elif name.startswith(("[CUDA memcpy", "[CUDA memset")):
            self._add_transfer(name, layout, cells, row)
        elif (shape := _shape(layout, cells))["grid_x"] is not None:
            self._add_kernel(name, cells, row | shape)
        elif name.startswith("[") or "Device" in cells:
            if "Device" in cells:
                meaning = "device work that is neither a kernel, a copy nor a fill by its cells: kept in `other`"
                self._sink.note("unknown-work", meaning, example=name)
            self.other("device" if "Device" in cells else "mark", process, cells, start[0])
        else:
            self._add_host_span(name, cells, row)
        return True

    def begin(self, layout: Layout) -> None:
        """Takes note of the columns of a table of events."""
        if unknown := set(layout.columns) - COLUMNS:
            meaning = "columns of an unknown title: their cells are kept in `args`, where no table's column has them"
            self._sink.note("unknown-column", meaning, count=len(unknown), example=", ".join(sorted(unknown))[:120])

    def flush(self) -> None:
        """Hands over what was collected."""
        self._rows.finish()

    def other(self, kind: str, process: int, record: dict[str, str], time_ns: int | None = None) -> None:
        """Adds a record that no table holds."""
        text = json.dumps(record, ensure_ascii=False)
        self._rows.add("other", {"process": process, "time_ns": time_ns, "kind": kind, "json": text})

    def _add_kernel(self, name: str, cells: dict[str, str], row: dict[str, Any]) -> None:
        name, correlation = _numbered(name)
        row |= self._placed(cells, row["process"], correlation)
        row |= {"name": name, "args": _rest(cells, SHAPED)}
        self._rows.add("kernel", row)

    def _add_transfer(self, name: str, layout: Layout, cells: dict[str, str], row: dict[str, Any]) -> None:
        row |= self._placed(cells, row["process"], None) | {"bytes": _size("Size", layout, cells)}
        if "Size" not in cells:
            self._sink.note("no-size", "copies and fills that do not say their size", example=name)
        source, target = (_memory(cells, f"{end}MemType") for end in ("Src", "Dst"))
        if name.startswith("[CUDA memset"):
            self._rows.add("fill", row | {"memory": target or source, "args": _rest(cells, MOVED)})
            return
        copy = COPY.fullmatch(name)
        kind = copy[1] if copy and copy[1] in COPY_KINDS else None
        args = _rest(cells, MOVED, {} if kind else {"name": name})
        self._rows.add("copy", row | {"kind": kind, "source_memory": source, "target_memory": target, "args": args})

    def _placed(self, cells: dict[str, str], process: int, correlation: int | None) -> dict[str, int | None]:
        """The columns that all device work shares."""
        if "Correlation_ID" in cells:
            correlation = _whole(cells["Correlation_ID"])
        place = {"device": self._device(cells, process, needed=True), "context": _whole(cells.get("Context"))}
        return place | {"stream": self._stream(cells), "correlation": correlation}

    def _add_managed(self, what: str, layout: Layout, cells: dict[str, str], row: dict[str, Any]) -> None:
        row |= {"device": self._device(cells, row["process"]), "address": _address(cells.get("Virtual Address"))}
        said = cells.get("Unified Memory")
        if "page fault" in what:
            processor = "cpu" if "CPU" in what else "gpu"
            pages = _whole(said) if processor == "gpu" else 1
            args = _rest(cells, FAULTED if pages is None or processor == "cpu" else FAULTED | {"Unified Memory"})
            self._rows.add("fault", row | {"processor": processor, "pages": pages, "args": args})
            return
        move = MOVE.fullmatch(what)
        kind = f"UVM_{move[1]}" if move else next((ours for theirs, ours in ACTS if theirs in what.lower()), None)
        if kind is None:
            self.other("unified-memory", row["process"], cells, row["start_ns"])
            return
        size = _size("Unified Memory", layout, cells) if move else None
        if size is None:
            row["cause"] = said
        self._rows.add("migration", row | {"kind": kind, "bytes": size})

    def _add_host_span(self, name: str, cells: dict[str, str], row: dict[str, Any]) -> None:
        caused = CAUSED.fullmatch(name)
        plain, correlation = (caused[1], int(caused[3])) if caused else _numbered(name)
        call = CALL.fullmatch(plain)
        args = _rest(cells, PLACED, {"kernel": caused[2]} if caused else {})
        if call is None:
            self._rows.add("range", row | {"name": name, "kind": "host", "args": args})
            return
        correlation = _whole(cells.get("Correlation_ID")) if "Correlation_ID" in cells else correlation
        kind = "runtime" if call[1] else "driver"
        self._rows.add("api", row | {"name": plain, "kind": kind, "correlation": correlation, "args": args})

    def _count_unread(self, layout: Layout, cells: dict[str, str]) -> None:
        """Counts cells that should hold a number and do not: they are read as null."""
        wrong = [name for name in WHOLES if name in cells and _whole(cells[name]) is None]
        wrong += [name for name in SIZES[2:] if name in cells and _whole(cells[name], MANY) is None]
        wrong += [name for name in SHARED_MEMORY if name in cells and (_size(name, layout, cells) or 0) < 0]
        if "Size" in cells and _size("Size", layout, cells) is None:
            wrong.append("Size")
        for name in wrong:
            meaning = "cells that should hold a number and do not: read as null"
            self._sink.note("no-number", meaning, example=f"{name} {cells[name]}"[:120])

    def _device(self, cells: dict[str, str], process: int, *, needed: bool = False) -> int | None:
        """The number of the device, which nvprof writes behind its name; a padded table cuts both to 15 characters.

        Devices without a number are numbered in the order in which their names appear.
        """
        text = cells.get("Device")
        place = PLACE.fullmatch(text or "")
        if place and int(place[2]) < MANY:
            self.names.setdefault((process, int(place[2])), place[1])
            return int(place[2])
        if text is None:
            if needed:
                meaning = "device work of no stated device: counted as device 0"
                self._sink.note("no-device", meaning, example=cells.get("Name"))
            return 0 if needed else None
        device = self._unnumbered.setdefault(text, len(self._unnumbered))
        meaning = "the device's name is cut before its number: devices are told apart by name alone"
        self._sink.note("cut-device", meaning, example=text)
        self.names.setdefault((process, device), text)
        return device

    def _stream(self, cells: dict[str, str]) -> int:
        stream = _whole(cells.get("Stream"))
        if stream is None:
            meaning = "device work of no stated stream: counted as stream 0"
            self._sink.note("no-stream", meaning, example=cells.get("Name"))
        return stream or 0

    def _write(self, table: str, rows: list[dict[str, Any]]) -> None:
        there = set[str]().union(*rows)
        columns = {name: [row.get(name) for row in rows] for name in TABLES[table].names if name in there}
        self._sink.write(table, columns)


def _numbered(name: str) -> tuple[str, int | None]:
    """The name without the correlation id that a padded table writes behind it, and that id."""
    numbered = NUMBERED.fullmatch(name)
    return (numbered[1], int(numbered[2])) if numbered else (name, None)


def _shape(layout: Layout, cells: dict[str, str]) -> dict[str, int | None]:
    """Grid, block, registers and shared memory of a kernel."""
    units = tuple(layout.units.get(name, "") for name in SHARED_MEMORY)
    return _shape_of(tuple(map(cells.get, SIZES)), tuple(map(cells.get, SHARED_MEMORY)), units)


@lru_cache(maxsize=1 << 14)
def _shape_of(
    sizes: tuple[str | None, ...], memory: tuple[str | None, ...], units: tuple[str, ...]
) -> dict[str, int | None]:
    shape: dict[str, int | None] = {}
    for what, together, apart in (("grid", sizes[0], sizes[2:5]), ("block", sizes[1], sizes[5:8])):
        parted = (together or "").strip("()").split()
        numbers = parted if len(parted) == 3 else apart
        shape |= {f"{what}_{axis}": _whole(number, MANY) for axis, number in zip("xyz", numbers, strict=True)}
    found = [quantity(text, unit, time=False) for text, unit in zip(memory, units, strict=True) if text]
    shared = [size[0] for size in found if size and size[0] >= 0]
    return shape | {"registers": _whole(sizes[8] or sizes[9], MANY), "shared_bytes": sum(shared) if shared else None}


def _size(name: str, layout: Layout, cells: dict[str, str]) -> int | None:
    found = quantity(cells.get(name, ""), layout.units.get(name, ""), time=False)
    return found[0] if found else None


def _memory(cells: dict[str, str], column: str) -> str | None:
    memory = cells.get(column, "").lower()
    return memory if memory in ("pageable", "pinned", "device", "managed", "array") else None


def _whole(text: str | None, limit: int = 2**62) -> int | None:
    return int(text) if text and WHOLE.fullmatch(text) and int(text) < limit else None


def _address(text: str | None) -> int | None:
    try:
        address = int(text or "", 16)
    except ValueError:
        return None
    return address if 0 <= address < 2**63 else None


def _rest(cells: dict[str, str], known: frozenset[str], more: dict[str, str] | None = None) -> str | None:
    """What the row says beside the columns known, as JSON."""
    if not more and known.issuperset(cells):
        return None
    rest = {name: cell for name, cell in cells.items() if name not in known} | (more or {})
    return json.dumps(rest, ensure_ascii=False) if rest else None
