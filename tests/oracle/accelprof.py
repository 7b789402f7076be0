"""Logs of AccelProf's app_metric, line by line: what it allocated, and what each launch accessed."""

import re
from pathlib import Path

from tests.oracle.rows import Damaged, Odd, Row, Rows, rows, unpacked

ALLOCATED = re.compile(r"Alloc\((\d+)\) (\d+):\t(\d+) (\d+) \([\d.]+ \w+\)")
LAUNCHED = re.compile(r"Kernel (\d+) \(refs=(\d+), objs=(\d+), obj_size=(\d+), [\d.]+ \w+\):\t(.+)")
SUMS = re.compile(r"-{10,}|InvCount=\d+\t.+|(Number|Maximum|Average|Total) [a-z ]+: .+|")
KINDS = {0: "device", 6: "managed"}
MOST = 2**62


def read(path: Path) -> Rows:
    if path.is_dir():
        raise Odd("several logs of one run")
    lines = unpacked(path).decode("utf-8", "replace").split("\n")
    if not any(LAUNCHED.fullmatch(line) for line in lines):
        raise Odd("no log of this form")
    allocations: list[Row] = []
    launches: list[Row] = []
    for line in lines:
        allocated, launched = ALLOCATED.fullmatch(line), LAUNCHED.fullmatch(line)
        if allocated:
            flags, _, address, size = map(int, allocated.groups())
            if flags not in KINDS:
                raise Odd("memory of a kind that is not usual")
            allocations.append((None, KINDS[flags], address, size, None, None))
        elif launched:
            number, accesses, objects, size = (int(launched[at]) for at in range(1, 5))
            launches.append((number, launched[5], accesses, objects, size))
        elif not SUMS.fullmatch(line):
            raise Damaged(f"a line that is none of the tool's: {line[:60]}")
    if any(value > MOST for row in (*allocations, *launches) for value in row if isinstance(value, int)):
        raise Odd("a number that no machine has")
    return rows(allocation=allocations, launch_memory=launches)
