"""What nvprof prints with --csv --print-gpu-trace, by the csv module and exact decimals."""

import csv
import re
from decimal import Decimal
from pathlib import Path

from tests.oracle.rows import Damaged, Odd, Row, Rows, rows, unpacked

TIMES = {"s": 10**9, "ms": 10**6, "us": 10**3, "ns": 1}
SIZES = {"B": 1, "KB": 1024, "MB": 1024**2, "GB": 1024**3}
OPENING = re.compile(r"==(\d+)== (NVPROF is profiling process \1, command: .*|Profiling (application: .*|result:))")


def read(path: Path) -> Rows:
    text = unpacked(path).decode("utf-8-sig", "replace")
    if not text.endswith("\n"):
        raise Damaged("the last line has no end")
    lines = text.replace("\r\n", "\n").split("\n")[:-1]
    last, process = "", 0
    while lines and lines[0].startswith("=="):
        opened = OPENING.fullmatch(lines.pop(0))
        if not opened:
            raise Odd("a line of nvprof's that is not usual")
        process, last = int(opened[1]), opened[2]
    if last != "Profiling result:":
        raise Damaged("a table without a title")
    header, units, *content = csv.reader(lines, strict=True)
    if "Correlation_ID" not in header:
        raise Odd("a column that is called otherwise, or a release that has it not")
    found: dict[str, list[Row]] = {"kernel": [], "copy": [], "fill": []}
    unit = dict(zip(header, units, strict=True))
    for line in content:
        if len(line) > len(header) or (line and line[0].startswith("==")):
            raise Odd("a name with commas that has no quotes, or a line of nvprof's among the rows")
        if len(line) < len(header):
            raise Damaged("a line that is no row")
        _work(dict(zip(header, line, strict=True)), unit, process, found)
    return rows(**found)


def _work(row: dict[str, str], unit: dict[str, str], process: int, found: dict[str, list[Row]]) -> None:
    if row["Name"].startswith("[Unified Memory "):
        return  # managed pages that move or are missed: of no stream, and no copies
    start = _scaled(row["Start"], TIMES[unit["Start"]])
    end = start + _scaled(row["Duration"], TIMES[unit["Duration"]])
    device = re.fullmatch(r".* \((\d{1,9})\)?", row["Device"])
    if not device or not re.fullmatch(r"\d{1,18}", row["Stream"]):
        raise Damaged("work without a place")
    if not re.fullmatch(r"\d{1,18}", row["Correlation_ID"]):
        raise Damaged("a number that is none")
    correlation = int(row["Correlation_ID"])
    place = process, int(device[1]), int(row["Stream"]), start, end
    copied = re.fullmatch(r"\[CUDA memcpy ([HDPA]to[HDPA])\]", row["Name"])
    if copied or row["Name"] == "[CUDA memset]":
        size = _scaled(row["Size"], SIZES[unit["Size"]])
        what = (copied[1], size) if copied else (size,)
        found["copy" if copied else "fill"].append((*place, *what, correlation))
    elif row["Name"].startswith("[") or not row["Grid X"]:
        raise Odd("neither a kernel nor a copy")
    else:
        found["kernel"].append((*place, row["Name"].strip(), correlation))


def _scaled(text: str, scale: int) -> int:
    if not re.fullmatch(r"\d{1,18}(\.\d{1,18})?", text):
        raise Damaged("a number that is none")
    return int((Decimal(text) * scale).to_integral_value())
