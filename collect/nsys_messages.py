"""Lines of the older JSON export of Nsight Systems, which are the recording's own messages, as rows of its tables.

`{"Type": 79, "CudaEvent": {..., "kernel": {...}}}` is a row of `CUPTI_ACTIVITY_KIND_KERNEL`. Numbers of 64 bits stand
in quotes; texts are indices into the list that one line holds as `{"data": [...]}`, or into lines of their own. That
layout is what the exporter's own page shows (https://docs.nvidia.com/drive, Nsight Systems export documentation, "JSON
and Text Format Description"); the names of fields are those that public readers of such files use. A field that was not
seen there is taken over under its own name, which is how the SQLite export calls most.
"""

import json
import re
from collections.abc import Callable, Mapping
from typing import Any

from .nsys_vocabulary import WAITS

__all__ = ["FIRST_LINE", "MESSAGE", "rows_of"]

Row = dict[str, Any]

MESSAGE = re.compile(r"(Cuda|TraceProcess|Nvtx|Sched|Composite|Comm|Diagnostic|Gpu|Etw|Generic|Ftrace)\w*Event")
"""Names of messages, enough of them to know such a file by."""

FIRST_LINE = b'{"data":["[Unknown]"'
"""The list of texts, which can be longer than what is looked at before a file is read."""

DIGITS = re.compile(r"-?\d{1,20}")
PLACE = {"startNs": "start", "endNs": "end"}
CALL = {**PLACE, "name": "nameId", "returnValue32": "returnValue", "returnValue64": "returnValue"}
WORK = {
    "kernel": ("CUPTI_ACTIVITY_KIND_KERNEL", frozenset({"eventCategory"})),  # an index of a text that says nothing
    "memcpy": ("CUPTI_ACTIVITY_KIND_MEMCPY", frozenset[str]()),
    "memset": ("CUPTI_ACTIVITY_KIND_MEMSET", frozenset[str]()),
    "sync": ("CUPTI_ACTIVITY_KIND_SYNCHRONIZATION", frozenset[str]()),
}
SIZE = {"sizebytes": "bytes"}
RANGE = {"Type": "eventType", "Timestamp": "start", "EndTimestamp": "end"}
RUNTIME, DRIVER = 0, 1
NOT_KEPT = frozenset({"NsTime", "eventClass"})


def rows_of(line: Mapping[str, Any]) -> list[tuple[str, Row]] | None:
    """The rows that one line stands for, each with its table; None for what is no message."""
    if line.get("type") == "String":
        return [("StringIds", {"id": _number(line.get("id")), "value": line.get("value")})]
    if line.get("type") == "ThreadName":
        return [("ThreadNames", _renamed(line, {}, frozenset({"type"})))]
    if isinstance(data := line.get("data"), list) and len(line) == 1:
        return _listed(data)  # pyright: ignore[reportUnknownArgumentType] - JSON
    name = next((key for key, value in line.items() if isinstance(value, dict) and MESSAGE.fullmatch(key)), None)
    if name is None:
        return None
    return MESSAGES.get(name, lambda message: [(name, _flat(message))])(line[name])


def _listed(data: list[Any]) -> list[tuple[str, Row]] | None:
    if all(isinstance(one, str) for one in data):
        return [("StringIds", {"id": number, "value": text}) for number, text in enumerate(data)]
    if all(isinstance(one, dict) and "nameIdx" in one for one in data):
        return [("ThreadNames", _renamed(one, {"nameIdx": "nameId"})) for one in data]
    return None


def _call(message: Row) -> list[tuple[str, Row]]:
    """A call of CUDA's runtime or driver; another library's is a span under the name of the message."""
    event_class = _number(message.get("eventClass", RUNTIME))
    base = "CUPTI_ACTIVITY_KIND_RUNTIME" if event_class in (RUNTIME, DRIVER) else "TRACE_PROCESS_EVENTS"
    return [(base, _renamed(message, CALL))]


def _work(message: Row) -> list[tuple[str, Row]]:
    for key, (base, left_out) in WORK.items():
        if isinstance(details := message.get(key), dict):
            shared = {name: value for name, value in message.items() if name != key}
            row = _renamed(shared, PLACE) | _renamed(details, SIZE, left_out)
            if isinstance(wait := row.get("syncType"), str):
                row["syncType"] = _numbered(wait)
            return [(base, row)]
    return [("CudaEvent", _flat(message))]


def _range(message: Row) -> list[tuple[str, Row]]:
    """A range or mark: its fields are those of the table, but with a capital."""
    renamed = {name: RANGE.get(name, name[:1].lower() + name[1:]) for name in message}
    return [("NVTX_EVENTS", _renamed(message, renamed))]


MESSAGES: dict[str, Callable[[Row], list[tuple[str, Row]]]] = {
    "TraceProcessEvent": _call,
    "CudaEvent": _work,
    "NvtxEvent": _range,
}


def _numbered(wait: str) -> int | None:
    word = wait.rpartition("TYPE_")[2]
    return WAITS.numbered.index(word) if word in WAITS.numbered else None


def _renamed(message: Mapping[str, Any], names: Mapping[str, str], left_out: frozenset[str] = frozenset()) -> Row:
    row = {names.get(name, name): value for name, value in message.items() if name not in left_out | NOT_KEPT}
    return {name: value if name in ("text", "jsonText") else _number(value) for name, value in row.items()}


def _flat(message: Mapping[str, Any]) -> Row:
    return {name: _number(value) for name, value in message.items()}


def _number(value: Any) -> Any:
    """The value; a whole number in quotes as the number, what is not flat as JSON."""
    if isinstance(value, dict | list):
        return json.dumps(value, ensure_ascii=False)
    return int(value) if isinstance(value, str) and DIGITS.fullmatch(value) else value
