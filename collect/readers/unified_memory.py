"""Sums of managed memory by rocprofiler-systems (AMD), `unified_memory-<pid>.json`: page faults and moves of a run.

There are no events in it: each sum is a row of `total`. The same run's rocpd database has the events.
"""

import json
import re
from collections.abc import Mapping
from typing import Any

from ...store.trace import Facts
from ..files import TraceFile
from ..rocprof_json import document, members, records
from ..rocprof_rows import Rows, integer, text
from ..sink import Sink

__all__ = ["VERSION", "read", "recognises"]

VERSION = 1

BEGINNING = re.compile(rb'\s*\{\s*"devices"\s*:\s*\[\s*(\{\s*"device_id"\s*:|\])')
ALWAYS = b'"total_page_faults"'
PROCESS = 0
"""The content names no process."""

LONGEST = 300
WAYS = {"host_to_device": "HtoD", "device_to_host": "DtoH", "device_to_device": "DtoD"}
FAULTS, MOVES, TRIGGERS = "page faults", "page moves", "triggers of page moves"
"""Kinds of sums."""


def recognises(file: TraceFile) -> bool:
    """Whether it begins with devices, or an empty list of them, and counts page faults."""
    return BEGINNING.match(file.head) is not None and ALWAYS in file.head


def read(file: TraceFile, sink: Sink) -> Facts:
    """Hands every sum to the sink and returns the facts; `UnreadableFile` where the JSON is not whole."""
    value = document(file, sink)
    sums = _Sums(Rows(sink))
    summary = members(value, "summary")
    sums.add(summary, FAULTS, FAULTS, count=summary.get("total_page_faults"))
    for name, count in members(summary, "migration_triggers").items():
        sums.add({name: count}, name, TRIGGERS, count=count)
    for device in records(value, "devices"):
        sums.device(device)
    return sums.finish(summary.get("xnack_enabled"))


class _Sums:
    """The sums on their way to the sink."""

    def __init__(self, rows: Rows) -> None:
        self._rows = rows
        self._count = 0

    def device(self, said: Mapping[str, Any]) -> None:
        """Writes what one device says: its name, and the moves by direction that there were."""
        number = integer(said.get("device_id"))
        if number is not None and 0 <= number < 1 << 31:
            self._rows.describe(
                "device", process=PROCESS, device=number, name=text(said.get("device_name")), vendor="amd"
            )
        moves = members(said, "migrations")
        for way in moves:
            sums = members(moves, way)
            told = {name: _plain(value) for name, value in sums.items() if name not in ("count", "total_time_ns")}
            named = {"device": number, "time_ns": integer(sums.get("total_time_ns")), "args": json.dumps(told)}
            self.add(sums, WAYS.get(way, way), MOVES, count=sums.get("count"), **named)

    def add(self, source: Mapping[str, Any], name: str, kind: str, *, count: Any, **more: Any) -> None:
        """Writes a sum; one without a number is counted."""
        number = integer(count)
        if number is None or not 0 <= number < 1 << 62:
            self._rows.tell("no-number", f"{kind}: {name}"[:120])
            number = None
        row = {"process": PROCESS, "id": self._count, "depth": 0, "name": name, "kind": kind, "count": number}
        self._rows.add("total", source, **row, **more)
        self._count += 1

    def finish(self, xnack: Any) -> Facts:
        """Writes out what is left; the facts."""
        meaning = "rows of printed summaries: they hold no events, and are kept as they stand"
        self._rows.sink.note("summary", meaning, count=self._count, example="write a rocpd database beside it")
        self._rows.close()
        labels = {"xnack": str(xnack).lower()} if isinstance(xnack, bool) else {}
        return Facts(format="unified_memory", producer="rocprofiler-systems", labels=labels)


def _plain(value: Any) -> Any:
    """A whole number or a text as it is; anything else as text, a number with a fraction exact."""
    return value if isinstance(value, int | str) else str(value)[:LONGEST]
