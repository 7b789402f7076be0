"""Protobuf messages read field by field from bytes, without generated code: varints, fixed words, lengths, groups.

The caller knows the numbers and the meaning of fields. Every length is checked against the bytes there are; nothing
is allocated on the word of the data alone.
"""

import struct
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass

__all__ = [
    "BYTES",
    "FIXED32",
    "FIXED64",
    "VARINT",
    "Damage",
    "Field",
    "MalformedError",
    "check",
    "delimited",
    "double",
    "fields",
    "pieces",
    "signed",
    "streamed",
    "varints",
]

VARINT, FIXED64, BYTES, GROUP, GROUP_END, FIXED32 = range(6)
MOST_HEAD = 32
"""Bytes that the number of a field and its length, or its value, take at most."""
MOST_BYTES = 1 << 31
"""No message of protobuf is longer."""
DEEPEST = 64
"""Groups within groups before the data is taken for damaged."""

Field = tuple[int, int, int, bytes]
"""A field: its number, its wire type, its value where that is a number (else 0), its content where it has one."""


class MalformedError(ValueError):
    """The bytes are no whole message; it says where reading stopped."""

    def __init__(self, position: int, what: str) -> None:
        super().__init__(f"{what} at byte {position}")
        self.position, self.what = position, what


@dataclass
class Damage:
    """How often containers ended early, and the first case."""

    count: int = 0
    first: str | None = None

    def add(self, what: str) -> None:
        """Counts one case."""
        self.count += 1
        self.first = self.first or what


def fields(data: bytes, at: int = 0, end: int | None = None) -> Iterator[Field]:
    """The fields of one message in order; groups are skipped. `MalformedError` where the bytes are no whole message."""
    size = len(data) if end is None else end
    while at < size:
        key = data[at]
        at += 1
        if key > 0x7F:  # most numbers are one byte, so a call is worth avoiding
            key, at = _varint(data, at - 1, size)
        number, wire = key >> 3, key & 7
        if not 0 < number < 1 << 29:
            raise MalformedError(at, f"field number {number}")
        if wire == VARINT:
            value, at = _varint(data, at, size)
            yield number, wire, value, b""
        elif wire == BYTES:
            length = data[at] if at < size else 0x80
            at += 1
            if length > 0x7F:
                length, at = _varint(data, at - 1, size)
            if length > size - at:
                raise MalformedError(at, f"a field of {length} bytes where {size - at} are left")
            yield number, wire, 0, data[at : at + length]
            at += length
        elif wire in (FIXED64, FIXED32):
            width = 8 if wire == FIXED64 else 4
            if width > size - at:
                raise MalformedError(at, "the end within a number")
            yield number, wire, int.from_bytes(data[at : at + width], "little"), b""
            at += width
        else:
            at = _after_group(data, at, size, number, wire)


def pieces(data: bytes, damage: Damage) -> Iterator[Field]:
    """The fields of a container as far as they go: where it is cut or damaged, the damage is counted, not raised.

    A content that is cut by the end of the data is given as far as it is there, since containers hold containers.
    """
    return streamed((data,), damage)


def streamed(blocks: Iterable[bytes], damage: Damage) -> Iterator[Field]:
    """The same of a container that comes in blocks: no more than one of its fields and a block is held."""
    held = _Held(blocks)
    at = held.keep(0, MOST_HEAD)
    while at < len(held.data):
        start = at
        try:
            key, at = _varint(held.data, at, len(held.data))
            if not 0 < key >> 3 < 1 << 29:
                raise MalformedError(at, f"field number {key >> 3}")
            if key & 7 == VARINT:
                value, at = _varint(held.data, at, len(held.data))
                yield key >> 3, VARINT, value, b""
                at = held.keep(at, MOST_HEAD)
                continue
            if key & 7 != BYTES:
                start, at = _ended(held, start)
                yield from fields(held.data, start, at)
                at = held.keep(at, MOST_HEAD)
                continue
            length, at = _varint(held.data, at, len(held.data))
        except MalformedError as error:
            damage.add(held.told(error))
            return
        at, cut = held.content(at, length, "field")
        if cut is not None:
            damage.add(cut)
        yield key >> 3, BYTES, 0, held.data[at : at + length]
        at = held.keep(min(at + length, len(held.data)), MOST_HEAD)


