"""XPlane by a plain decoder: kernels, copies and fills on the streams of GPUs, calls on the threads of the host."""

import re
from pathlib import Path
from typing import Any

from tests.oracle.rows import Damaged, Odd, Row, Rows, rows, unpacked
from tests.oracle.wire import fields, inner, number, signed, text

COPY = re.compile(r"Memcpy([HDP])2([HDP])|Copy([HD])\w+To([HD])\w+")
SIZE = re.compile(r"(?:^| )(?:size|num_bytes):(\d{1,18})(?= |$)")
CALL = re.compile(r"cu[A-Z]|cuda[A-Z]|hip[A-Z]|hsa_")


def read(path: Path) -> Rows:
    found: dict[str, list[Row]] = {"kernel": [], "copy": [], "fill": [], "api": []}
    for plane in inner(unpacked(path), 1):
        name = text(plane, 2)
        names, values = (_names(plane, field) for field in (4, 5))
        gpu = re.match(r"/device:GPU:(\d{1,6})(?= |$)", name)
        for line in inner(plane, 3):
            stream = re.match(r"Stream #(\d{1,18})\b", text(line, 2))
            origin = signed(number(line, 3) or 0)
            for event in inner(line, 4):
                one = _event(event, origin, names, values)
                if gpu and stream:
                    _work((0, int(gpu[1]), int(stream[1])), one, found)
                elif not name.startswith("/device:") and (CALL.match(one[0]) or "correlation_id" in one[3]):
                    if not CALL.match(one[0]):
                        raise Odd("a call that is named otherwise")
                    thread = signed(number(line, 1) or 0)
                    found["api"].append((0, thread, one[1], one[2], one[0], one[3].get("correlation_id")))
    return rows(**found)


def _names(plane: bytes, field: int) -> dict[int, str]:
    found: dict[int, str] = {}
    for entry in inner(plane, field):
        described = inner(entry, 2)
        found[signed(number(entry, 1) or 0)] = text(described[-1], 2) if described else ""
    return found


def _event(
    event: bytes, origin: int, names: dict[int, str], values: dict[int, str]
) -> tuple[str, int, int, dict[str, Any]]:
    if number(event, 5, None) is not None:
        raise Odd("a sum of many events")
    id = signed(number(event, 1) or 0)
    if id not in names:
        raise Damaged("an event without a name")
    start = origin * 1000 + signed(number(event, 2) or 0)
    end = start + signed(number(event, 3) or 0)
    stats: dict[str, Any] = {}
    for content in inner(event, 4):
        name = values[signed(number(content, 1) or 0)]
        for field, wire, value, inside in fields(content):
            if field == 4:
                stats[name] = signed(value)
            elif field == 7:
                stats[name] = values[value]
            elif field in (2, 3):
                stats[name] = value
            elif field in (5, 6) and wire == 2:
                stats[name] = inside.decode("utf-8", "replace")
    return names[id], start // 1000, end // 1000, stats


def _work(
    place: tuple[int, int, int], event: tuple[str, int, int, dict[str, Any]], found: dict[str, list[Row]]
) -> None:
    name, start, end, stats = event
    if any(what.endswith("_details") for what in stats.keys() - {"kernel_details", "memcpy_details", "memset_details"}):
        return
    correlation = stats.get("correlation_id")
    if "kernel_details" in stats:
        found["kernel"].append((*place, start, end, name or None, correlation))  # no text is no name
    elif "memcpy_details" in stats:
        copied, size = COPY.match(name), SIZE.search(stats["memcpy_details"])
        if not copied or not size:
            raise Damaged("a copy that does not say its direction and size")
        found["copy"].append(
            (*place, start, end, f"{copied[1] or copied[3]}to{copied[2] or copied[4]}", int(size[1]), correlation)
        )
    elif "memset_details" in stats:
        size = SIZE.search(stats["memset_details"])
        if not size:
            raise Damaged("a fill that does not say its size")
        found["fill"].append((*place, start, end, int(size[1]), correlation))
    else:
        raise Odd("work that does not say what it is")
