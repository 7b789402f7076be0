"""AccelProf's `app_metric` log: allocations, one line per launch, invocations per name, and a summary.

The summary is computed anew from the rows, because its counters may hold what they were never set from, and because
the bytes of the peak of memory are misprinted. The bytes that a launch touched are a 32-bit number in the tool.
"""

import math
import re
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass, field
from itertools import accumulate

from ..store.trace import Facts
from .accelprof_text import NUMBER, PROCESS, SIZE, Kind, Log, bounds
from .files import TraceFile
from .rowwise import as_json
from .sink import Sink

__all__ = ["APP_METRIC"]

ALLOCATION = re.compile(rf"Alloc\((-?[0-9]{{1,10}})\) ([0-9]{{1,10}}):\t({NUMBER}) ({NUMBER}) \(({SIZE})\)")
LAUNCH = re.compile(
    rf"Kernel ([0-9]{{1,10}}) \(refs=({NUMBER}), objs=([0-9]{{1,10}}), obj_size=([0-9]{{1,10}}), ({SIZE})\):\t(.*)"
)
INVOCATIONS = re.compile(r"InvCount=([0-9]{1,10})\t(.*)")
COUNT = r"[0-9]{1,20}(?:\.[0-9]{2} [KMBT])?"
SUMMARY = re.compile(rf"([A-Z][a-z ]{{1,40}}): ({NUMBER})B?(?: \(({SIZE}|{COUNT})\))?")
PEAK = "Maximum memory usage"
NAMES = (
    "Number of allocations",
    "Number of kernels",
    PEAK,
    "Maximum objects per kernel",
    "Average objects per kernel",
    "Total objects per kernel",
    "Maximum object size per kernel",
    "Average object size per kernel",
    "Maximum memory accesses per kernel",
    "Average memory accesses per kernel",
    "Total memory accesses",
)
"""The sums of the summary."""

BUSIEST = re.compile(rf"Maximum memory accesses kernel: .*\(Kernel ID: {NUMBER}\)")
PER_PAGE = re.compile(r"Average accesses per page: ([0-9.e+-]{1,24}|-?nan|-?inf)")
RULE = "-" * 30
WRAP = 1 << 32
MANAGED, HOST_MAPPED, HOST_PINNED = 0x2, 0x4, 0x8  # Sanitizer_ResourceMemoryFlags; managed memory comes as 0x6


@dataclass
class _Metric:
    """What the log says, line by line."""

    sizes: list[int] = field(default_factory=list[int])
    launches: list[tuple[int, int, int, int, str]] = field(default_factory=list[tuple[int, int, int, int, str]])
    invocations: dict[str, int] = field(default_factory=dict[str, int])
    summary: dict[str, int] = field(default_factory=dict[str, int])
    peak_text: str = ""
    per_page: float | None = None


def _begins(_: TraceFile, lines: list[str]) -> bool:
    filled = [line for line in lines[:5] if line]
    if not filled:
        return False
    if ALLOCATION.fullmatch(filled[0]) or LAUNCH.fullmatch(filled[0]):
        return True
    return filled[0] == "Number of allocations: 0" and filled[1:2] == ["Number of kernels: 0"]


def _read(file: TraceFile, sink: Sink) -> Facts:
    log, found = Log(sink), _Metric()
    for line in log.lines(file):
        if line and line != RULE and not _take(log, found, line):
            log.unread(line)
    if found.per_page is None:
        log.truncated("before `Average accesses per page`, the last line of a whole log")
    else:
        log.missing(name for name in NAMES if name not in found.summary)
    _write_launches(log, found)
    accesses = sum(refs for _, refs, _, _, _ in found.launches)
    log.charged(sum(refs > 0 for _, refs, _, _, _ in found.launches))
    log.capped(len(found.sizes))
    if log.whole:
        _check(log, found, accesses)
    peak, error = _peak(log, found, accesses)
    labels = {
        "allocations": len(found.sizes),
        "allocated_bytes": sum(found.sizes),
        "launches": len(found.launches),
        "accesses": accesses,
        "peak_memory_bytes": peak,
        "peak_memory_error_bytes": error,
    }
    return log.finish(file, "app_metric", labels)


APP_METRIC = Kind("app_metric", _begins, _read)
"""The log `<app>_<time>.log`."""


def _take(log: Log, found: _Metric, line: str) -> bool:
    """Reads one line; whether it is one of the log's."""
    if told := LAUNCH.fullmatch(line):
        accesses, size = log.number(told[2]), log.size(told[4], told[5])
        if accesses is None or size is None:
            return False
        found.launches.append((int(told[1]), accesses, int(told[3]), size, told[6]))
        return True
    if told := ALLOCATION.fullmatch(line):
        return _allocated(log, found, told)
    if told := INVOCATIONS.fullmatch(line):
        if told[2] in found.invocations:
            return False
        found.invocations[told[2]] = int(told[1])
    elif told := PER_PAGE.fullmatch(line):
        if found.per_page is not None:
            return False
        try:
            found.per_page = float(told[1])
        except ValueError:
            return False
    elif told := SUMMARY.fullmatch(line):
        if told[1] not in NAMES or told[1] in found.summary or (told[1] == PEAK) > bool(told[3]):
            return False  # none of the sums, or one that has been, or the peak without the rounded size that tells it
        found.summary[told[1]] = int(told[2])
        if told[1] == PEAK:
            found.peak_text = told[3]
    else:
        return BUSIEST.fullmatch(line) is not None
    return True


