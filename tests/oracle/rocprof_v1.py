"""JSON of the first rocprof by the json module: lanes are numbered processes, exact times stand in the arguments."""

import json
import re
from pathlib import Path
from typing import Any

from tests.oracle.rows import Damaged, Odd, Row, Rows, rows, unpacked

DIRECTIONS = {"CopyHostToDevice": "HtoD", "CopyDeviceToHost": "DtoH", "CopyDeviceToDevice": "DtoD"}


def read(path: Path) -> Rows:
    content = unpacked(path)
    if not content.lstrip().startswith(b"{"):
        raise Odd("not the JSON form")
    events = json.loads(content.decode("utf-8", "replace"), parse_int=_integer)["traceEvents"]
    if not all(isinstance(event, dict) for event in events):
        raise Damaged("an element that is no event")
    named = [event for event in events if event.get("name") == "process_name" and "name" in event["args"]]
    if not all("pid" in event for event in named):
        raise Damaged("a lane that is not numbered")
    lanes = {_number(event["pid"]): event["args"]["name"] for event in named}
    found: dict[str, list[Row]] = {"kernel": [], "copy": [], "fill": [], "api": []}
    for event in events:
        if event.get("ph") not in ("X", "M", "s", "t", "f", None):
            raise Damaged("an event of a kind that is not known")
        if event.get("ph") != "X":
            continue
        lane, said = lanes.get(_number(event.get("pid"))), event["args"]
        name = event["name"] if "name" in event else said["Name"]
        if lane is None:
            raise Odd("an event in a lane without a name")
        if not all(re.fullmatch(r"\d{1,18}", str(said[what])) for what in ("BeginNs", "EndNs")):
            raise Odd("a time that is none")
        times = _number(said["BeginNs"]), _number(said["EndNs"])
        process = _process(said["pid"])
        if lane == "CPU HIP API" or lane == "CPU HSA API":
            found["api"].append((process, _number(said["tid"] if "tid" in said else event["tid"]), *times, name, None))
        elif lane == "COPY" or re.fullmatch(r"GPU\d+", lane):
            if "dev-id" not in said or "queue-id" not in said:
                raise Odd("a place that only the lane tells")
            place = process, _number(said["dev-id"]), _number(said["queue-id"]), *times
            if name == "FillBuffer":
                found["fill"].append((*place, None, None))
            elif name in DIRECTIONS:
                found["copy"].append((*place, DIRECTIONS[name], None, None))
            elif lane == "COPY":
                raise Odd("a copy that is called otherwise")
            else:
                found["kernel"].append((*place, name, None))
        elif "Marker" not in lane or "dev-id" in said:
            raise Odd("a lane that is not usual")
    return rows(**found)


def _process(text: Any) -> int:
    if type(text) is not int and not re.fullmatch(r"-?\d{1,18}", text):
        raise Damaged("a process that is no number")
    return int(text)


def _integer(digits: str) -> int:
    if len(digits) > 4000:
        raise Odd("a number that Python does not read")
    return int(digits)


def _number(text: Any) -> int:
    if type(text) is int:
        return text
    if not isinstance(text, str) or not re.fullmatch(r"\d{1,18}", text):
        raise Odd("a number that is none")
    return int(text)
