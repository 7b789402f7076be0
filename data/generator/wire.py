"""Protobuf messages, written field by field; and their fields again."""

from collections.abc import Iterator

__all__ = ["fields", "fixed64", "message", "varint"]


def varint(value: int) -> bytes:
    """Returns the number as a varint; a negative one in two's complement of 64 bits."""
    value &= (1 << 64) - 1
    out = bytearray()
    while value > 0x7F:
        out.append(value & 0x7F | 0x80)
        value >>= 7
    return bytes([*out, value])


def message(*parts: tuple[int, int | str | bytes]) -> bytes:
    """Returns a message of those fields: numbers as varints, text and bytes with their length."""
    out = b""
    for number, value in parts:
        if isinstance(value, int):
            out += varint(number << 3) + varint(value)
            continue
        content = value.encode() if isinstance(value, str) else value
        out += varint(number << 3 | 2) + varint(len(content)) + content
    return out


def fixed64(number: int, value: int) -> bytes:
    """Returns a field of 64 bits."""
    return varint(number << 3 | 1) + value.to_bytes(8, "little")


def fields(content: bytes) -> Iterator[tuple[int, int | bytes]]:
    """Yields the fields of a message that was written here: each with its number."""
    at = 0
    while at < len(content):
        tag, at = _number(content, at)
        if tag & 7 == 1:
            yield tag >> 3, int.from_bytes(content[at : at + 8], "little")
            at += 8
            continue
        value, at = _number(content, at)
        if tag & 7 == 2:
            yield tag >> 3, content[at : at + value]
            at += value
        else:
            yield tag >> 3, value


def _number(content: bytes, at: int) -> tuple[int, int]:
    """Returns the varint at that place, and where it ends."""
    value, shift = 0, 0
    while content[at] > 0x7F:
        value |= (content[at] & 0x7F) << shift
        at, shift = at + 1, shift + 7
    return value | content[at] << shift, at + 1
