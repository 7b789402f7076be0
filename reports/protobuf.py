"""Protobuf messages, written field by field."""

__all__ = ["message", "varint"]


def varint(value: int) -> bytes:
    """The number as a varint; a negative one in two's complement of 64 bits."""
    value &= (1 << 64) - 1
    out = bytearray()
    while value > 0x7F:
        out.append(value & 0x7F | 0x80)
        value >>= 7
    return bytes([*out, value])


def message(*parts: tuple[int, int | str | bytes]) -> bytes:
    """A message of those fields: numbers as varints, text and bytes with their length.

    >>> message((1, 150), (2, "testing")).hex()
    '089601120774657374696e67'
    """
    out = bytearray()
    for number, value in parts:
        if isinstance(value, int):
            out += varint(number << 3) + varint(value)
            continue
        content = value.encode("utf-8", "replace") if isinstance(value, str) else value
        out += varint(number << 3 | 2) + varint(len(content)) + content
    return bytes(out)
