"""Protobuf messages, written field by field."""

__all__ = ["fixed64", "message", "varint"]


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
