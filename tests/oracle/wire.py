"""A decoder of protobuf's wire format: fields by their numbers, nothing else."""

from collections.abc import Iterator

from tests.oracle.rows import Damaged

__all__ = ["Field", "fields", "inner", "number", "signed", "text"]

Field = tuple[int, int, int, bytes]


def fields(content: bytes) -> Iterator[Field]:
    """Number, wire type, value (of numbers) and content (of messages and text) of each field."""
    at = 0
    while at < len(content):
        tag, at = _varint(content, at)
        number, wire = tag >> 3, tag & 7
        value, inside = 0, b""
        if wire == 0:
            value, at = _varint(content, at)
        elif wire == 2:
            size, at = _varint(content, at)
            inside, at = content[at : at + size], at + size
        elif wire in (1, 5):
            size = 8 if wire == 1 else 4
            value, at = int.from_bytes(content[at : at + size], "little"), at + size
        else:
            raise Damaged("a wire type that is none")
        if at > len(content) or not number:
            raise Damaged("a field that ends behind its message")
        yield number, wire, value, inside


def _varint(content: bytes, at: int) -> tuple[int, int]:
    value = 0
    for place in range(10):
        if at + place >= len(content):
            raise Damaged("a number that does not end")
        byte = content[at + place]
        value |= (byte & 0x7F) << 7 * place
        if byte < 0x80:
            return value & (1 << 64) - 1, at + place + 1
    raise Damaged("a number of more than ten bytes")


def inner(content: bytes, wanted: int) -> list[bytes]:
    """The messages or texts of that number; `Damaged` where one of them is of another wire type."""
    found = [(wire, inside) for number, wire, _, inside in fields(content) if number == wanted]
    if any(wire != 2 for wire, _ in found):
        raise Damaged(f"field {wanted} is no message and no text")
    return [inside for _, inside in found]


def number(content: bytes, wanted: int, default: int | None = 0) -> int | None:
    """The last number given under that number; `Damaged` where it is of another wire type."""
    found = [(wire, value) for number, wire, value, _ in fields(content) if number == wanted]
    if any(wire != 0 for wire, _ in found):
        raise Damaged(f"field {wanted} is no number")
    return found[-1][1] if found else default


def text(content: bytes, wanted: int) -> str:
    """The last text given under that number; empty where there is none."""
    found = inner(content, wanted)
    return found[-1].decode(errors="replace") if found else ""


def signed(value: int) -> int:
    """A varint that stands for a number with a sign."""
    return value - (1 << 64) if value >> 63 else value
