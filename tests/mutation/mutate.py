"""Damages a file: from a seed comes always the same mutant."""

import bz2
import gzip
import lzma
import random
import re
import zlib
from collections.abc import Callable

__all__ = ["mutant"]

Random = random.Random
NUMBER = re.compile(rb"-?\d+(?:\.\d+)?")
NUMBERS = (
    b"0", b"-1", b"NaN", b"Infinity", b"-Infinity", b"1e308", b"1e-400", b"9223372036854775807",
    b"9223372036854775808", b"-9223372036854775809", b"18446744073709551616", b"4294967296", b"2147483648",
    b"0x7fffffffffffffff", b"9" * 400, b"1" + b"0" * 5000, b"1.5", b"null", b"true", b'""', b"[]", b"{}",
)  # fmt: skip
MIXED = (b"\xff\xfe\xfd", b"\xed\xa0\x80", b"\\ud800", b"\x00" * 40, b"\xef\xbb\xbf", b"\r\n", b'"', b"\\", b",", b"}")
DEEP = 3000
BOMB_BYTES = 8 << 20


def mutant(content: bytes, seed: int) -> bytes:
    """The content, damaged once or a few times, and sometimes packed or made into a bomb."""
    numbers = random.Random(seed)
    if numbers.random() < 0.01:
        return _bomb(content, numbers)
    changed = content
    for _ in range(numbers.choice((1, 1, 1, 1, 2, 3))):
        changed = numbers.choice(CHANGES)(changed, numbers) or changed
    return _packed(changed, numbers) if numbers.random() < 0.06 else changed


def _place(content: bytes, numbers: Random) -> int:
    """A place in the content; often near its beginning, where heads and schemas are."""
    end = len(content) if numbers.random() < 0.7 else min(len(content), 4096)
    return numbers.randrange(max(end, 1))


def _block(content: bytes, numbers: Random) -> tuple[int, int]:
    begin = _place(content, numbers)
    return begin, min(len(content), begin + numbers.choice((1, 2, 8, 100, 1024, 4096)))


def _flip_bits(content: bytes, numbers: Random) -> bytes:
    changed = bytearray(content)
    for _ in range(numbers.choice((1, 1, 2, 8, 64))):
        changed[_place(content, numbers)] ^= 1 << numbers.randrange(8)
    return bytes(changed)


def _set_bytes(content: bytes, numbers: Random) -> bytes:
    changed = bytearray(content)
    for _ in range(numbers.choice((1, 1, 2, 8))):
        changed[_place(content, numbers)] = numbers.choice((0, 0x7F, 0x80, 0xFF, numbers.randrange(256)))
    return bytes(changed)


def _truncate(content: bytes, numbers: Random) -> bytes:
    return content[: _place(content, numbers)]


def _cut_head(content: bytes, numbers: Random) -> bytes:
    return content[_place(content[:512], numbers) :]


def _delete(content: bytes, numbers: Random) -> bytes:
    begin, end = _block(content, numbers)
    return content[:begin] + content[end:]


def _double(content: bytes, numbers: Random) -> bytes:
    begin, end = _block(content, numbers)
    return content[:end] + content[begin:end] * numbers.choice((1, 1, 3)) + content[end:]


def _swap(content: bytes, numbers: Random) -> bytes:
    begin, end = _block(content, numbers)
    size = end - begin
    other = numbers.randrange(max(len(content) - size, 1))
    changed = bytearray(content)
    changed[begin:end], changed[other : other + size] = content[other : other + size], content[begin:end]
    return bytes(changed)


def _blank(content: bytes, numbers: Random) -> bytes:
    begin, end = _block(content, numbers)
    return content[:begin] + numbers.choice((b"\x00", b" ", b"\xff")) * (end - begin) + content[end:]