class _Held:
    """A part of content that comes in blocks: `data`, and how many bytes of it came `before`."""

    def __init__(self, blocks: Iterable[bytes]) -> None:
        self._blocks = iter(blocks)
        self.data, self.before, self.is_last = b"", 0, False

    def keep(self, at: int, size: int) -> int:
        """Keeps what stands from there on, and sees to it that so much does, or all that is left; where it is then."""
        there = len(self.data) - at
        if self.is_last or there >= size:
            return at
        parts = [self.data[at:]] if there else []
        for block in self._blocks:
            parts.append(block)
            there += len(block)
            if there >= size:
                break
        else:
            self.is_last = True
        self.before += at
        self.data = parts[0] if len(parts) == 1 else b"".join(parts)
        return 0

    def content(self, at: int, length: int, what: str) -> tuple[int, str | None]:
        """Sees to it that so much content is there; where it is then, and what to say where there is less."""
        at = self.keep(at, min(length, MOST_BYTES))
        there = len(self.data) - at
        if length <= there:
            return at, None
        return at, f"a {what} of {length} bytes where {there} are left at byte {self.before + at}"

    def told(self, error: MalformedError) -> str:
        """The error by its place in the whole content."""
        return str(MalformedError(self.before + error.position, error.what))


def _ended(held: _Held, at: int) -> tuple[int, int]:
    """Where a field that is no bytes begins and ends; a group may be longer than what is held."""
    while True:
        try:
            return at, _after(held.data, at)
        except MalformedError:
            if held.is_last or held.data[at] & 7 != GROUP:
                raise
            at = held.keep(at, 2 * (len(held.data) - at))


def delimited(blocks: Iterable[bytes], damage: Damage) -> Iterator[bytes]:
    """The messages of a stream in which each follows its length; one that is cut is counted as damage, not given."""
    held = _Held(blocks)
    at = held.keep(0, MOST_HEAD)
    while at < len(held.data):
        try:
            length, at = _varint(held.data, at, len(held.data))
        except MalformedError as error:
            damage.add(held.told(error))
            return
        at, cut = held.content(at, length, "message")
        if cut is not None:
            damage.add(cut)
            return
        yield held.data[at : at + length]
        at = held.keep(at + length, MOST_HEAD)


def varints(content: bytes) -> list[int]:
    """The numbers of a packed field."""
    at, values = 0, list[int]()
    while at < len(content):
        value, at = _varint(content, at, len(content))
        values.append(value)
    return values


def check(number: int, wire: int, wires: Mapping[int, int]) -> None:
    """Raises `MalformedError` for a field whose wire type is not the one that fields of its number have."""
    if wires.get(number, wire) != wire:
        raise MalformedError(0, f"field {number} of wire type {wire}, in a message that begins")


def signed(value: int) -> int:
    """The number as the schema's int64 or int32: two's complement of 64 bits."""
    value &= (1 << 64) - 1
    return value - (1 << 64) if value >> 63 else value


def double(value: int) -> float:
    """The number whose bits the 64-bit field holds."""
    return struct.unpack("<d", struct.pack("<Q", value))[0]


def _after(data: bytes, at: int) -> int:
    """Where the field that begins there ends; `MalformedError` as `fields` raises it."""
    size = len(data)
    key, at = _varint(data, at, size)
    number, wire = key >> 3, key & 7
    if not 0 < number < 1 << 29:
        raise MalformedError(at, f"field number {number}")
    if wire in (GROUP, GROUP_END) or wire > FIXED32:
        return _after_group(data, at, size, number, wire)
    return _after_value(data, at, size, wire)


def _varint(data: bytes, at: int, size: int) -> tuple[int, int]:
    """A varint and where it ends; at most ten bytes, of which 64 bits count."""
    if at < size and data[at] < 0x80:
        return data[at], at + 1
    value = shift = 0
    for place in range(at, min(at + 10, size)):
        byte = data[place]
        value |= (byte & 0x7F) << shift
        if byte < 0x80:
            return value & 0xFFFF_FFFF_FFFF_FFFF, place + 1
        shift += 7
    raise MalformedError(at, "the end within a number" if at + 10 > size else "a number of more than ten bytes")


def _after_value(data: bytes, at: int, size: int, wire: int) -> int:
    if wire == VARINT:
        return _varint(data, at, size)[1]
    length = 8 if wire == FIXED64 else 4
    if wire == BYTES:
        length, at = _varint(data, at, size)
    if length > size - at:
        raise MalformedError(at, f"a field of {length} bytes where {size - at} are left")
    return at + length


def _after_group(data: bytes, at: int, size: int, number: int, wire: int) -> int:
    """Where the group ends that began before `at`."""
    if wire != GROUP:
        raise MalformedError(at, f"wire type {wire}")
    open_groups = [number]
    while open_groups:
        key, at = _varint(data, at, size)
        number, wire = key >> 3, key & 7
        if wire == GROUP_END:
            if number != open_groups.pop():
                raise MalformedError(at, "groups that overlap")
        elif wire == GROUP:
            open_groups.append(number)
            if len(open_groups) > DEEPEST:
                raise MalformedError(at, f"groups more than {DEEPEST} deep")
        elif wire > FIXED32:
            raise MalformedError(at, f"wire type {wire}")
        else:
            at = _after_value(data, at, size, wire)
    return at
