"""Lists of AccelProf that are numbers alone: windows of time_hotness_cpu, and totals of event_trace."""

import re
from pathlib import Path

from tests.oracle.accelprof_text import lines_of, whole
from tests.oracle.rows import Damaged, Odd, Row, Rows, rows

WINDOW = 1_000_000
MIB = 2**20
NAMES = {"memory": "device_memory_bytes", "tensor": "tensor_bytes"}


def read_windows(path: Path) -> Rows:
    """A row of numbers of blocks, then one of accesses to them for each window; what a window lacks is in no block."""
    lines = lines_of(path)
    if not all(re.fullmatch(r"(\d+ )+", line) for line in lines):
        raise Damaged("a line that is no row of numbers")
    blocks, *windows = [[whole(number) for number in line.split()] for line in lines]
    if sorted(set(blocks)) != blocks or blocks[0] < 4096 or blocks[-1] >= 2**44:
        raise Damaged("blocks that are none")
    accesses: list[Row] = []
    lost = 0
    for number, counts in enumerate(windows):
        if len(counts) != len(blocks) or sum(counts) > WINDOW:
            raise Damaged("a row that is no window")
        rest = WINDOW - sum(counts)
        lost += rest
        accesses += [
            (None, None, block * MIB, None, MIB, "block", number, count)
            for block, count in zip(blocks, counts, strict=True)
            if count
        ]
        accesses += [(None, None, None, None, None, "block", number, rest)] if rest else []
    told = {"windows": len(windows), "window_accesses": WINDOW, "lost_accesses": lost}
    labels = [("tool", "time_hotness_cpu"), *((name, str(value)) for name, value in told.items())]
    return rows(access=accesses, label=labels)


def read_totals(path: Path) -> Rows:
    """A total a line; what it is of stands in the name of the file."""
    what, _, device = path.stem.replace("_gpu", "").partition("_")
    lines = lines_of(path)
    if not all(re.fullmatch(r"-?\d+", line) for line in lines):
        raise Damaged("a line that is no number")
    values = [whole(line.removeprefix("-")) for line in lines]
    if any(line.startswith("-") for line in lines) or max(values) >= 2**53:
        raise Odd("a total that cannot be")
    place = int(device) if device else None
    counters = [(place, NAMES[what], time, float(value), "bytes") for time, value in enumerate(values)]
    labels = [("tool", "event_trace"), (f"peak_{NAMES[what]}", str(max(values)))]
    return rows(counter=counters, label=[*labels, *([("device", device)] if device else [])])
