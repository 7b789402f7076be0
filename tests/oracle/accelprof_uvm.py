"""Logs of AccelProf's uvm_advisor: sums, then groups of operators, their launches, and what each launch touched."""

import json
import re
from itertools import takewhile
from pathlib import Path

from tests.oracle.accelprof_text import SIZE, lines_of, size_of, whole
from tests.oracle.rows import Damaged, Odd, Row, Rows, rows

RULE, END = "-" * 80, "=" * 80
PEAK, SUM, COUNT = (
    re.compile(rf"max_size: (\d+) \({SIZE}\)"),
    re.compile(rf"count: (\d+) *, size: (\d+) \({SIZE}\)"),
    re.compile(r"count: (\d+) *"),
)
SUMS = {
    "Memory": (PEAK, "peak_memory_bytes"),
    "MemMalloc": (SUM, "managed_allocations", "managed_allocated_bytes"),
    "MemFree": (SUM, "managed_frees", "managed_freed_bytes"),
    "Tensor": (PEAK, "peak_tensor_bytes"),
    "TenMalloc": (SUM, "tensor_allocations", "tensor_allocated_bytes"),
    "TenFree": (SUM, "tensor_frees", "tensor_freed_bytes"),
    "Op": (COUNT, "ops"),
    "OpGroup": (COUNT, "op_groups"),
}
GROUP = re.compile(
    r"Op - (.{0,30}), op_id: (\d+), pending_ops: (\d+), pending_kernels: (\d+), pending_mem_alloc: (\d+), "
    r"pending_ten_alloc: (\d+)(.*)"
)
PENDING = ("pending_ops", "pending_kernels", "pending_mem_alloc", "pending_ten_alloc")
LAUNCH = re.compile(r"   Kernel: (.{0,30}), kernel_id: (\d+)")
LISTS = (("MemAlloc", "object", "managed"), ("TenAlloc", "tensor", "tensor"))


def read(path: Path) -> Rows:
    lines = lines_of(path)
    if END not in lines:
        raise Damaged("sums without an end")
    lines = [line for line in lines if line not in (RULE, END)]
    head = [*takewhile(lambda line: line.startswith("["), lines)]
    body = iter(lines[len(head) :])
    launches: list[Row] = []
    accesses: list[Row] = []
    lives: set[Row] = set()
    group: Row | None = None
    for heading in body:
        if told := GROUP.fullmatch(heading):
            pending: dict[str, int | str] = dict(zip(PENDING, map(whole, told.groups()[2:6]), strict=True))
            args = json.dumps(pending | ({"more": told[7]} if told[7] else {}), separators=(",", ":"))
            group = told[1], whole(told[2]), args
            continue
        told = LAUNCH.fullmatch(heading)
        if not told or not group or not whole(told[2]):
            raise Damaged(f"a line that does not belong there: {heading[:60]}")
        launch = whole(told[2]) - 1, told[1]
        launches.append((*launch, *group[:2], *[None] * 6, group[2]))
        listed = [next(body, "") for _ in LISTS]
        if [line.split(maxsplit=1)[:1] for line in reversed(listed)] == [[name] for name, *_ in LISTS]:
            raise Odd("lists in another order")
        for (name, granularity, kind), line in zip(LISTS, listed, strict=True):
            for key, address, size in _list(name, line):
                accesses.append((*launch, address, key, size, granularity, None, None))
                lives.add((key, kind, address, size))
    labels = _sums(head) | {"launches": str(len(launches))}
    allocations = [(None, kind, address, size, None, None) for _, kind, address, size in lives]
    return rows(launch_memory=launches, access=accesses, allocation=allocations, label=labels.items())


def _sums(lines: list[str]) -> dict[str, str]:
    labels = {"tool": "uvm_advisor"}
    for line in lines:
        heading = re.fullmatch(r"\[(\w+)\] +(.*)", line)
        pattern, *names = SUMS.get(heading[1] if heading else "", (COUNT,))
        told = pattern.fullmatch(heading[2]) if heading else None
        if not told or not names or names[0] in labels:
            raise Damaged(f"a sum that is none: {line[:60]}")
        if pattern is not COUNT:
            size_of(*told.groups()[-2:])
        labels |= {name: str(whole(number)) for name, number in zip(names, told.groups(), strict=False)}
    if len(lines) < len(SUMS):
        raise Damaged("a sum that is missing")
    return labels


def _list(name: str, line: str) -> list[tuple[int, int, int]]:
    told = re.fullmatch(rf"       {name} \((\d+)\): ((?:\d+:\(\d+, \d+\), )*)", line)
    items = re.findall(r"(\d+):\((\d+), (\d+)\), ", told[2]) if told else []
    if not told or len(items) != whole(told[1]):
        raise Damaged(f"a list that is none: {line[:60]}")
    return [(whole(key), whole(address), whole(size)) for key, address, size in items]
