"""Chakra's graphs by their wire format: each node with its type, what it depends on and how long it ran."""

import json
from collections.abc import Iterator
from pathlib import Path

from tests.oracle import wire
from tests.oracle.rows import Damaged, Odd, Row, Rows, rows, unpacked

NODE = {1: 0, 2: 2, 3: 0, 4: None, 5: None, 6: 0, 7: 0, 8: 2, 9: 2, 10: 2}
"""Wire types of a node's fields; lists of numbers are packed, or not."""


KINDS = (
    "invalid", "metadata", "load", "store", "compute", "send", "receive", "collective", "storage", "batch", "checkpoint"
)  # fmt: skip
"""What types of nodes mean, by their number."""


def read(path: Path) -> Rows:
    found: list[Row] = []
    for place, message in enumerate(_messages(unpacked(path))):
        fields = list(wire.fields(message))
        if place or not all(number in (1, 2) and of == 2 for number, of, _, _ in fields):
            found.append(_node(message, fields))
    return rows(node=found)


def _messages(content: bytes) -> Iterator[bytes]:
    at = 0
    while at < len(content):
        size, shift, byte = 0, 0, 0x80
        while byte & 0x80:
            if at == len(content) or shift > 63:
                raise Damaged("a length that does not end")
            byte = content[at]
            size, shift, at = size | (byte & 0x7F) << shift, shift + 7, at + 1
        if at + size > len(content):
            raise Damaged("a message that is longer than what is left")
        yield content[at : at + size]
        at += size


def _node(message: bytes, fields: list[wire.Field]) -> Row:
    if any(NODE.get(number, of) not in (None, of) or number not in NODE for number, of, _, _ in fields):
        raise Odd("a field that nodes do not have")
    name = wire.text(message, 2) if any(number == 2 for number, *_ in fields) else None
    control, data = (
        [one for number, of, value, inside in fields if number == field for one in (_packed(inside) if of else [value])]
        for field in (4, 5)
    )
    number, parent = wire.number(message, 1) or 0, control[0] if control else None
    if max(number, parent or 0) >= 2**63:
        raise Odd("an id that no tool gives")
    kind, *times = (wire.number(message, field, None) for field in (3, 6, 7))
    if (kind or 0) >= len(KINDS) or any(time is not None and time >= 2**53 for time in times):
        raise Odd("a type or a time that no tool gives")
    return (
        number, None if parent == number else parent, name, None, None, None, KINDS[kind or 0],
        *(None if time is None else time * 1000 for time in times),
        json.dumps(control) if len(control) > 1 else None, json.dumps(data) if data else None,
    )  # fmt: skip


def _packed(content: bytes) -> list[int]:
    return [value for _, _, value, _ in wire.fields(b"".join(b"\x08" + one for one in _varints(content)))]


def _varints(content: bytes) -> list[bytes]:
    found, begin = list[bytes](), 0
    for at, byte in enumerate(content):
        if byte < 0x80:
            found.append(content[begin : at + 1])
            begin = at + 1
    if begin < len(content):
        raise Damaged("a number that does not end")
    return found
