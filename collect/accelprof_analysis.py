"""AccelProf's `app_analysis` log: sums over tensors and memory, then seven lines per launch.

`Alloc Size` is what is still allocated at the end, not what was allocated in all: the tool subtracts what is freed.
"""

import re
from typing import Any

from ..store.trace import Facts
from .accelprof_text import NUMBER, PROCESS, SIZE, Kind, Log
from .files import TraceFile
from .sink import Sink

__all__ = ["APP_ANALYSIS"]

LAUNCH = re.compile(rf"Kernel ID: ({NUMBER})")
NAME = re.compile(r"  Kernel Name: (.*)")
FIELD = re.compile(rf"  (Access Count|(?:Tensor|Memory) (?:Working Set|Footprint) Size): ({NUMBER})(?: \(({SIZE})\))?")
SECTION = re.compile(r"(Tensor|Memory|Kernel) Stats:")
SUM = re.compile(rf"  (Alloc|Free) (Count|Size): ({NUMBER})")
SUMS = [
    f"{what}_{done}_{of}" for what in ("tensor", "memory") for done in ("alloc", "free") for of in ("count", "size")
]
COLUMNS = {
    "Access Count": "accesses",
    "Tensor Working Set Size": "tensor_working_set_bytes",
    "Memory Working Set Size": "memory_working_set_bytes",
    "Tensor Footprint Size": "tensor_footprint_bytes",
    "Memory Footprint Size": "memory_footprint_bytes",
}


def _begins(_: TraceFile, lines: list[str]) -> bool:
    return lines[:1] == ["Tensor Stats:"] and len(lines) > 1 and lines[1].startswith("  Alloc Count: ")


def _read(file: TraceFile, sink: Sink) -> Facts:
    log, reading = Log(sink), _Reading()
    for line in log.lines(file):
        reading.take(log, line)
    reading.flush(log)
    log.missing(name for name in SUMS if name not in reading.sums)
    if not reading.section.startswith("Kernel") or reading.incomplete:
        log.truncated(f"{reading.incomplete} launches without all their lines")
    log.charged(reading.touching)
    sums = reading.sums
    log.capped(sums.get("memory_alloc_count") or 0, sums.get("tensor_alloc_count") or 0)
    labels: dict[str, int | None] = {"launches": reading.launches}
    for what in ("tensor", "memory"):
        live, freed = sums.get(f"{what}_alloc_size"), sums.get(f"{what}_free_size")
        labels[f"{what}_allocations"] = sums.get(f"{what}_alloc_count")
        labels[f"{what}_frees"] = sums.get(f"{what}_free_count")
        labels[f"{what}_live_bytes"] = live
        labels[f"{what}_allocated_bytes"] = None if live is None or freed is None else live + freed
    return log.finish(file, "app_analysis", labels)


APP_ANALYSIS = Kind("app_analysis", _begins, _read)
"""The log `<app>_app_analysis.log`, from any of the three back ends: they print the same."""


class _Reading:
    """The place in the log: its section and the launch whose lines are being read."""

    def __init__(self) -> None:
        self.section = ""
        self.sections: set[str] = set()
        self.sums: dict[str, int | None] = {}
        self.launches = self.touching = self.incomplete = 0
        self._launch: dict[str, Any] | None = None

    def take(self, log: Log, line: str) -> None:
        """Reads one line."""
        if not line:  # there may be millions, in a packed file of a few kilobytes
            log.unread(line)
        elif self._launch is not None and (told := NAME.fullmatch(line)) and "kernel" not in self._launch:
            self._launch["kernel"] = told[1]
        elif self._launch is not None and (told := FIELD.fullmatch(line)) and COLUMNS[told[1]] not in self._launch:
            self._launch[COLUMNS[told[1]]] = log.size(told[2], told[3])
        elif told := LAUNCH.fullmatch(line):
            self.flush(log)
            launch = log.number(told[1])
            self._launch = None if launch is None else {"launch": launch}
        elif (told := SECTION.fullmatch(line)) and told[1] not in self.sections:
            self.flush(log)
            self.section = told[1]
            self.sections.add(told[1])
        elif not ((told := SUM.fullmatch(line)) and self._sum(log, told)):
            log.unread(line)

    def _sum(self, log: Log, told: re.Match[str]) -> bool:
        name = f"{self.section}_{told[1]}_{told[2]}".lower()
        if name not in SUMS or name in self.sums:
            return False
        self.sums[name] = log.number(told[3])
        return True

    def flush(self, log: Log) -> None:
        """Hands over the launch that was being read."""
        row, self._launch = self._launch, None
        if row is None:
            return
        log.launch(row["launch"])
        self.launches += 1
        self.touching += bool(row.get("accesses"))
        self.incomplete += not {"kernel", *COLUMNS.values()} <= row.keys()
        log.rows.add("launch_memory", {"process": PROCESS, **row})
