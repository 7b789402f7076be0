"""Kineto by the json module: exact times from decimal digits. Device work without its process: lanes do not say it."""

import json
import re
from decimal import Decimal
from pathlib import Path
from typing import Any

from tests.oracle.rows import Damaged, Odd, Row, Rows, rows, unpacked

KINDS = {"kernel": "kernel", "gpu_memcpy": "copy", "memcpy": "copy", "gpu_memset": "fill", "memset": "fill"}
CALLS = {"runtime", "driver"}
COPY = re.compile(r"Memcpy (\w+) \(\w+ -> \w+\)|.*?Copy(Host|Device)To(Host|Device)", re.DOTALL)


def read(path: Path) -> Rows:
    text = unpacked(path).decode("utf-8-sig", "replace")
    listed = re.search(r"\"traceEvents\"\s*:\s*", text)
    begin = listed.end() if listed else 0
    decoder = json.JSONDecoder(strict=False, parse_float=Decimal, parse_int=_integer, object_pairs_hook=_once)
    events, _ = decoder.raw_decode(
        text.lstrip() if not listed else text, begin
    )  # what stands around them is not judged
    found: dict[str, list[Row]] = {"kernel": [], "copy": [], "fill": [], "api": []}
    for event in events:
        if not isinstance(event, dict) or not isinstance(event.get("ph"), str):
            raise Damaged("an element that is no event")
        if event["ph"] == "X":
            _span(event, found)
    return rows(**found)


def _integer(digits: str) -> int | Decimal:
    return int(digits) if len(digits) < 4300 else Decimal(digits)  # which is as far as Python reads them


def _once(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    found = dict(pairs)
    if len(found) < len(pairs):
        raise Damaged("a key that is given twice")
    return found


def _span(event: dict[str, Any], found: dict[str, list[Row]]) -> None:
    category = str(event.get("cat") or "").lower()
    call = category in CALLS or category.endswith(("_runtime", "_driver"))
    table = "api" if call else KINDS.get(category)
    if table is None:
        return
    if "dur" not in event:
        raise Damaged("a span without a duration")
    said = event.get("args") or {}
    start = _ns(event["ts"])
    times = start, start + _ns(event["dur"])
    name, correlation = event["name"], _whole(said.get("correlation"))
    if not isinstance(name, str):
        raise Damaged("a name that is no text")
    if call and said.get("device") is not None and said.get("device") == event.get("pid"):
        raise Odd("a call in the lane of a device")
    if call:
        found["api"].append((_lane(event.get("pid")), _lane(event.get("tid")), *times, name, correlation))
        return
    device, stream = (_whole(said.get(what)) for what in ("device", "stream"))
    device = _whole(said.get("Device Id")) if device is None else device
    device = _whole(said.get("inDevice")) if device is None else device
    place = (
        None,
        _whole(event.get("pid")) if device is None else device,
        _lane(event.get("tid")) if stream is None else stream,
    )
    if None in place[1:]:
        raise Damaged("work without a place")
    if table == "kernel":
        found["kernel"].append((*place, *times, name, correlation))
        return
    size = _whole(said.get("bytes", said.get("Bytes")))
    if table == "fill":
        found["fill"].append((*place, *times, size, correlation))
        return
    matched = COPY.match(name)
    kind = matched[1] or f"{matched[2][0]}to{matched[3][0]}" if matched else said.get("kind")
    found["copy"].append((*place, *times, kind, size, correlation))


def _ns(microseconds: Any) -> int:
    if isinstance(microseconds, bool):
        raise Damaged("a time that is no number")
    number = Decimal(microseconds) * 1000
    if not number.is_finite() or abs(number) > 2**62:
        raise Damaged("a time that cannot be")
    return int(number.to_integral_value())


def _whole(value: Any) -> int | None:
    if isinstance(value, bool) or value is None:
        return None
    if isinstance(value, int) and -(2**63) <= value < 2**63:
        return value
    raise Odd(f"{value!r} for a number")


def _lane(value: Any) -> int | None:
    if isinstance(value, str):
        found = re.fullmatch(r"(?:stream )?\s*(-?\d+)\s*", value)
        if not found:
            raise Odd("a lane that is called by a text")
        return int(found[1])
    return _whole(value)
