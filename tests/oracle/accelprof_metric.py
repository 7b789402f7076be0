"""Logs of AccelProf's app_metric: what was allocated, what each launch accessed, and sums that follow from those."""

import re
from collections import Counter
from pathlib import Path

from tests.oracle.accelprof_text import SIZE, UNITS, lines_of, size_of, whole
from tests.oracle.rows import Damaged, Odd, Row, Rows, rows

ALLOCATED = re.compile(rf"Alloc\((-?\d+)\) (\d+):\t(\d+) (\d+) \({SIZE}\)")
LAUNCHED = re.compile(rf"Kernel (\d+) \(refs=(\d+), objs=(\d+), obj_size=(\d+), {SIZE}\):\t(.+)")
CALLED = re.compile(r"InvCount=(\d+)\t(.+)")
SUM = re.compile(r"([NMAT]\w+ [a-z ]+): (\d+)B?( \(\d+(\.\d\d \w+| bytes)?\))?")
PEAK = re.compile(r"Maximum memory usage: \d+B \(([\d.]+) (\w+)\)")
OTHERS = re.compile(r"|-{30}|Maximum memory accesses kernel: .*\(Kernel ID: \d+\)")
PAGES = "Average accesses per page: "
KINDS = {"0": "device", "6": "managed"}


def read(path: Path) -> Rows:
    lines = lines_of(path)
    if not any(LAUNCHED.fullmatch(line) for line in lines):
        raise Odd("no log of this form")
    allocations: list[Row] = []
    launches: list[Row] = []
    called: dict[str, int] = {}
    sums: dict[str, float] = {}
    peak = 0.0
    for line in lines:
        if told := ALLOCATED.fullmatch(line):
            if told[1] not in KINDS:
                raise Odd("memory of a kind that is not usual")
            allocations.append((None, KINDS[told[1]], whole(told[3]), size_of(told[4], told[5]), None, None))
        elif told := LAUNCHED.fullmatch(line):
            number, accesses, objects = map(whole, told.groups()[:3])
            size = size_of(told[4], told[5])
            launches.append((number, told[6], None, None, accesses, objects, size, None, None, None, None))
        elif line.startswith(PAGES):
            sums[PAGES] = float(line.removeprefix(PAGES))
        elif told := CALLED.fullmatch(line) or SUM.fullmatch(line):
            found, name, count = (called, told[2], told[1]) if line.startswith("Inv") else (sums, told[1], told[2])
            if name in found:
                raise Damaged(f"{name[:60]}, which is there twice")
            found[name] = whole(count)
            if told := PEAK.fullmatch(line):
                peak = float(told[1]) * UNITS[told[2]]
        elif not OTHERS.fullmatch(line):
            raise Damaged(f"a line that is none of the tool's: {line[:60]}")
    if called != Counter(row[1] for row in launches):
        raise Damaged("calls that are not the launches")
    _check(sums, allocations, launches, peak)
    return rows(allocation=allocations, launch_memory=launches)


def _check(sums: dict[str, float], allocations: list[Row], launches: list[Row], peak: float) -> None:
    accesses, objects, sizes = ([row[at] for row in launches] for at in (4, 5, 6))
    expected = {"Number of allocations": len(allocations), "Number of kernels": len(launches)}
    for what, values in (("objects", objects), ("object size", sizes), ("memory accesses", accesses)):
        expected[f"Maximum {what} per kernel"] = max(values)
        expected[f"Average {what} per kernel"] = sum(values) // len(values)
    expected |= {"Total objects per kernel": sum(objects), "Total memory accesses": sum(accesses)}
    if not abs(sums.pop(PAGES) * peak / 4096 - sum(accesses)) < sum(accesses) / 90:
        raise Damaged("accesses per page that are not those of the peak, whose third digit is rounded")
    if sums.pop("Maximum memory usage") < 0 or sums != expected:
        raise Damaged("a sum that is missing, or is not that of the lines above")
