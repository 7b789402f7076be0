"""JSON of rpd2tracing by the json module: lanes of devices are called GPUn, times are whole microseconds as text."""

import json
import re
from pathlib import Path
from typing import Any

from tests.oracle.rows import Damaged, Odd, Row, Rows, rows, unpacked

COPY = re.compile(r"Copy(Host|Device)To(Host|Device)")


def read(path: Path) -> Rows:
    value = json.loads(unpacked(path).decode("utf-8", "replace"))
    events = value["traceEvents"] if isinstance(value, dict) else value
    if not all(isinstance(event, dict) for event in events):
        raise Damaged("an element that is no event")
    named = [event for event in events if event.get("name") == "process_name"]
    if not all(isinstance(event.get("args", {}).get("name"), str) for event in named):
        raise Damaged("a lane without a name")
    named = [event for event in named if re.fullmatch(r"GPU\d+", event["args"]["name"])]
    devices = {event["pid"] for event in named}
    spans = [event for event in events if event.get("ph") == "X"]
    if any(event.get("ph") not in ("X", "M", "s", "f", "i", "C", None) for event in events):
        raise Damaged("an event of a kind that is not known")
    processes = {_number(event["pid"]) for event in spans if event["pid"] not in devices}
    if len(processes) != 1:
        raise Odd("not one process")
    (process,) = processes
    found: dict[str, list[Row]] = {"kernel": [], "copy": [], "fill": [], "api": []}
    for event in spans:
        start = _number(event["ts"]) * 1000
        times = start, start + _number(event["dur"]) * 1000
        lane, thread, name = _number(event["pid"]), _number(event["tid"]), event.get("name")
        if event["pid"] not in devices:
            found["api"].append((lane, thread, *times, name, None))
            continue
        place = process, lane, thread, *times
        kind = event["args"]["desc"]
        copied = COPY.fullmatch(kind)
        if kind == "KernelExecution":
            found["kernel"].append((*place, name, None))
        elif copied:
            found["copy"].append((*place, f"{copied[1][0]}to{copied[2][0]}", None, None))
        elif kind == "FillBuffer":
            found["fill"].append((*place, None, None))
        elif re.search(r"copy|(host|device)to(host|device)", kind, re.IGNORECASE):
            raise Odd("a copy that is called otherwise")
    return rows(**found)


def _number(text: Any) -> int:
    if not isinstance(text, str) or not re.fullmatch(r"-?\d{1,16}", text):
        raise Odd("a number that is none")
    return int(text)
