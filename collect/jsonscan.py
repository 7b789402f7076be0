"""Reads JSON text byte by byte in compiled code: strings and their ids, numbers, and the end of any value.

The text lies in an array that goes on, after its last byte, with `PADDING` quotes: every loop ends there, so that
none has to count. Kernels take the array, the index of a first byte and, where it matters, the length n of the text;
an answer that would need bytes from n on is MORE. Numba renews a kernel's cached code only when its own file changes:
when this one changes, touch those that build on it, `kineto_scan` (which builds on `kineto_event`, `kineto_layout` and
`successors`, too), `json_walk` and `chrome_heads`.
"""

from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt
from llvmlite import ir
from numba import types
from numba.core import cgutils
from numba.core.extending import intrinsic

from ..store.compiled import jit as compiled

__all__ = [
    "BAD",
    "BEYOND_ASCII",
    "ESCAPED",
    "FULL",
    "MORE",
    "PADDING",
    "RAW",
    "UNUSUAL_BYTES",
    "Strings",
    "copy_bytes",
    "find",
    "hash_text",
    "intern",
    "jit",
    "read_integer",
    "read_string",
    "read_time",
    "skip_blank",
    "skip_value",
    "word",
]

Bytes = npt.NDArray[np.uint8]
Ints = npt.NDArray[np.int64]

PADDING = 16

MORE, BAD, FULL = -1, -2, -3
"""In place of an index: the text ends first; this is not JSON; there is no room for a new string."""

UNUSUAL_BYTES, ESCAPED, BEYOND_ASCII, RAW = 1, 2, 4, 8
"""What a string holds: control bytes or wrong escapes; escapes; bytes from 128 on; it is JSON text, not a string."""

SEED, PRIME, SALT = 0x2545F4914F6CDD1D, 0x1B873593CC9E2D51, 0x0D6E8FEB86659FD9
ONES, HIGHS = 0x0101010101010101, -0x7F7F7F7F7F7F7F80
QUOTES, SLASHES, SPACES = 0x2222222222222222, 0x5C5C5C5C5C5C5C5C, 0x2020202020202020
MOST = 1 << 62
"""Times beyond this could overflow when a duration is added: not read here."""


def jit(*, within: bool = False) -> Any:
    """Compiles a kernel that owns no memory: without reference counts, which cost two thirds of the time.

    `within`: made part of the kernels that call it. A call hands over each array of a tuple of arrays as seven numbers,
    which takes longer than most kernels do.
    """
    return compiled(_nrt=False, forceinline=within)


class Strings(NamedTuple):
    """Distinct strings by id: i is `arena[starts[i]:starts[i + 1]]`, still escaped.

    `slots` finds them (id + 1, by open addressing): a power of two, more than ids. `hashes` and `marks` (what it
    holds) go by id. `used` is how many strings there are, and how many of them are not plain ASCII as they stand.
    """

    slots: npt.NDArray[np.int32]
    hashes: Ints
    starts: Ints
    marks: Bytes
    arena: Bytes
    used: Ints


def _make_word(typing_context: Any, array: Any, index: Any) -> Any:

    def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        data = context.make_array(signature.args[0])(context, builder, arguments[0]).data
        at = builder.gep(data, [arguments[1]])
        word = ir.IntType(64)
        return builder.load(builder.bitcast(at, word.as_pointer()), align=1)

    return types.int64(array, types.int64), generate


word: Any = intrinsic(_make_word)
"""Eight bytes of an array from any index on, as a little-endian integer."""


def _make_copy(typing_context: Any, to: Any, at: Any, buf: Any, begin: Any, end: Any) -> Any:

    def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        target = context.make_array(signature.args[0])(context, builder, arguments[0]).data
        source = context.make_array(signature.args[2])(context, builder, arguments[2]).data
        target, source = builder.gep(target, [arguments[1]]), builder.gep(source, [arguments[3]])
        cgutils.raw_memcpy(builder, target, source, builder.sub(arguments[4], arguments[3]), 1)
        return context.get_dummy_value()

    return types.void(to, types.int64, buf, types.int64, types.int64), generate


copy_bytes: Any = intrinsic(_make_copy)
"""Copies `buf[begin:end]` to `to[at:]`: arguments to, at, buf, begin, end. A slice would first be copied elsewhere."""


@jit()
def _mix(h: int, w: int) -> int:
    h = (h ^ w) * PRIME
    return h ^ ((h >> 29) & 0x7FFFFFFFF)