def _allocated(log: Log, found: _Metric, told: re.Match[str]) -> bool:
    flags, address, size = int(told[1]), log.number(told[3]), log.size(told[4], told[5])
    if size is None:
        return False
    found.sizes.append(size)
    kind = "device"
    if flags & MANAGED:
        kind = "managed"
    elif flags & HOST_PINNED:
        kind = "pinned"
    elif flags & HOST_MAPPED:
        kind = "host"
    args = as_json({"ordinal": int(told[2]), "flags": flags})
    row = {"process": PROCESS, "kind": kind, "address": address, "bytes": size, "args": args}
    log.rows.add("allocation", row)
    return True


def _write_launches(log: Log, found: _Metric) -> None:
    most = [0, *accumulate(sorted(found.sizes, reverse=True))]
    bound = _upper_peak(found)
    for launch, accesses, objects, size, name in found.launches:
        log.launch(launch)
        known, args = _unwrapped(log, found, size, objects, min(most[min(objects, len(most) - 1)], bound)), None
        if known is None:
            args = as_json({"touched_bytes_modulo_2_32": size})
            meaning = (
                "launches that may have touched 4 GiB or more: the tool keeps 32 bits of that number, so it is left "
                "out, and stands in `args`"
            )
            log.sink.note("wrapped-bytes", meaning, example=f"launch {launch}: {size} of {objects} objects")
        row = {"process": PROCESS, "launch": launch, "kernel": name, "accesses": accesses, "objects": objects}
        log.rows.add("launch_memory", {**row, "memory_working_set_bytes": known, "args": args})


def _unwrapped(log: Log, found: _Metric, size: int, objects: int, most: int) -> int | None:
    """The bytes touched before they were cut to 32 bits; None when more than one number is possible."""
    if log.whole and most < WRAP:
        return size
    if log.whole and objects == 1:
        fitting = {s for s in found.sizes if s % WRAP == size}
        return fitting.pop() if len(fitting) == 1 else None
    return None


def _upper_peak(found: _Metric) -> int:
    """The most bytes that can have been allocated at once."""
    total = sum(found.sizes)
    printed = bounds(found.peak_text)
    return min(total, math.ceil(printed[1])) if printed and _possible(found, printed) else total


def _possible(found: _Metric, interval: tuple[float, float]) -> bool:
    return interval[0] <= sum(found.sizes) and interval[1] >= max(found.sizes, default=0)


def _peak(log: Log, found: _Metric, accesses: int) -> tuple[int | None, int | None]:
    """The peak of allocated memory and how far off it may be: from the rounded size and the accesses per page."""
    interval = bounds(found.peak_text)
    if interval is None:
        return None, None
    printed = found.summary.get(PEAK, 0)
    if interval[0] <= printed <= interval[1] and printed != accesses:
        return printed, 0
    meaning = (
        "the bytes of the maximum memory usage are the total of accesses: the peak is taken from the rounded size "
        "and the accesses per page, as exactly as they tell it"
    )
    log.sink.note("misprinted-peak", meaning, example=f"{printed}B ({found.peak_text})")
    if log.whole and not _possible(found, interval):
        meaning = (
            "the peak of memory is not between the largest allocation and their sum (a counter never set): unknown"
        )
        log.sink.note("impossible-peak", meaning, example=found.peak_text)
        return None, None
    low, high = interval
    if accesses and found.per_page is not None:
        near, error = _by_pages(accesses, found.per_page)
        if low <= near + error and near - error <= high:
            low, high = max(low, near - error), min(high, near + error)
        else:
            _wrong(log, f"Average accesses per page: {found.per_page}, of a peak of {found.peak_text}")
    total = sum(found.sizes)
    if log.whole and low <= total <= high and total - min(found.sizes, default=0) < low:
        return total, 0  # nothing can have been freed before the peak: it is the sum of all allocations
    return round((low + high) / 2), math.ceil((high - low) / 2)


def _by_pages(accesses: int, per_page: float) -> tuple[float, float]:
    """The peak by the accesses per page of it, and how far off that may be; not a number where it cannot be had."""
    if not 0 < per_page < math.inf:
        return math.nan, 0.0
    near = accesses * 4096 / per_page
    # Six digits are printed: half of the last one, and 32-bit arithmetic before that.
    return near, near * (0.5 * 10.0 ** (math.floor(math.log10(per_page)) - 5) / per_page + 4e-7)


def _check(log: Log, found: _Metric, accesses: int) -> None:
    """Notes what the summary says otherwise than the rows do."""
    for name, told, computed in _contradictions(found, accesses):
        _wrong(log, f"{name}: {told}, by the rows {computed}")


def _wrong(log: Log, example: str) -> None:
    meaning = (
        "numbers of the log's summary that its rows, or the peak of memory, contradict (counters never set to zero): "
        "the rows hold"
    )
    log.sink.note("wrong-summary", meaning, example=example)


def _contradictions(found: _Metric, accesses: int) -> Iterator[tuple[str, int, int]]:
    launches = found.launches
    count = len(launches) or 1
    objects, sizes = sum(row[2] for row in launches), sum(row[3] for row in launches)
    expected = {
        "Number of allocations": len(found.sizes),
        "Number of kernels": len(launches),
        "Maximum objects per kernel": max((row[2] for row in launches), default=0),
        "Average objects per kernel": objects // count,
        "Total objects per kernel": objects,
        "Maximum object size per kernel": max((row[3] for row in launches), default=0),
        "Average object size per kernel": sizes // count,
        "Maximum memory accesses per kernel": max((row[1] for row in launches), default=0),
        "Average memory accesses per kernel": accesses // count,
        "Total memory accesses": accesses,
    }
    for name, computed in expected.items():
        if (told := found.summary.get(name, computed)) != computed:
            yield name, told, computed
    counted = Counter(row[4] for row in launches)
    for name in sorted(counted.keys() | found.invocations):
        if counted[name] != found.invocations.get(name, 0):
            yield f"InvCount of {name[:80]}", found.invocations.get(name, 0), counted[name]
