"""JSON of rocprofv3 (AMD), `*_results.json`: kernels, copies, calls, markers, memory and counters of processes.

The descriptions of code objects and kernel symbols are read for names; the labels tell how many there were.

The file is gone through once for what describes a process, wherever that stands, and once for each group of records.
In memory are a window of it, the names of kernels, the texts of markers and the blocks of memory not released yet.
"""

import re
from collections.abc import Callable, Mapping
from contextlib import closing, suppress
from itertools import count
from typing import Any

from ...store.errors import UnreadableFile
from ...store.trace import Facts
from ..files import TraceFile
from ..json_walk import CutShortError, NotJsonError, Walk
from ..rocprof_json import members, note_oddities, refusal
from ..rocprof_rows import Rows, integer, text
from ..rocprofv3_records import COUNTED, NAMES, Recording
from ..sink import Sink

__all__ = ["VERSION", "read", "recognises"]

VERSION = 7

TOOL = "rocprofiler-sdk-tool"
BEGINNING = re.compile(rb'\s*\{\s*"rocprofiler-sdk-tool"\s*:\s*\[')
GROUPS = ("buffer_records", "callback_records")
"""Members that hold the records, in the order in which they are read."""

IDENTITIES = frozenset({"process", "device"})
"""Tables that hold no event."""

OF_SYMBOL = ("kernel_id", "arch_vgpr_count", "accum_vgpr_count", "sgpr_count")

Record = Mapping[str, Any]
Take = Callable[[Walk, str, str | None], Any]
"""What is to be made of a member of a process, or of a section of one of the `GROUPS`."""


def recognises(file: TraceFile) -> bool:
    """Whether it begins as rocprofv3's JSON does."""
    return BEGINNING.match(file.head) is not None


def read(file: TraceFile, sink: Sink) -> Facts:
    """Hands every event to the sink and returns the facts; `UnreadableFile` where the JSON is damaged.

    Of a file that is cut short what comes before its end is read, if that holds any record.
    """
    rows = Rows(sink)
    try:
        labels, hosts = _read(file, rows)
    except NotJsonError as fault:
        raise refusal(file, fault, lambda walk: _go(walk, _pass_over)) from fault
    return Facts(
        format="rocprofv3_json",
        producer="rocprofv3",
        host=next(filter(None, hosts), None),
        clock="boottime",
        labels=labels,
    )


def _read(file: TraceFile, rows: Rows) -> tuple[dict[str, str], list[str | None]]:
    """Writes all records; labels, and the names of the hosts."""
    with closing(file.blocks()) as blocks:
        walk, described = Walk(blocks, checks=True, mends=True), _Described()
        found = [tool for tool in _go(walk, described.take) if isinstance(tool, dict)]
    tools = [Recording(rows, tool) for tool in found]
    for group in (group for group in GROUPS if group in described.filled):
        lists = {number: tool for tool in tools for number in tool.lists(group)}
        with closing(file.blocks()) as blocks:
            again = Walk(blocks, mends=True)
            _go(again, _Records(group, lists).take)
        walk.invalid |= again.invalid
        walk.repeated += again.repeated
    note_oddities(walk, rows.sink)
    labels: dict[str, str] = {}
    for tool in tools:
        labels |= tool.finish()
    rows.close()
    if walk.cut:
        _tell_cut(file, walk.place, rows.sink)
    return labels, [text(members(members(tool, "metadata"), "node").get("hostname")) for tool in found]


def _tell_cut(file: TraceFile, end: int, sink: Sink) -> None:
    if not sink.rows.keys() - IDENTITIES:
        fault = f"{file.path}: JSON that is cut off at byte {end}, before the first record"
        raise UnreadableFile(fault, "copy the file again, or record it again")
    if not file.damage:  # which ingest notes by itself
        meaning = "the file ends early: events after that point are missing"
        sink.note("truncated", meaning, example=f"JSON that ends at byte {end}")


def _go(walk: Walk, take: Take) -> list[Any]:
    """Goes through the whole file: for each process what `take` makes of its members, by their names."""
    tools: list[Any] = []
    with suppress(CutShortError):
        if not walk.opens(b"{"):
            walk.pass_over()
        else:
            for name in walk.names():
                if name == TOOL:
                    tools = []
                if name == TOOL and walk.opens(b"["):
                    tools += [_go_through(walk, take) for _ in walk.items()]
                else:
                    walk.pass_over()
        walk.finish()
    return tools


def _pass_over(walk: Walk, _name: str, _section: str | None) -> None:
    walk.pass_over()


def _go_through(walk: Walk, take: Take) -> dict[str, Any] | None:
    """Goes through one process, or what there is of it."""
    if not walk.opens(b"{"):
        walk.pass_over()
        return None
    found: dict[str, Any] = {}
    with suppress(CutShortError):
        for name in walk.names():
            if name in GROUPS and walk.opens(b"{"):
                found[name] = sections = dict[str, Any]()
                for section in walk.names():
                    sections[section] = take(walk, name, section)
            else:
                found[name] = take(walk, name, None)
    return found


class _Described:
    """Takes what describes a process; of a list of records, its number among all of them."""

    def __init__(self) -> None:
        self._numbers = count()
        self.filled: set[str] = set()
        """The groups that hold any records."""

    def take(self, walk: Walk, name: str, section: str | None) -> Any:
        if section is not None:
            if walk.opens(b"["):
                self.filled |= {name for _ in walk.runs()}
                return next(self._numbers)
        elif name in ("metadata", "agents", "counters"):
            return walk.take()
        elif name == "strings" and walk.opens(b"{"):
            return {kind: self._strings(walk, kind) for kind in walk.names()}
        elif name in COUNTED and walk.opens(b"["):
            kept: tuple[str, ...] = (*NAMES, *OF_SYMBOL) if name == "kernel_symbols" else ()
            return [_part(one, kept) for batch in walk.batches() for one in batch]
        return walk.pass_over()

    def _strings(self, walk: Walk, kind: str) -> Any:
        if kind == "marker_api" and walk.opens(b"["):
            parts = (_part(one, ("key", "value")) or {} for batch in walk.batches() for one in batch)
            return {integer(one.get("key")): text(one.get("value")) for one in parts}
        return walk.take() if kind == "buffer_records" else walk.pass_over()


def _part(record: Any, names: tuple[str, ...]) -> Record | None:
    """The members of those names; None where there are none."""
    return {name: record[name] for name in names if name in record} or None if isinstance(record, dict) else None


class _Records:
    """Reads the lists of records of one group, by their number each into its process."""

    def __init__(self, group: str, lists: Mapping[int, Recording]) -> None:
        self._group, self._lists, self._numbers = group, lists, count()

    def take(self, walk: Walk, name: str, section: str | None) -> None:
        if section is None or not walk.opens(b"["):
            walk.pass_over()
            return
        tool = self._lists.get(next(self._numbers))
        if name != self._group:
            for _ in walk.runs():
                pass
            return
        for batch in walk.batches():
            if tool is not None:
                tool.read(name, section, batch)
