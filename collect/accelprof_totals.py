"""AccelProf's `event_trace` lists: bytes allocated after each event, one number a line.

What is counted, and of which device, stands in the file's name alone. There are no times: the ordinal of the event
stands for it. With a device in the name, the list of memory has a line for each tensor event too.
"""

import re

from ..store.trace import Facts
from .accelprof_text import PROCESS, Kind, Log
from .files import TraceFile
from .sink import Sink

__all__ = ["EVENT_TRACE"]

VALUE = re.compile(r"-?[0-9]{1,19}")
NAMED = re.compile(r"(?:.*[^A-Za-z0-9])?(memory|tensor)_gpu(?:_([0-9]{1,4}))?(?:[._-].*)?\.txt(?:\.(?:gz|zst|bz2|xz))?")
COUNTERS = {"memory": "device_memory_bytes", "tensor": "tensor_bytes"}
EXACT = 1 << 53
"""Whole numbers above this are not exact in the column of values."""


def _begins(file: TraceFile, lines: list[str]) -> bool:
    return bool(lines) and NAMED.fullmatch(file.path.name) is not None and all(map(VALUE.fullmatch, lines))


def _read(file: TraceFile, sink: Sink) -> Facts:
    log, named = Log(sink), NAMED.fullmatch(file.path.name)
    what, device = (named[1], named[2]) if named else ("memory", None)
    row = {"process": PROCESS, "device": None if device is None else int(device), "unit": "bytes"}
    ordinal = peak = below = 0
    for line in log.lines(file):
        value = int(line) if VALUE.fullmatch(line) else EXACT
        if abs(value) >= EXACT:
            log.unread(line)
            continue
        log.rows.add("counter", {**row, "name": COUNTERS[what], "time_ns": ordinal, "value": float(value)})
        peak, below, ordinal = max(peak, value), below + (value < 0), ordinal + 1
    sink.note("ordinal-times", "samples without a time: the ordinal of the event stands for it", count=ordinal)
    if below:
        meaning = (
            "totals below zero (memory freed that was not seen allocated): all totals are too low by an unknown number"
        )
        sink.note("negative-total", meaning, count=below)
    if device is not None and what == "memory":
        meaning = "samples of events of memory and of tensors: ordinals are not those of the list of tensors"
        sink.note("mixed-events", meaning, count=ordinal)
    return log.finish(file, "event_trace", {f"peak_{COUNTERS[what]}": peak, "device": device}, clock="ordinal")


EVENT_TRACE = Kind("event_trace", _begins, _read)
"""The lists `memory_gpu.txt` and `tensor_gpu.txt`, or those of each device: `memory_gpu_<d>.txt`."""
