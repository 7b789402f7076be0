"""Execution graphs of Chakra (`*.et`): metadata, then one protobuf message a node, each after its length.

Nodes depend on each other by control and by data. What PyTorch said of a node stands in its attributes; converters
and simulators add their own. Nodes are taken one by one; what of them must be joined is told with `Nodes`.
"""

import re
from itertools import chain, islice
from typing import Any

from ...store.errors import UnreadableFile
from ...store.trace import Facts
from ..chakra_messages import attribute, list_text, numbers
from ..files import TraceFile
from ..graph_nodes import KINDS, Nodes, Row, json_text, nanoseconds
from ..protobuf import BYTES, VARINT, Damage, MalformedError, delimited, fields
from ..sink import Sink

__all__ = ["VERSION", "read", "recognises"]

VERSION = 1

EITHER = (VARINT, BYTES)
NODE_WIRES = (
    dict.fromkeys((1, 3, 6, 7), (VARINT,)) | {4: EITHER, 5: EITHER} | dict.fromkeys((2, 8, 9, 10, 11), (BYTES,))
)
"""Wire types of a node's fields; lists of numbers are packed, or not."""
HIGHEST_TYPE = 32
LOOKED_AT = 64
ATTRIBUTE_NAME = re.compile(r"[A-Za-z_][\w .\-]{0,80}")
IO = {
    8: ("inputs", "shapes", "types"),
    9: ("outputs", "output_shapes", "output_types"),
}


def recognises(file: TraceFile) -> bool:
    """Whether the content is a stream of messages: metadata or a node, then nodes only; attributes or a named node."""
    named = described = False
    for at, message in enumerate(islice(delimited((file.head,), Damage()), LOOKED_AT)):
        metadata = at == 0 and _is_metadata(message)
        if not metadata and not _is_node(message):
            return False
        described |= metadata and any(_is_attribute(content) for _, _, _, content in fields(message))
        named |= not metadata and any(n == 2 and c for n, _, _, c in fields(message))
    return named or described


def read(file: TraceFile, sink: Sink) -> Facts:
    """Hands every node to the sink and returns the facts; `UnreadableFile` where damage leaves no node."""
    damage = Damage()
    messages = delimited(file.blocks(), damage)
    first = next(messages, b"")
    metadata = _metadata(first) if _is_metadata(first) else None
    said = metadata or {}
    pid = said.get("pid")
    nodes = Nodes(sink, pid if type(pid) is int and 0 <= pid < 1 << 63 else 0)
    for message in messages if metadata is not None else chain((first,), messages):
        try:
            nodes.add(*_node(message, sink))
        except MalformedError as error:
            sink.note("bad-node", "parts of the graph or tree that are no nodes: left out", example=str(error))
    if not nodes.finish() and damage.count:
        raise UnreadableFile(f"{file.path}: damaged ({damage.first}), without any node", "copy or convert it again")
    if damage.count and not file.damage:
        meaning = "the file ends early: events after that point are missing"
        sink.note("truncated", meaning, count=damage.count, example=damage.first)
    labels = {k: v if isinstance(v, str) else json_text(v, sink) or "" for k, v in said.items()}
    schema = said.get("schema")
    return Facts("chakra", producer="Chakra" if schema is None else f"Chakra, schema {schema}", labels=labels)


def _is_metadata(message: bytes) -> bool:
    """Whether it is a GlobalMetadata: a version, and attributes with a name; older ones have no version."""
    try:
        for number, wire, _, content in fields(message):
            if wire != BYTES or number not in (1, 2):
                return False
            if number == 2 and not _is_attribute(content):
                return False
            if number == 1 and not content.isascii() and not _is_attribute(content):
                return False
    except MalformedError:
        return False
    return True


def _is_attribute(content: bytes) -> bool:
    try:
        return ATTRIBUTE_NAME.fullmatch(attribute(content)[0]) is not None
    except MalformedError:
        return False


def _metadata(message: bytes) -> Row:
    """The attributes of the trace by name; the version of the format as `version`."""
    said: Row = {}
    for number, _, _, content in fields(message):
        if number == 2 or _is_attribute(content):
            name, value = attribute(content)
            said[name] = value
        else:
            said["version"] = content.decode("utf-8", "replace")
    return said


def _is_node(message: bytes) -> bool:
    try:
        parts = list(fields(message))
    except MalformedError:
        return False
    types = [value for number, _, value, _ in parts if number == 3]
    return (
        all(wire in NODE_WIRES.get(number, ()) for number, wire, _, _ in parts)
        and any(number in (2, 3) for number, *_ in parts)
        and all(value <= HIGHEST_TYPE for value in types)
    )


def _node(message: bytes, sink: Sink) -> tuple[Row, Row]:
    """The row of a node, and its attributes. A number that is 0 is not written: the id of the first node, a type."""
    row: Row = {"id": 0}
    attributes: Row = {}
    control: list[int] = []
    data: list[int] = []
    kind = 0
    for found in fields(message):
        number, wire, value, content = found
        if wire not in NODE_WIRES.get(number, ()):
            attributes[f"field {number}"] = _shown(value, content)
        elif number == 1:
            row["id"] = value
        elif number == 2:
            row["name"] = content.decode("utf-8", "replace")
        elif number == 3:
            kind = value
        elif number == 4:
            control += numbers(found)
        elif number == 5:
            data += numbers(found)
        elif number in (6, 7):
            row["start_ns" if number == 6 else "time_ns"] = nanoseconds(value)
        elif number in IO:
            row |= _values(content, IO[number])
        elif number == 10:
            name, said = attribute(content)
            attributes[name] = said
        else:
            attributes["storage"] = _shown(value, content)
    row["kind"] = KINDS.get(kind, f"type {kind}")
    row["parent"] = control[0] if control else None
    row["control"] = json_text(control, sink) if len(control) > 1 else None
    row["data"] = json_text(data, sink) if data else None
    return row, attributes


def _values(content: bytes, columns: tuple[str, str, str]) -> Row:
    found: Row = {}
    for number, wire, _, inner in fields(content):
        if wire == BYTES and number in (1, 2, 3):
            found[columns[number - 1]] = list_text(inner.decode("utf-8", "replace"))
    return found


def _shown(value: int, content: bytes) -> Any:
    """A field that is not understood, as it stands in the file."""
    return content.hex() or value
