"""AccelProf's `uvm_advisor` log: peaks and sums, then operator groups, their launches, and what each launch touched.

Listed are managed objects, and tensors of more than 1 MiB within them, that were there before the operator began. The
tool numbers launches, operators, objects and tensors from 1; our `launch` counts from 0 as in its other logs.
"""

import re
from typing import Any

from ..store.trace import Facts
from .accelprof_text import NUMBER, PROCESS, SIZE, Kind, Log
from .files import TraceFile
from .rowwise import as_json
from .sink import Sink

__all__ = ["UVM_ADVISOR"]

RULE = re.compile(r"-{80}|={80}")
HEADING = re.compile(
    rf"\[([A-Za-z]{{2,12}})\] +"
    rf"(?:max_size: ({NUMBER}) \(({SIZE})\)|count: ({NUMBER}) *(?:, size: ({NUMBER}) \(({SIZE})\))?)"
)
GROUP = re.compile(
    rf"Op - (.{{0,30}}), op_id: ({NUMBER}), pending_ops: ({NUMBER}), pending_kernels: ({NUMBER}), "
    rf"pending_mem_alloc: ({NUMBER}), pending_ten_alloc: ({NUMBER})(.*)"
)
LAUNCH = re.compile(rf"   Kernel: (.{{0,30}}), kernel_id: ({NUMBER})")
LIST = re.compile(rf"       (Mem|Ten)Alloc \(({NUMBER})\): ((?:{NUMBER}:\({NUMBER}, {NUMBER}\), )*)")
ITEM = re.compile(rf"({NUMBER}):\(({NUMBER}), ({NUMBER})\), ")
CUT = 30
"""The tool prints this much of a name."""

FORMS = {"Mem": ("object", "managed"), "Ten": ("tensor", "tensor")}
LABELS = {
    "Memory": ("", "peak_memory_bytes"),
    "Tensor": ("", "peak_tensor_bytes"),
    "MemMalloc": ("managed_allocations", "managed_allocated_bytes"),
    "MemFree": ("managed_frees", "managed_freed_bytes"),
    "TenMalloc": ("tensor_allocations", "tensor_allocated_bytes"),
    "TenFree": ("tensor_frees", "tensor_freed_bytes"),
    "Op": ("ops", ""),
    "OpGroup": ("op_groups", ""),
}
"""What a heading's count and its bytes are called; empty where it gives none."""


def _begins(_: TraceFile, lines: list[str]) -> bool:
    return len(lines) > 1 and lines[0] == "-" * 80 and lines[1].startswith("[Memory]     max_size: ")


def _read(file: TraceFile, sink: Sink) -> Facts:
    log, reading = Log(sink), _Reading()
    for line in log.lines(file):
        reading.take(log, line)
    reading.flush(log)
    labels = (label for pair in LABELS.values() for label in pair if label)
    log.missing(label for label in labels if label not in reading.labels)
    if reading.incomplete or not reading.headed:
        log.truncated(f"{reading.incomplete} launches without both of their lists")
    _note(log, reading)
    return log.finish(file, "uvm_advisor", {"launches": reading.launches, **reading.labels})


UVM_ADVISOR = Kind("uvm_advisor", _begins, _read)
"""The log `uvm_advisor_opt.log`."""


class _Reading:
    """The place in the log: its operator group and the launch whose lists are being read."""

    def __init__(self) -> None:
        self.labels: dict[str, int | None] = {}
        self.launches = self.incomplete = self.cut = 0
        self.headed = False
        self._group: dict[str, Any] | None = None
        self._launch: dict[str, Any] | None = None
        self._lists: set[str] = set()
        self._known: set[tuple[str, int, int, int]] = set()

    def take(self, log: Log, line: str) -> None:
        """Reads one line."""
        if not line:  # there may be millions, in a packed file of a few kilobytes
            log.unread(line)
        elif RULE.fullmatch(line):
            self.headed |= line[0] == "="
        elif told := LIST.fullmatch(line):
            self._list(log, told, line)
        elif told := LAUNCH.fullmatch(line):
            self.flush(log)
            key = log.number(told[2])
            if not key or self._group is None:
                log.unread(line)
                return
            self._launch = {"process": PROCESS, "launch": key - 1, "kernel": told[1]}
            self.cut += _long(told[1])
        elif told := GROUP.fullmatch(line):
            self.flush(log)
            pending = dict(zip(("ops", "kernels", "mem_alloc", "ten_alloc"), told.group(3, 4, 5, 6), strict=True))
            args: dict[str, Any] = {f"pending_{name}": int(count) for name, count in pending.items()}
            if told[7]:
                args["more"] = told[7]
            self._group = {"op": told[1], "op_id": log.number(told[2]), "args": as_json(args)}
            self.cut += _long(told[1])
        elif not ((told := HEADING.fullmatch(line)) and self._heading(log, told)):
            log.unread(line)

    def flush(self, log: Log) -> None:
        """Hands over the launch that was being read."""
        row, lists = self._launch, self._lists
        self._launch, self._lists = None, set()
        if row is None:
            return
        log.launch(row["launch"])
        self.launches += 1
        self.incomplete += len(lists) < len(FORMS)
        log.rows.add("launch_memory", row | (self._group or {}))

    def _heading(self, log: Log, told: re.Match[str]) -> bool:
        counted, sized = LABELS.get(told[1], ("", ""))
        _, peak, rounded_peak, count, size, rounded_size = told.groups()
        numbers = ((counted, count, None), (sized, peak or size, rounded_peak or rounded_size))
        found = {label: (number, rounded) for label, number, rounded in numbers if number is not None}
        if "" in found or (counted and peak) or self._group is not None or found.keys() & self.labels:
            return False  # only a peak has no count
        self.labels |= {label: log.size(*number) for label, number in found.items()}
        return True

    def _list(self, log: Log, told: re.Match[str], line: str) -> None:
        launch, (granularity, kind) = self._launch, FORMS[told[1]]
        items = ITEM.findall(told[3])
        if launch is None or granularity in self._lists or len(items) != int(told[2]):
            log.unread(line)
            return
        self._lists.add(granularity)
        for item in items:
            key, address, size = (log.number(number) for number in item)
            row = {"granularity": granularity, "object": address, "object_id": key, "object_bytes": size}
            log.rows.add("access", {**launch, **row})
            if key is None or address is None or size is None or (granularity, key, address, size) in self._known:
                continue
            self._known.add((granularity, key, address, size))
            life = {"process": PROCESS, "kind": kind, "address": address, "bytes": size, "args": as_json({"id": key})}
            log.rows.add("allocation", life)


def _long(name: str) -> bool:
    return len(name.encode()) >= CUT


def _note(log: Log, reading: _Reading) -> None:
    labels, sink = reading.labels, log.sink
    log.charged(reading.launches)
    log.capped(labels.get("managed_allocations") or 0, labels.get("tensor_allocations") or 0)
    if reading.launches:
        meaning = (
            "launches are charged to the outermost operator that ended next, in which they need not have been "
            "launched: those outside any operator are lumped into the one that follows"
        )
        sink.note("operator-by-order", meaning, count=reading.launches)
        meaning = (
            "launches whose lists leave out objects and tensors allocated within the operator, tensors of 1 MiB or "
            "less, and memory that is not managed: working sets cannot be had from them; launches that touched "
            "nothing else are not listed"
        )
        sink.note("earlier-objects-only", meaning, count=reading.launches)
    if reading.cut:
        sink.note("cut-name", f"names of {CUT} bytes, at which the tool cuts them", count=reading.cut)
