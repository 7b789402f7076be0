"""Messages of Chakra's protobuf traces: attributes of many types, and values written as Python writes them.

Field numbers are those of et_def.proto (mlcommons/chakra, schema/protobuf). A value of an attribute stands in field
3 + 2 x type, a list of such values one field further.
"""

import json
import math
import re
import struct
from collections.abc import Iterator
from decimal import Decimal, InvalidOperation
from functools import lru_cache
from typing import Any

from .graph_json import whole_characters
from .jsonrepair import text_of
from .protobuf import BYTES, Field, MalformedError, double, fields, signed, varints

__all__ = ["attribute", "list_text", "numbers"]

TYPES = (
    *("double", "float", "int32", "int64", "uint32", "uint64", "sint32", "sint64"),
    *("fixed32", "fixed64", "sfixed32", "sfixed64", "bool", "string", "bytes"),
)
FIRST = 3
WIDTHS = {"double": 8, "float": 4, "fixed32": 4, "sfixed32": 4, "fixed64": 8, "sfixed64": 8}
LONGEST_SHOWN = 64
PYTHON = re.compile(
    r"""'(?:[^'\\]|\\.)*+(?:'|\\?\Z)|"(?:[^"\\]|\\.)*+(?:"|\\?\Z)|\b(?:None|True|False)\b|-?\b(?:nan|inf)\b""",
    re.DOTALL,
)
WORDS = {"None": "null", "True": "true", "False": "false", "nan": '"nan"', "inf": '"inf"', "-inf": '"-inf"'}
ESCAPE = re.compile(r"""\\x([0-9a-fA-F]{2})|\\(')|(?<!\\)(")""")


def attribute(content: bytes) -> tuple[str, Any]:
    """The name and the value of an attribute; None where it has no value."""
    name, value = "", None
    listed: list[Any] | None = None
    for number, wire, found, inner in fields(content):
        kind = TYPES[(number - FIRST) // 2] if FIRST <= number < FIRST + 2 * len(TYPES) else None
        if number == 1 and wire == BYTES:
            name = inner.decode("utf-8", "replace")
        elif kind and (number - FIRST) % 2 and wire == BYTES:
            listed = (listed or []) + [_scalar(kind, *one) for one in _items(kind, inner)]
        elif kind:
            value = _scalar(kind, found, inner)
    return name, value if listed is None else listed


def numbers(found: Field) -> list[int]:
    """The numbers of a repeated field, packed or one by one."""
    _, wire, value, content = found
    return varints(content) if wire == BYTES else [value]


@lru_cache(4096)
def list_text(text: str) -> str:
    """The list as JSON that Python or JSON wrote; what is neither, as one JSON text."""
    try:
        readable = whole_characters(PYTHON.sub(_as_json, text))
        return text_of(json.loads(readable, parse_float=Decimal, parse_constant=str))
    except (ValueError, RecursionError, InvalidOperation):
        return json.dumps(text, ensure_ascii=False)


def _as_json(found: re.Match[str]) -> str:
    token = found[0]
    if token in WORDS:
        return WORDS[token]
    if token[0] == '"':
        return token
    return '"' + ESCAPE.sub(lambda e: f"\\u00{e[1]}" if e[1] else e[2] or '\\"', token[1:-1]) + '"'


def _items(kind: str, content: bytes) -> Iterator[tuple[int, bytes]]:
    """The values of a list, packed or one by one."""
    for number, wire, value, inner in fields(content):
        if number != 1:
            continue
        if wire != BYTES or kind in ("string", "bytes"):
            yield value, inner
        elif kind in WIDTHS:
            width = WIDTHS[kind]
            if len(inner) % width:
                raise MalformedError(0, "the end within a number")
            for at in range(0, len(inner), width):
                yield int.from_bytes(inner[at : at + width], "little"), b""
        else:
            yield from ((one, b"") for one in varints(inner))


def _scalar(kind: str, value: int, content: bytes) -> Any:
    if kind == "string":
        return content.decode("utf-8", "replace")
    if kind == "bytes":
        return content.hex() if len(content) <= LONGEST_SHOWN else f"{len(content)} bytes"
    if kind == "bool":
        return bool(value)
    if kind in ("double", "float"):
        number = double(value) if kind == "double" else struct.unpack("<f", struct.pack("<I", value & 0xFFFF_FFFF))[0]
        return number if math.isfinite(number) else repr(number)
    if kind in ("sint32", "sint64"):
        return (value >> 1) ^ -(value & 1)
    if kind == "sfixed32":
        return value - (1 << 32) if value >> 31 & 1 else value
    return signed(value) if kind in ("int32", "int64", "sfixed64") else value
