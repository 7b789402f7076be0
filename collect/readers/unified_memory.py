"""Sums of managed memory by rocprofiler-systems (AMD), `unified_memory-<pid>.json`: page faults and moves of a run.

There are no events in it: each sum is a row of `total`. The same run's rocpd database has the events. The tool writes
all members always (its validator wants them all): one that is not there is damage.
"""

import json
import re
from collections.abc import Iterable, Mapping
from decimal import Decimal
from typing import Any

from ...store.trace import Facts
from ..files import TraceFile
from ..rocprof_json import document, elements, members
from ..rocprof_rows import Rows, integer, label, text
from ..sink import Sink

__all__ = ["VERSION", "read", "recognises"]

VERSION = 2

BEGINNING = re.compile(rb'\s*\{\s*"devices"\s*:\s*\[\s*(\{\s*"device_id"\s*:|\])')
ALWAYS = b'"total_page_faults"'
PROCESS = 0
"""The content names no process."""

LONGEST = 300
FILE = ("devices", "summary")
SUMMARY = ("total_page_faults", "xnack_enabled", "migration_triggers")
CAUSES = ("gpu_page_fault", "cpu_page_fault", "prefetch", "ttm_eviction", "unknown")
DEVICE = ("device_id", "device_name", "migrations")
WAYS = {"host_to_device": "HtoD", "device_to_host": "DtoH", "device_to_device": "DtoD"}
SIZES = ("avg_size_bytes", "min_size_bytes", "max_size_bytes", "total_size_bytes", "migration_throughput_gbps")
"""What is told of each direction beside the count of moves and their time."""

FAULTS, MOVES, TRIGGERS = "page faults", "page moves", "triggers of page moves"
"""Kinds of sums."""


def recognises(file: TraceFile) -> bool:
    """Whether it begins with devices, or an empty list of them, and counts page faults."""
    return BEGINNING.match(file.head) is not None and ALWAYS in file.head


def read(file: TraceFile, sink: Sink) -> Facts:
    """Hands every sum to the sink and returns the facts; `UnreadableFile` where the JSON is not whole."""
    value = document(file, sink)
    sums = _Sums(Rows(sink))
    sums.keep("file", value, FILE)
    summary = sums.wanted(value, "summary", SUMMARY)
    sums.keep("summary", summary, SUMMARY)
    sums.add(summary, FAULTS, FAULTS, count=summary.get("total_page_faults"))
    for name, count in sums.wanted(summary, "migration_triggers", CAUSES).items():
        sums.add({name: count}, name, TRIGGERS, count=count)
    for device in elements(value, "devices"):
        sums.device({"device": device})
    return sums.finish(summary)


class _Sums:
    """The sums on their way to the sink."""

    def __init__(self, rows: Rows) -> None:
        self._rows = rows
        self._count = 0

    def wanted(self, value: Any, name: str, names: Iterable[str]) -> dict[str, Any]:
        """The object that a member of the value is; those of the names that it has not are noted."""
        found = members(value, name)
        for one in names:
            if one not in found:
                self._missing(f"{name}: {one}")
        return found

    def keep(self, kind: str, value: Mapping[str, Any], known: Iterable[str]) -> None:
        """Keeps in `other` what an object has beside the members that are known."""
        rest = {name: value[name] for name in value if name not in known}
        if rest:
            self._rows.other(kind, rest)

    def device(self, value: Any) -> None:
        """Writes what one device says: its name, and the moves by direction."""
        said = self.wanted(value, "device", DEVICE)
        self.keep("device", said, DEVICE)
        number = self._number(said.get("device_id"), "device_id", 1 << 31)
        name = text(said.get("device_name"))
        if name is None and "device_name" in said:
            self._missing("device: device_name")
        if number is not None:
            self._rows.describe("device", process=PROCESS, device=number, name=name, vendor="amd")
        moves = self.wanted(said, "migrations", WAYS)
        for way in moves:
            sums = self.wanted(moves, way, SIZES)
            told = {name: _plain(value) for name, value in sums.items() if name not in ("count", "total_time_ns")}
            for name in SIZES:
                if name in sums and type(sums[name]) not in (int, Decimal):
                    self._rows.tell("no-number", f"{way}: {name}"[:120])
            time = self._number(sums.get("total_time_ns"), f"{way}: total_time_ns")
            named = {"device": number, "time_ns": time, "args": json.dumps(told)}
            self.add(sums, WAYS.get(way, way), MOVES, count=sums.get("count"), **named)

    def add(self, source: Mapping[str, Any], name: str, kind: str, *, count: Any, **more: Any) -> None:
        """Writes a sum; one without a number is counted."""
        number = self._number(count, f"{kind}: {name}")
        row = {"process": PROCESS, "id": self._count, "depth": 0, "name": name, "kind": kind, "count": number}
        self._rows.add("total", source, **row, **more)
        self._count += 1

    def finish(self, summary: Mapping[str, Any]) -> Facts:
        """Writes out what is left; the facts."""
        meaning = "rows of printed summaries: they hold no events, and are kept as they stand"
        self._rows.sink.note("summary", meaning, count=self._count, example="write a rocpd database beside it")
        xnack = summary.get("xnack_enabled")
        if "xnack_enabled" in summary and not isinstance(xnack, bool):
            self._missing("summary: xnack_enabled")
        self._rows.close()
        labels = {"xnack": str(xnack).lower()} if isinstance(xnack, bool) else {}
        return Facts(format="unified_memory", producer="rocprofiler-systems", labels=labels)

    def _number(self, value: Any, what: str, end: int = 1 << 62) -> int | None:
        """The number, None where it is none or beyond what can be."""
        number = integer(value)
        if number is not None and 0 <= number < end:
            return number
        self._rows.tell("no-number", what[:120])
        return None

    def _missing(self, what: str) -> None:
        meaning = "members that the tool always writes and that are not there, or hold something else: left out"
        self._rows.sink.note("missing-member", meaning, example=what[:120])


def _plain(value: Any) -> Any:
    """A whole number or a text as it is; anything else as JSON in a text, a number with a fraction exact."""
    return value if value is None or isinstance(value, int | str) else label(value)[:LONGEST]
