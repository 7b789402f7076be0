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
    if "\0" in text:
        raise Damaged("bytes that are no text")
    lines = text.replace("\r\n", "\n").split("\n")[:-1]
    process, opened = 0, [OPENING.fullmatch(line) for line in lines if line.startswith("==")]
    for one in opened:
        if one is None or (process and one[3] == "result:"):
            raise Odd("a line of nvprof's that is not usual, or another table")
        process = int(one[1]) if one[3] == "result:" else process
    if opened and not process:
        raise Odd("a table without a title, below lines that name a process")
    lines = [line for line in lines if not line.startswith("==")]
    while lines and not lines[0].strip():
        del lines[0]
    if lines and lines[0].count('"') % 2:
        raise Odd("a first line that is no header, but of the program")
    header, *below = csv.reader(lines, strict=True)
    units, *content = (row for row in below if row != header)
    if "Correlation_ID" not in header:
        raise Odd("a column that is called otherwise, or a release that has it not")
    found: dict[str, list[Row]] = {"kernel": [], "copy": [], "fill": []}
    unit = dict(zip(header, units, strict=True))
    for line in content:
        if len(line) > len(header):
            raise Odd("a name with commas that has no quotes")
        if len(line) < len(header):
            raise Damaged("a line that is no row")
        _work(dict(zip(header, map(str.strip, line), strict=True)), unit, process, found)
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
    if not re.fullmatch(r"\d{1,18}(\.\d{1,19})?", text):
        raise Damaged("a number that is none")
    return int((Decimal(text) * scale).to_integral_value())
