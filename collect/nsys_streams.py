"""Arrow IPC streams of an Nsight Systems export: one after another in a file, each with its table's name.

The name is the schema's metadata `table_name` (https://docs.nvidia.com/nsight-systems, Analysis Guide, Arrow); the
layout is Arrow's (https://arrow.apache.org/docs/format/Columnar.html#serialization-and-interprocess-communication-ipc).
What the messages claim of their sizes is looked at before any of them is unpacked.
"""

import struct
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path

import pyarrow as pa

from .nsys_columnar import COMPLAINTS, implausible

__all__ = ["FILE", "STREAM", "Part", "StreamTable", "find_parts", "name_of", "schema_of"]

STREAM, FILE = b"\xff\xff\xff\xff", b"ARROW1"
"""How a stream begins, and how the form with a footer does, which holds the same stream from its eighth byte on."""

NAME = b"table_name"
BLOCK = 1 << 16
SCHEMA, DICTIONARY, RECORDS = "schema", "dictionary", "record batch"
BATCH_FIELD, DICTIONARY_DATA, LENGTH, BUFFERS, COMPRESSION = 2, 1, 0, 2, 3
"""Numbers of fields in Message, DictionaryBatch and RecordBatch (format/Message.fbs of Arrow)."""


@dataclass(frozen=True)
class Part:
    """A stream with rows of one table: where it begins, and the number of rows of each of its batches."""

    path: Path
    offset: int
    schema: pa.Schema
    lengths: tuple[int, ...]

    def batches(self, columns: list[str]) -> Iterator[pa.RecordBatch]:
        """Its rows; columns it does not have are left out, at least one is there."""
        wanted = [at for at, name in enumerate(self.schema.names) if name in columns]
        if not wanted:
            for length in self.lengths:
                yield pa.RecordBatch.from_arrays([pa.nulls(length)], names=[""])
            return
        options = pa.ipc.IpcReadOptions(included_fields=wanted, use_threads=False)
        with pa.memory_map(str(self.path)) as source:
            source.seek(self.offset)
            reader = pa.ipc.open_stream(source, options=options)
            for _ in self.lengths:
                batch = reader.read_next_batch()
                arrays = [_sound(array) for array in batch.columns]
                yield pa.RecordBatch.from_arrays(arrays, names=batch.schema.names)


class StreamTable:
    """A table in one stream or several, whose columns may differ: a column is text where it is text in one of them."""

    def __init__(self, parts: list[Part]) -> None:
        self._parts = parts
        self.count = sum(sum(part.lengths) for part in parts)
        fields: dict[str, pa.DataType] = {}
        for part in parts:
            for field in part.schema:
                fields[field.name] = _wider(fields.get(field.name, field.type), field.type)
        self.schema: pa.Schema = pa.schema(fields)

    def batches(self, columns: list[str]) -> Iterator[pa.RecordBatch]:
        """The rows in stored order."""
        for part in self._parts:
            yield from part.batches(columns)


def find_parts(path: Path) -> tuple[list[Part], str | None]:
    """The streams in the file in order, and what stopped their reading before its end; nothing is unpacked."""
    parts: list[Part] = []
    size = path.stat().st_size
    with pa.memory_map(str(path)) as source:
        form = source.read(len(FILE))
        source.seek(8 if form == FILE else 0)
        while _padding_passed(source) + 8 <= size:
            try:
                part, damage = _part(path, source, size)
            except StopIteration:
                return parts, "no schema where a stream should begin"
            except (*COMPLAINTS, struct.error) as error:
                return parts, " ".join(str(error).split())[:200]
            parts += [part] if part else []
            if damage or form == FILE:
                return parts, damage
        rest = size - source.tell()
    return parts, f"{rest} bytes that are no table" if rest > 0 else None


def _padding_passed(source: pa.NativeFile) -> int:
    """Where the next stream begins: zeros may stand between two, the reader in NVIDIA's guide passes over them too."""
    while block := source.read(BLOCK):
        if rest := block.lstrip(b"\0"):
            source.seek(source.tell() - len(rest))
            break
    return source.tell()


def schema_of(head: bytes) -> pa.Schema | None:
    """The schema with which the content begins; None where it begins with none."""
    if not head.startswith((STREAM, FILE)):
        return None
    try:
        return pa.ipc.open_stream(pa.BufferReader(head[8 if head.startswith(FILE) else 0 :])).schema
    except COMPLAINTS:
        return None


