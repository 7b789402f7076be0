"""Logs of AccelProf's app_analysis: headings, each with its lines `  what: value` below it."""

import re
from pathlib import Path

from tests.oracle.accelprof_text import SIZE, lines_of, size_of, whole
from tests.oracle.rows import Damaged, Row, Rows, rows

SUMS = {"Alloc Count": "allocations", "Free Count": "frees", "Alloc Size": "live_bytes", "Free Size": ""}
SIZES = [f"{of} {what} Size" for what in ("Working Set", "Footprint") for of in ("Memory", "Tensor")]
LAUNCH = {"Kernel Name", "Access Count", *SIZES}


def read(path: Path) -> Rows:
    headings: list[tuple[str, dict[str, str]]] = []
    for line in lines_of(path):
        if not line.startswith("  "):
            headings.append((line, {}))
            continue
        what, colon, value = line[2:].partition(": ")
        if not headings or not colon or what in headings[-1][1]:
            raise Damaged(f"a line that does not belong there: {line[:60]}")
        headings[-1][1][what] = value
    if [heading for heading, _ in headings[:3]] != ["Tensor Stats:", "Memory Stats:", "Kernel Stats:"]:
        raise Damaged("a section that is missing")
    labels = {"tool": "app_analysis", "launches": str(len(headings) - 3)}
    for (heading, told), name in zip(headings, ("tensor", "memory"), strict=False):
        if told.keys() != SUMS.keys():
            raise Damaged(f"{heading} without all of its sums, or with others")
        labels |= {f"{name}_{label}": str(whole(_digits(told[what]))) for what, label in SUMS.items() if label}
        labels[f"{name}_allocated_bytes"] = str(whole(_digits(told["Alloc Size"])) + whole(_digits(told["Free Size"])))
    if headings[2][1]:
        raise Damaged("sums of kernels, which there are not")
    return rows(launch_memory=[_launch(*heading) for heading in headings[3:]], label=labels.items())


def _launch(heading: str, told: dict[str, str]) -> Row:
    number = re.fullmatch(r"Kernel ID: (\d+)", heading)
    if not number or told.keys() != LAUNCH:
        raise Damaged(f"{heading[:60]} is no launch, or has not all of its lines")
    sizes = [re.fullmatch(rf"(\d+)(?: \({SIZE}\))?", told[name]) for name in SIZES]
    if not all(sizes):
        raise Damaged("a size that is none")
    bytes_of = [size_of(size[1], size[2]) if size[2] else whole(size[1]) for size in sizes if size]
    accesses = whole(_digits(told["Access Count"]))
    return whole(number[1]), told["Kernel Name"], None, None, accesses, None, *bytes_of, None


def _digits(text: str) -> str:
    if not re.fullmatch(r"\d+", text):
        raise Damaged("a number that is none")
    return text
