"""The form of `python.spool`: chunks of columns, as the reader of recordings takes them.

Little endian. A chunk is a header of 32 bytes and its payload: the columns of a table one after another, each padded to
8 bytes, or a JSON text. The first chunk of a file describes the tables.
"""

from __future__ import annotations

import json
import struct
import sys
from array import array
from collections.abc import Mapping, Sequence

__all__ = ["NONE", "ROWS", "TABLES", "encode_names", "encode_rows", "encode_schema", "encode_text"]

NONE = 0xFFFFFFFF
"""Stands for "no name" and "no thread"."""

HEADER = struct.Struct("<4sHHIIQQ")
SCHEMA, TEXT = 0, 1

TABLES: Mapping[str, tuple[int, tuple[tuple[str, str], ...]]] = {
    "name": (2, (("id", "u4"), ("bytes", "u4"))),
    "range": (3, (("start", "u8"), ("end", "u8"), ("thread", "u4"), ("depth", "u4"), ("name", "u4"), ("kind", "u1"))),
    "op": (
        4,
        (
            ("start", "u8"),
            ("end", "u8"),
            ("thread", "u4"),
            ("name", "u4"),
            ("sequence", "i8"),
            ("phase", "u1"),
            ("shapes", "u4"),
            ("types", "u4"),
            ("stack", "u4"),
        ),
    ),
    "tensor": (
        5,
        (
            ("time", "u8"),
            ("address", "u8"),
            ("bytes", "i8"),
            ("device", "i4"),
            ("event", "u1"),
            ("thread", "u4"),
            ("owner", "u4"),
            ("stack", "u4"),
        ),
    ),
}
"""The tables of the file: their numbers and their columns, in the order of a row."""

ROWS: Mapping[str, int] = {
    table: sum(int(code[1]) for _, code in columns) for table, (_, columns) in TABLES.items() if table != "name"
}
"""The tables of events, with the bytes of a row."""

CODES = {"u1": "B", "u4": "I", "u8": "Q", "i4": "i", "i8": "q"}


def encode_schema(sequence: int, thread: int) -> bytes:
    """The chunk that describes the tables."""
    tables = {
        name: {"kind": kind, "columns": columns, **({"tail": True} if name == "name" else {})}
        for name, (kind, columns) in TABLES.items()
    }
    return _json({"spool": 1, "tables": tables}, SCHEMA, sequence, thread)


def encode_text(said: Mapping[str, object], sequence: int, thread: int) -> bytes:
    """A chunk with a JSON object."""
    return _json(said, TEXT, sequence, thread)


def encode_rows(table: str, cells: Sequence[int], sequence: int, thread: int, tail: bytes = b"") -> bytes:
    """A chunk with rows of a table, of which there is at least one: their cells, row after row."""
    kind, columns = TABLES[table]
    width = len(columns)
    payload = [_packed(code, cells[place::width]) for place, (_, code) in enumerate(columns)]
    payload.append(_padded(tail))
    return _chunk(kind, width, len(cells) // width, sequence, thread, b"".join(payload))


def encode_names(names: Sequence[tuple[int, bytes]], sequence: int, thread: int) -> bytes:
    """A chunk with texts and their numbers, of which there is at least one."""
    cells = [cell for number, text in names for cell in (number, len(text))]
    return encode_rows("name", cells, sequence, thread, b"".join(text for _, text in names))


def _json(said: object, kind: int, sequence: int, thread: int) -> bytes:
    text = json.dumps(said).encode()
    return _chunk(kind, 1, 1, sequence, thread, text + b" " * (-len(text) % 8))


def _chunk(kind: int, columns: int, rows: int, sequence: int, thread: int, payload: bytes) -> bytes:
    return HEADER.pack(b"TLC1", kind, columns, rows, thread, len(payload), sequence) + payload


def _packed(code: str, values: Sequence[int]) -> bytes:
    column = array(CODES[code], values)
    if sys.byteorder == "big":
        column.byteswap()
    return _padded(column.tobytes())


def _padded(payload: bytes) -> bytes:
    return payload + b"\0" * (-len(payload) % 8)
