"""CSV of rocprofv3 by the csv module: the kernels, and the tables of the same run that lie beside them."""

import csv
import io
import re
from collections.abc import Iterator
from pathlib import Path

from tests.oracle.rows import Damaged, Odd, Row, Rows, rows, unpacked

COPY = re.compile(r"(HOST|DEVICE)_TO_(HOST|DEVICE)", re.IGNORECASE)
ENDING = "kernel_trace.csv"


def read(path: Path) -> Rows:
    if not path.name.endswith(ENDING):
        raise Odd("not the table of kernels")
    found: dict[str, list[Row]] = {"kernel": [], "copy": [], "api": []}
    prefix = path.name.removesuffix(ENDING)
    processes: dict[int, int] = {}
    for line in _lines(path.with_name(f"{prefix}hip_api_trace.csv")) if prefix else ():
        if not line["Domain"].startswith("HIP"):
            raise Odd("a call that is not HIP's")
        process, thread = _number(line["Process_Id"]), _number(line["Thread_Id"])
        processes[thread] = process
        found["api"].append((process, thread, *_times(line), line["Function"], _number(line["Correlation_Id"])))
    only = set(processes.values())
    if len(only) > 1:
        raise Odd("several processes")
    process = next(iter(only), None)
    if process is None:
        process = int(prefix[:-1]) if re.fullmatch(r"[1-9]\d{0,8}_", prefix) else 0
    for line in _lines(path):
        place = process, _agent(line["Agent_Id"]), _number(line["Queue_Id"]), *_times(line)
        found["kernel"].append((*place, line["Kernel_Name"], _number(line["Correlation_Id"])))
    for line in _lines(path.with_name(f"{prefix}memory_copy_trace.csv")) if prefix else ():
        matched = COPY.search(line["Direction"])
        if not matched:
            raise Damaged("a copy that does not say its direction")
        kind = f"{matched[1][0]}to{matched[2][0]}".replace("h", "H").replace("d", "D")
        agent = _agent(line["Source_Agent_Id" if kind == "DtoH" else "Destination_Agent_Id"])
        if kind == "HtoH":
            raise Odd("a copy that no device does")
        place = process, agent, _number(line["Stream_Id"]), *_times(line)
        found["copy"].append((*place, kind, None, _number(line["Correlation_Id"])))
    return rows(**found)


def _lines(path: Path) -> Iterator[dict[str, str]]:
    if not path.is_file():
        return
    text = unpacked(path).decode("utf-8-sig", "replace")
    if not text.endswith("\n"):
        raise Damaged("the last line has no end")
    before = csv.field_size_limit(4 << 20)
    try:
        header, *lines = csv.reader(io.StringIO(text, newline=""), strict=True)
    finally:
        csv.field_size_limit(before)
    for line in lines:
        if not line:
            continue
        if len(line) != len(header):
            raise Damaged("a line that is no row")
        yield dict(zip(header, line, strict=True))


def _times(line: dict[str, str]) -> tuple[int, int]:
    return _number(line["Start_Timestamp"]), _number(line["End_Timestamp"])


def _agent(text: str) -> int:
    found = re.fullmatch(r"(?:Agent )?(\d{1,9})", text)
    if not found:
        raise Odd("an agent that is not called by its number")
    return int(found[1])


def _number(text: str) -> int:
    if not re.fullmatch(r"[+-]?\d{1,19}", text) or abs(int(text)) >= 1 << 63:
        raise Damaged("a number that is none")
    return int(text)