@jit()
def read_string(buf: Bytes, p: int) -> tuple[int, int, int]:
    """From after the opening quote: index of the closing one, hash of what is between, and what it holds."""
    begin, h, high, marks = p, SEED, 0, 0
    while True:
        w = word(buf, p)
        q, b = w ^ QUOTES, w ^ SLASHES
        stop = (((q - ONES) & ~q) | ((b - ONES) & ~b) | ((w - SPACES) & ~w)) & HIGHS
        if stop == 0:
            high |= w
            h = _mix(h, w)
            p += 8
            continue
        low = stop & -stop
        w &= ((low >> 7) & 0x01FFFFFFFFFFFFFF) - 1
        high |= w
        k = 0
        if low & 0xFFFFFFFF == 0:
            k, low = 4, (low >> 32) & 0xFFFFFFFF
        if low & 0xFFFF == 0:
            k, low = k + 2, low >> 16
        if low & 0xFF == 0:
            k += 1
        p += k
        c = buf[p]
        if c == 34:
            if high & HIGHS:
                marks |= BEYOND_ASCII
            return p, _mix(_mix(h, w), p - begin), marks
        h = _mix(_mix(h, w), (k << 16) | (c << 8) | buf[p + 1])
        if c != 92:
            marks |= UNUSUAL_BYTES
            p += 1
            continue
        marks |= ESCAPED
        if not _escape(buf, p + 1):
            marks |= UNUSUAL_BYTES
        p += 2


@jit()
def _escape(buf: Bytes, p: int) -> bool:
    """Whether what follows a backslash is an escape of JSON."""
    c = buf[p]
    if c == 117:
        for i in range(1, 5):
            d = buf[p + i]
            if not (48 <= d <= 57 or 65 <= d <= 70 or 97 <= d <= 102):
                return False
        return True
    return c in (34, 92, 47, 98, 102, 110, 114, 116)


@jit()
def find(s: Strings, buf: Bytes, begin: int, end: int, h: int) -> int:
    """The id of the string that these bytes are, or the complement of the slot where it belongs."""
    mask = len(s.slots) - 1
    slot = h & mask
    while s.slots[slot]:
        i = s.slots[slot] - 1
        at = s.starts[i]
        if s.hashes[i] == h and s.starts[i + 1] - at == end - begin:
            p = begin
            while p + 8 <= end and word(buf, p) == word(s.arena, at):
                p, at = p + 8, at + 8
            while p < end and buf[p] == s.arena[at]:
                p, at = p + 1, at + 1
            if p == end:
                return i
        slot = (slot + 1) & mask
    return ~slot


@jit()
def intern(s: Strings, buf: Bytes, begin: int, end: int, h: int, marks: int) -> int:
    """The id of the string that these bytes are, new if need be; FULL when there is no room for it."""
    i = find(s, buf, begin, end, h)
    if i >= 0:
        return i
    new = s.used[0]
    start = s.starts[new]
    if new + 2 > len(s.hashes) or start + (end - begin) + 8 > len(s.arena):
        return FULL
    copy_bytes(s.arena, start, buf, begin, end)
    s.slots[~i], s.hashes[new], s.marks[new] = new + 1, h, marks
    s.starts[new + 1] = start + (end - begin)
    s.used[0] = new + 1
    if marks & (ESCAPED | BEYOND_ASCII):
        s.used[1] += 1
    return new


@jit()
def hash_text(buf: Bytes, begin: int, end: int) -> tuple[int, int]:
    """Hash of JSON text (no string has the same) and what it holds."""
    h, high, p = SALT, 0, begin
    while p + 8 <= end:
        w = word(buf, p)
        h, high, p = _mix(h, w), high | w, p + 8
    w = word(buf, p) & ((1 << (8 * (end - p))) - 1)
    marks = RAW | BEYOND_ASCII if (high | w) & HIGHS else RAW
    return _mix(_mix(h, w), end - begin), marks


@jit()
def skip_blank(buf: Bytes, p: int) -> int:
    """Index of the first byte from p on that is not white space."""
    while buf[p] == 32 or buf[p] == 10 or buf[p] == 13 or buf[p] == 9:
        p += 1
    return p


@jit()
def _digits(buf: Bytes, p: int) -> tuple[int, int, int]:
    """Index after at most 19 digits, their value, and how many; none where JSON allows no such number."""
    begin, value = p, 0
    while 48 <= buf[p] <= 57 and p < begin + 19:
        value = value * 10 + (buf[p] - 48)
        p += 1
    return p, value, 0 if buf[begin] == 48 and p - begin > 1 else p - begin