def _number(content: bytes, numbers: Random) -> bytes:
    """Another number in the place of one written in digits."""
    found = NUMBER.search(content, _place(content, numbers))
    if not found:
        return _word(content, numbers)
    other = numbers.choice(NUMBERS) if numbers.random() < 0.7 else b"-" + found[0]
    return content[: found.start()] + other + content[found.end() :]


def _word(content: bytes, numbers: Random) -> bytes:
    """Another number in the place of 1 to 8 bytes, in either order: lengths, offsets and counts of binary formats."""
    size, begin = numbers.choice((1, 2, 4, 8)), _place(content, numbers)
    value = numbers.choice((0, 1, 0x7F, (1 << 8 * size) - 1, 1 << 8 * size - 1, numbers.getrandbits(8 * size)))
    word = value.to_bytes(size, numbers.choice(("little", "big")))
    return content[:begin] + word + content[begin + size :]


def _varint(content: bytes, numbers: Random) -> bytes:
    """A number of protobuf that is longer than what follows, or that does not end."""
    begin = _place(content, numbers)
    long = numbers.choice((b"\xff\xff\xff\xff\x0f", b"\xff" * 9 + b"\x01", b"\x80" * 12, b"\x00"))
    return content[:begin] + long + content[begin + numbers.choice((0, 1)) :]


def _deep(content: bytes, numbers: Random) -> bytes:
    begin, opening = _place(content, numbers), numbers.choice((b"[", b'{"a":', b"(", b"\x12\x7f"))
    closing = {b"[": b"]", b'{"a":': b"}"}.get(opening, b"")
    depth = numbers.choice((20, 500, DEEP))
    inside = b"1" if closing and numbers.random() < 0.5 else b""
    return content[:begin] + opening * depth + inside + (closing * depth if inside else b"") + content[begin:]


def _insert(content: bytes, numbers: Random) -> bytes:
    begin = _place(content, numbers)
    return content[:begin] + numbers.choice(MIXED) + content[begin:]


def _unquote(content: bytes, numbers: Random) -> bytes:
    """A quote or bracket less."""
    begin = _place(content, numbers)
    at = min((p for p in (content.find(c, begin) for c in (b'"', b"}", b"]", b",", b":")) if p >= 0), default=begin)
    return content[:at] + content[at + 1 :]


def _lines(content: bytes, numbers: Random) -> bytes:
    """Two lines in each other's place, or one twice, or one less."""
    lines = content.split(b"\n")
    if len(lines) < 3:
        return _swap(content, numbers)
    one, other = numbers.randrange(len(lines)), numbers.randrange(len(lines))
    what = numbers.randrange(3)
    if what == 0:
        lines[one], lines[other] = lines[other], lines[one]
    elif what == 1:
        lines.insert(one, lines[other])
    else:
        del lines[one]
    return b"\n".join(lines)


CHANGES: tuple[Callable[[bytes, Random], bytes], ...] = (
    _flip_bits, _flip_bits, _set_bytes, _truncate, _cut_head, _delete, _double, _swap, _blank, _number, _number,
    _word, _varint, _deep, _insert, _unquote, _lines,
)  # fmt: skip


def _packed(content: bytes, numbers: Random) -> bytes:
    """The content packed; the package sometimes cut or damaged too."""
    pack = numbers.choice((gzip.compress, lzma.compress, bz2.compress, _zlib))
    package = pack(content)
    what = numbers.randrange(4)
    if what == 0:
        return package[: _place(package, numbers)]
    return _flip_bits(package, numbers) if what == 1 else package


def _zlib(content: bytes) -> bytes:
    return zlib.compress(content)


def _bomb(content: bytes, numbers: Random) -> bytes:
    """A small package that grows: the content, then much of nothing, or nothing alone."""
    filler = numbers.choice((b" ", b"[", b"\x00", b"1", b'"', b"\n")) * BOMB_BYTES
    begin = content[: _place(content, numbers)] if numbers.random() < 0.7 else b""
    return gzip.compress(begin + filler, 1)
