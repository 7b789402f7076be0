"""Protobuf messages for tests, written field by field, and what a reader makes of them."""

import tempfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pyarrow.parquet as pq

from tracelode.collect.files import Reader, open_file
from tracelode.collect.sink import Sink
from tracelode.store import Archive, Facts
from tracelode.store.trace import Note

Value = int | str | bytes
Read = Callable[[bytes], tuple[dict[str, list[dict[str, Any]]], dict[str, Note], Facts]]


def varint(value: int) -> bytes:
    """The number as a varint; a negative one in two's complement of 64 bits."""
    value &= (1 << 64) - 1
    out = bytearray()
    while value > 0x7F:
        out.append(value & 0x7F | 0x80)
        value >>= 7
    return bytes([*out, value])


def message(*parts: tuple[int, Value]) -> bytes:
    """A message of those fields: numbers as varints, text and bytes with their length."""
    out = b""
    for number, value in parts:
        if isinstance(value, int):
            out += varint(number << 3) + varint(value)
            continue
        content = value.encode() if isinstance(value, str) else value
        out += varint(number << 3 | 2) + varint(len(content)) + content
    return out


def fixed64(number: int, value: int) -> bytes:
    """A field of 64 bits."""
    return varint(number << 3 | 1) + value.to_bytes(8, "little")


def told(
    reader: Reader, content: bytes, *, recognised: bool = True
) -> tuple[dict[str, list[dict[str, Any]]], dict[str, Note], Facts]:
    """The rows of each table without their nulls, the notes by kind, and the facts."""
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "trace"
        path.write_bytes(content)
        file = open_file(path)
        assert reader.recognises(file) or not recognised
        with Archive(Path(folder) / "archive").stage() as staging:
            sink = Sink(staging)
            facts = reader.read(file, sink)
            notes = {note.kind: note for note in sink.finish()}
            names = list(staging.finish())
            tables = {name: pq.read_table(staging.path / f"{name}.parquet").to_pylist() for name in names}
    rows = {n: [{k: v for k, v in row.items() if v is not None} for row in t] for n, t in tables.items()}
    return rows, notes, facts