@jit()
def read_integer(buf: Bytes, p: int) -> tuple[int, int, bool]:
    """Index after an integer, its value, and whether it is one of at most 18 digits."""
    negative = buf[p] == 45
    p, value, digits = _digits(buf, p + 1 if negative else p)
    c = buf[p]
    return p, -value if negative else value, 0 < digits < 19 and c != 46 and c != 101 and c != 69


@jit()
def read_time(buf: Bytes, p: int) -> tuple[int, int, bool]:
    """Index after a decimal number of microseconds, the nanoseconds, and whether it is that exactly."""
    negative = buf[p] == 45
    p, value, digits = _digits(buf, p + 1 if negative else p)
    ok, places = 0 < digits < 17, 0
    if buf[p] == 46:
        p += 1
        while 48 <= buf[p] <= 57 and places < 4:
            value = value * 10 + (buf[p] - 48)
            p, places = p + 1, places + 1
        ok = ok and 0 < places < 4
    ok = ok and buf[p] != 101 and buf[p] != 69
    while places < 3:
        value, places = value * 10, places + 1
    return p, -value if negative else value, ok and value < MOST


@jit()
def _scalar(buf: Bytes, p: int) -> tuple[int, int]:
    """Index after a number or a literal, and whether it is odd (not JSON, but whole: NaN, inf, 007); BAD if neither."""
    c = buf[p]
    begin = p
    while 97 <= (buf[p] | 32) <= 122 or 48 <= buf[p] <= 57 or buf[p] == 45 or buf[p] == 43 or buf[p] == 46:
        p += 1
    if p == begin:
        return BAD, 0
    if 97 <= c <= 122:
        true = p - begin == 4 and c == 116 and buf[begin + 1] == 114 and buf[begin + 2] == 117 and buf[begin + 3] == 101
        null = p - begin == 4 and c == 110 and buf[begin + 1] == 117 and buf[begin + 2] == 108 and buf[begin + 3] == 108
        false = p - begin == 5 and c == 102 and buf[begin + 1] == 97 and buf[begin + 2] == 108 and buf[begin + 3] == 115
        return p, 0 if true or null or (false and buf[begin + 4] == 101) else 1
    q = begin + 1 if c == 45 else begin
    q, _, digits = _digits(buf, q)
    while 48 <= buf[q] <= 57:
        q += 1
    odd = digits == 0
    if buf[q] == 46:
        q += 1
        odd = odd or not 48 <= buf[q] <= 57
        while 48 <= buf[q] <= 57:
            q += 1
    if buf[q] == 101 or buf[q] == 69:
        q += 2 if buf[q + 1] == 43 or buf[q + 1] == 45 else 1
        odd = odd or not 48 <= buf[q] <= 57
        while 48 <= buf[q] <= 57:
            q += 1
    return p, 1 if odd or q != p else 0


@jit()
def _after_key(buf: Bytes, p: int, n: int) -> tuple[int, int]:
    """From a key's opening quote: where its value begins, and whether the key is odd."""
    if p >= n or buf[p] != 34:
        return (MORE if p >= n else BAD), 0
    p, _, marks = read_string(buf, p + 1)
    p = skip_blank(buf, p + 1)
    if p >= n or buf[p] != 58:
        return (MORE if p >= n else BAD), 0
    return skip_blank(buf, p + 1), marks & UNUSUAL_BYTES


@jit()
def skip_value(buf: Bytes, p: int, n: int) -> tuple[int, int]:
    """Index after the JSON value at p, and whether anything in it is odd; MORE or BAD where there is none."""
    stack, depth, odd = 0, 0, 0  # of `stack` a bit for each open container: 1 for an object
    while True:
        if p >= n:
            return MORE, 0
        c = buf[p]
        opened = c == 123 or c == 91
        if opened:
            if depth == 60:
                return BAD, 0
            p, stack, depth = p + 1, stack * 2 + (1 if c == 123 else 0), depth + 1
        elif c == 34:
            p, _, marks = read_string(buf, p + 1)
            p, odd = p + 1, odd | (marks & UNUSUAL_BYTES)
        else:
            p, strange = _scalar(buf, p)
            odd |= strange
            if p < 0:
                return BAD, 0
        while depth:
            p = skip_blank(buf, p)
            if p >= n:
                return MORE, 0
            if buf[p] == (125 if stack & 1 else 93):
                p, stack, depth, opened = p + 1, stack >> 1, depth - 1, False
                continue
            if not opened:
                if buf[p] != 44:
                    return BAD, 0
                p = skip_blank(buf, p + 1)
            if stack & 1:
                p, strange = _after_key(buf, p, n)
                odd |= strange
            break
        if p < 0 or depth == 0:
            return (MORE if p >= n else p), odd
