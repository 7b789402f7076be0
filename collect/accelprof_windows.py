"""AccelProf's `time_hotness_cpu` matrix: the first row numbers the blocks, each further one counts a window's accesses.

A window is a million accesses. A block's number is its address shifted by 20 bits, but the tool numbers only every
second MiB of an object: what falls on the others is in no column. How much that is, each window's sum tells.
"""

import re
from itertools import pairwise

from ..store.trace import Facts
from .accelprof_text import PROCESS, Kind, Log
from .files import HEAD, TraceFile
from .sink import Sink

__all__ = ["TIME_HOTNESS"]

ROW = re.compile(r"(?:[0-9]{1,20} )+")
SHIFT = 20
WINDOW = 1_000_000
LEAST_BLOCK = (1 << 32) >> SHIFT
"""No device memory of a 64-bit program lies lower; tells the matrix from others."""


def _begins(file: TraceFile, lines: list[str]) -> bool:
    goes_on = len(file.head) >= HEAD
    if not lines and goes_on:  # a row of more blocks than are looked at: they are of more than 50 GB
        lines = [file.head[: file.head.rfind(b" ") + 1].decode("ascii", "replace")]
    if len(lines) < (1 if goes_on else 2) or not all(ROW.fullmatch(line) for line in lines):
        return False
    blocks, *windows = ([int(number) for number in line.split()] for line in lines)
    ascending = all(a < b for a, b in pairwise(blocks))
    if not ascending or blocks[0] < LEAST_BLOCK or blocks[-1] >= 1 << 44:
        return False
    return all(len(window) == len(blocks) and sum(window) <= WINDOW for window in windows)


def _read(file: TraceFile, sink: Sink) -> Facts:
    log = Log(sink)
    blocks: list[int] = []
    count = lost = 0
    for line in log.lines(file):
        numbers = [int(number) for number in line.split()] if ROW.fullmatch(line) else []
        if not blocks and numbers:
            blocks = numbers
        elif numbers and len(numbers) == len(blocks) and sum(numbers) <= WINDOW:
            lost += _write_window(log, count, blocks, numbers)
            count += 1
        else:
            log.unread(line)
    if lost:
        meaning = (
            "accesses that are in no block of their window (the tool has a column for every second MiB only): kept "
            "as accesses to no block"
        )
        sink.note("lost-accesses", meaning, count=lost, example=f"{lost} of {count * WINDOW}")
    meaning = "the accesses after the last whole window are not in the matrix: fewer than a million"
    sink.note("last-window", meaning)
    return log.finish(file, "time_hotness_cpu", {"windows": count, "window_accesses": WINDOW, "lost_accesses": lost})


TIME_HOTNESS = Kind("time_hotness_cpu", _begins, _read)
"""The log `<app>.time_hotness_cpu.log`."""


def _write_window(log: Log, window: int, blocks: list[int], counts: list[int]) -> int:
    """Writes the row of one window; the accesses it has lost."""
    row = {"process": PROCESS, "granularity": "block", "window": window}
    for block, accesses in zip(blocks, counts, strict=True):
        if accesses:
            place = {"object": block << SHIFT, "object_bytes": 1 << SHIFT}
            log.rows.add("access", {**row, **place, "accesses": accesses})
    lost = WINDOW - sum(counts)
    if lost:
        log.rows.add("access", {**row, "accesses": lost})
    return lost