def name_of(schema: pa.Schema) -> str | None:
    """The table's name, as the schema's metadata says."""
    metadata: Mapping[bytes, bytes] = schema.metadata or {}
    return metadata[NAME].decode("utf-8", "replace") if NAME in metadata else None


def _part(path: Path, source: pa.NativeFile, size: int) -> tuple[Part | None, str | None]:
    """The stream that begins here, as far as it is sound, and what is wrong with it."""
    offset = source.tell()
    messages = pa.ipc.MessageReader.open_stream(source)
    lengths: list[int] = []
    damage: str | None = None
    first = messages.read_next_message()
    if first.type != SCHEMA:  # Arrow would not look, and crash
        return None, f"a {first.type} where a schema should be"
    schema: pa.Schema = pa.ipc.read_schema(first)
    if len(set(schema.names)) < len(schema.names):
        return None, "two columns of one name"
    try:
        while damage is None:
            begin = source.tell()
            message = messages.read_next_message()
            if message.type == SCHEMA:  # the stream before has no end mark
                source.seek(begin)
                break
            if message.type not in (DICTIONARY, RECORDS):
                return Part(path, offset, schema, tuple(lengths)), f"a {message.type} where rows should be"
            rows, unpacked = _weight(message)
            damage = implausible(sum(lengths) + rows, unpacked, size)
            if message.type == RECORDS and damage is None:
                lengths.append(rows)
    except StopIteration:
        pass
    except (*COMPLAINTS, struct.error) as error:
        damage = " ".join(str(error).split())[:200]
    return Part(path, offset, schema, tuple(lengths)), damage


def _weight(message: pa.Message) -> tuple[int, int]:
    """The rows of a message with a batch, and its bytes when unpacked, as it says itself."""
    data = message.metadata.to_pybytes()
    batch = _table(data, _indirect(data, 0), BATCH_FIELD)
    if message.type == DICTIONARY:
        batch = _table(data, batch, DICTIONARY_DATA)
    at = _field(data, batch, LENGTH)
    rows = struct.unpack_from("<q", data, at)[0] if at else 0
    body = message.body
    there = body.size if body is not None else 0
    vector = _field(data, batch, BUFFERS)
    if not (_field(data, batch, COMPRESSION) and vector and body is not None):
        return rows, there
    first = _indirect(data, vector)
    unpacked = 0
    for number in range(struct.unpack_from("<I", data, first)[0]):
        offset, length = struct.unpack_from("<qq", data, first + 4 + 16 * number)
        if length >= 8 and 0 <= offset <= there - 8:  # a buffer begins with its size, or -1 where it is not packed
            unpacked += max(struct.unpack("<q", body.slice(offset, 8).to_pybytes())[0], 0)
    return rows, unpacked


def _table(data: bytes, table: int, number: int) -> int:
    at = _field(data, table, number)
    if not at:
        raise pa.ArrowInvalid("a message without a batch")
    return _indirect(data, at)


def _field(data: bytes, table: int, number: int) -> int:
    """Where a flatbuffer's table keeps that field; 0 where it does not have it."""
    described = table - struct.unpack_from("<i", data, table)[0]
    if 4 + 2 * number >= struct.unpack_from("<H", data, described)[0]:
        return 0
    offset = struct.unpack_from("<H", data, described + 4 + 2 * number)[0]
    return table + offset if offset else 0


def _indirect(data: bytes, at: int) -> int:
    return at + struct.unpack_from("<I", data, at)[0]


def _sound(array: pa.Array) -> pa.Array:
    """The column after a look at all its offsets and indices; texts as bytes, which need no look at each character."""
    if pa.types.is_dictionary(array.type):
        values = _sound(array.dictionary)
        return pa.DictionaryArray.from_arrays(array.indices, values, safe=True)
    if pa.types.is_string(array.type):
        array = array.cast(pa.binary())
    elif pa.types.is_large_string(array.type):
        array = array.cast(pa.large_binary())
    array.validate(full=True)
    return array


def _wider(one: pa.DataType, other: pa.DataType) -> pa.DataType:
    """The type that holds what both do: a null column is anything, text is more than a number."""
    if one == other or pa.types.is_null(other):
        return one
    if pa.types.is_null(one):
        return other
    integers = pa.types.is_integer(one) and pa.types.is_integer(other)
    numbers = all(pa.types.is_integer(kind) or pa.types.is_floating(kind) for kind in (one, other))
    return pa.int64() if integers else pa.float64() if numbers else pa.string()
