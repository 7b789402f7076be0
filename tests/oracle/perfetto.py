"""Perfetto traces of rocprofv3 by a plain decoder: slices with interned names, paired by track."""

import re
from pathlib import Path
from typing import Any

from tests.oracle.rows import Damaged, Odd, Row, Rows, rows, unpacked
from tests.oracle.wire import fields, inner, number, signed, text

COPY = re.compile(r"(HOST|DEVICE)_TO_(HOST|DEVICE)")
BOOT, OWN = 6, 64
PLACES = {
    "hip_api": {"tid"},
    "hsa_api": {"tid"},
    "kernel_dispatch": {"agent", "queue"},
    "memory_copy": {"src_agent", "dst_agent", "stream_ID", "copy_bytes"},
}
"""The arguments that tell where something ran."""
KNOWN = {3, 6, 8, 10, 11, 12, 13, 33, 35, 36, 41, 42, 45, 58, 59, 60, 69, 79, 87, 89}


def read(path: Path) -> Rows:
    found: dict[str, list[Row]] = {"kernel": [], "copy": [], "api": []}
    packets = [inside for field, wire, _, inside in fields(unpacked(path)) if (field, wire) == (1, 2)]
    processes = {number(inner(d, 3)[-1], 1) for p in packets for d in inner(p, 60) if inner(d, 3)}
    if len(processes) != 1:
        raise Odd("not one process")
    process = signed(processes.pop() or 0)
    interned: dict[int, dict[int, str]] = {1: {}, 2: {}, 3: {}}
    begun: dict[int, list[tuple[int, str, str, dict[str, Any]]]] = {}
    clock, now = BOOT, 0
    for packet in packets:
        if {field for field, *_ in fields(packet)} - KNOWN or number(packet, 10) not in (1, 2):
            raise Odd("a packet that is not usual")
        if (number(packet, 13) or 0) & 1:
            interned, clock = {1: {}, 2: {}, 3: {}}, BOOT
        for defaults in inner(packet, 59):
            clock = number(defaults, 58, clock)
        for snapshot in inner(packet, 6):
            own = [one for one in inner(snapshot, 1) if number(one, 1) == OWN]
            if own and (number(own[-1], 3), number(own[-1], 4, 1)) != (1, 1):
                raise Odd("a clock of its own that is not counted by differences")
            now = number(own[-1], 2) if own else now
        for content in inner(packet, 12):
            for table, _, _, entry in fields(content):
                interned.setdefault(table, {})[number(entry, 1) or 0] = text(entry, 2)
        time, told = number(packet, 8) or 0, number(packet, 58, clock)
        if told == OWN:
            time = now = (now or 0) + time
        for event in inner(packet, 11):
            if told not in (BOOT, OWN):
                raise Odd("another clock")
            kind, track = number(event, 9), number(event, 11) or 0
            if kind == 4:
                continue  # a sample of a counter
            if kind == 1:
                said = {}
                for one in inner(event, 4):
                    key = interned[3][number(one, 1) or 0]
                    said[key] = _value(one)
                names = interned[1][number(event, 3) or 0], interned[2][number(event, 10) or 0]
                begun.setdefault(track, []).append((time, *names, said))
            elif kind == 2 and begun.get(track):
                _slice(process, *begun[track].pop(), time, found)
            else:
                raise Damaged("an event that neither begins nor ends a slice")
    if any(begun.values()):
        raise Damaged("a slice that never ends")
    return rows(**found)


def _value(annotation: bytes) -> int | str | None:
    """What an annotation says: text, a number, or one with a sign."""
    if inner(annotation, 6):
        return text(annotation, 6)
    negative = number(annotation, 4, None)
    return number(annotation, 3, None) if negative is None else signed(negative)


def _agent(told: int | str) -> int:
    """The number of an agent, which newer releases write into a text."""
    if isinstance(told, int):
        return told
    found = re.fullmatch(r"[A-Za-z]+[ -]?\[?(\d{1,6})\]?", told)
    if not found:
        raise Odd("an agent that is not called by its number")
    return int(found[1])


def _slice(
    process: int, start: int, category: str, name: str, said: dict[str, Any], end: int, found: dict[str, list[Row]]
) -> None:
    if any(value is None for value in said.values()):
        raise Odd("an argument that is neither a number nor text")
    correlation = said.get("corr_id")
    if category in PLACES and not PLACES[category] <= said.keys():
        raise Odd("a place that stands elsewhere, or nowhere")
    if isinstance(said.get("tid"), str):
        raise Odd("a thread that is called by a text")
    if category in ("hip_api", "hsa_api"):
        found["api"].append((process, said["tid"], start, end, name, correlation))
    elif category == "kernel_dispatch":
        found["kernel"].append((process, _agent(said["agent"]), said["queue"], start, end, name, correlation))
    elif category == "memory_copy":
        copied = COPY.search(name)
        if not copied:
            raise Odd("a copy that does not say its direction")
        kind = f"{copied[1][0]}to{copied[2][0]}"
        if kind == "HtoH":
            raise Odd("a copy that no device does")
        device = _agent(said["src_agent" if kind == "DtoH" else "dst_agent"])
        place = process, device, said["stream_ID"], start, end
        found["copy"].append((*place, kind, said["copy_bytes"], correlation))
    elif category != "marker_api":
        raise Odd("a category that is not usual")
