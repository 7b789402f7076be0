"""What elements of Chrome JSON say of their phase and their lane, told in compiled code without decoding them.

Numba renews the cached kernels when this file changes only: touch it when `jsonscan` changes.
"""

import re
from collections.abc import Iterator
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from .json_walk import Run
from .jsonrepair import load
from .jsonscan import PADDING, jit, read_integer, read_string, skip_blank, skip_value, word

__all__ = [
    "BRACE",
    "COUNT",
    "INSTANT",
    "LONG",
    "METADATA",
    "NOWHERE",
    "SPAN",
    "Flags",
    "Heads",
    "heads_of",
    "mark_odd",
    "repeating",
    "texts",
    "values",
]

METADATA, SPAN, COUNT, INSTANT = (int.from_bytes(b'"%b"' % phase, "little") for phase in (b"M", b"X", b"C", b"i"))
"""Phases, as `Heads` have them."""

NOWHERE = np.iinfo(np.int64).min
LONG = 4096
"""Bytes of an element that is looked at closely: it might hold a number longer than Python reads."""

NAMES = 64
"""Names of an object that are held against each other; one with more is decoded."""

GROUP = 64
"""Elements decoded together: more brackets than `load` allows nested would be counted in more of them."""

BRACE, QUOTE, COMMA, BACKSLASH = 123, 34, 44, 92
PH, PID = (int.from_bytes(name, "little") for name in (b'ph"', b'pid"'))

Bytes = npt.NDArray[np.uint8]
Ints = npt.NDArray[np.int64]
Flags = npt.NDArray[np.bool_]


class Heads(NamedTuple):
    """What can be told of elements without decoding them, a value for each; of those that are not `clean`, nothing.

    `phase` is the value of `ph` as it stands, its bytes a little-endian number; 0 where there is none, or a long one.
    `lane` is the number that `pid` gives, `NOWHERE` where there is none.
    """

    run: Run
    clean: Flags
    phase: Ints
    lane: Ints

    def holding(self, text: bytes) -> Flags:
        """Which of them that text stands in."""
        return _elements_at(self.run, [found.start() for found in re.finditer(re.escape(text), self.run.text)])


def heads_of(run: Run) -> Heads:
    """What the elements of a run say."""
    count = len(run.spans)
    clean = np.zeros(count, np.bool_)
    phase, lane = np.zeros(count, np.int64), np.zeros(count, np.int64)
    _read_heads(_padded(run.text), len(run.text), run.spans, clean, phase, lane)
    if b"\\" in run.text:  # a name or a value could be spelt in another way
        clean &= ~_elements_at(run, np.flatnonzero(np.frombuffer(run.text, np.uint8) == BACKSLASH))
    return Heads(run, clean, phase, lane)


def _elements_at(run: Run, places: npt.ArrayLike) -> Flags:
    """Which elements those places of the text are in."""
    found = np.zeros(len(run.spans) + 1, np.bool_)
    found[np.searchsorted(run.spans[:, 0], np.asarray(places, np.int64), side="right")] = True
    return found[1:]


def texts(run: Run, chosen: Ints) -> Iterator[bytes]:
    """Those elements as they stand."""
    spans = run.spans[chosen]
    return (run.text[begin:end] for begin, end in zip(spans[:, 0].tolist(), spans[:, 1].tolist(), strict=True))


def values(heads: Heads, chosen: Ints) -> Iterator[Any]:
    """The values of those elements; clean ones are decoded many at a time."""
    group: list[bytes] = []
    for raw, clean in zip(texts(heads.run, chosen), heads.clean[chosen].tolist(), strict=True):
        if clean:
            group.append(raw)
        if group and (not clean or len(group) == GROUP):
            yield from _list_of(group)
            group = []
        if not clean:
            yield load(raw.strip())[0]
    yield from _list_of(group)


def _list_of(texts: list[bytes]) -> list[Any]:
    value, _ = load(b"[" + b",".join(texts) + b"]")
    return value


def _padded(text: bytes) -> Bytes:
    return np.frombuffer(text + b'"' * PADDING, np.uint8)


def mark_odd(run: Run) -> None:
    """Marks the elements that are not one well-formed object with blanks after it, or must be looked at."""
    _mark_odd(_padded(run.text), len(run.text), run.spans)


def repeating(run: Run) -> Flags:
    """Which elements are objects in which, or in whose objects, a name comes again (or may: there are many names)."""
    found = np.zeros(len(run.spans), np.bool_)
    _repeating(_padded(run.text), len(run.text), run.spans, np.zeros((NAMES, 2), np.int64), found)
    return found


@jit()
def _repeating(buf: Bytes, n: int, spans: Ints, names: Ints, found: Flags) -> None:
    for i in range(len(spans)):
        p = spans[i, 0]
        if spans[i, 2] == 0 and buf[p] == BRACE:
            found[i] = _repeats(buf, p, n, names)
            p = skip_blank(buf, p + 1)
            while not found[i] and buf[p] == QUOTE:
                p, _, _ = read_string(buf, p + 1)
                p = skip_blank(buf, skip_blank(buf, p + 1) + 1)
                if buf[p] == BRACE:
                    found[i] = _repeats(buf, p, n, names)
                p, _ = skip_value(buf, p, n)
                p = skip_blank(buf, p)
                if buf[p] == COMMA:
                    p = skip_blank(buf, p + 1)


@jit()
def _repeats(buf: Bytes, p: int, n: int, names: Ints) -> bool:
    """Whether a name comes again in the well-formed object that begins there; `names` is room for their places."""
    count = 0
    p = skip_blank(buf, p + 1)
    while buf[p] == QUOTE:
        begin = p + 1
        p, _, _ = read_string(buf, begin)
        for j in range(count):
            other = names[j, 0]
            if names[j, 1] - other == p - begin:
                k = 0
                while k < p - begin and buf[other + k] == buf[begin + k]:
                    k += 1
                if k == p - begin:
                    return True
        if count == NAMES:
            return True
        names[count, 0], names[count, 1] = begin, p
        count += 1
        p, _ = skip_value(buf, skip_blank(buf, skip_blank(buf, p + 1) + 1), n)
        p = skip_blank(buf, p)
        if buf[p] == COMMA:
            p = skip_blank(buf, p + 1)
    return False


@jit()
def _mark_odd(buf: Bytes, n: int, spans: Ints) -> None:
    for i in range(len(spans)):
        begin, end = spans[i, 0], spans[i, 1]
        after, odd = skip_value(buf, begin, n)
        whole = buf[begin] == BRACE and 0 <= after <= end and skip_blank(buf, after) >= end
        if not whole or odd != 0 or end - begin > LONG:
            spans[i, 2] = 1


@jit()
def _read_heads(buf: Bytes, n: int, spans: Ints, clean: Flags, phase: Ints, lane: Ints) -> None:
    """Fills in what `Heads` hold; of a member that is given twice the last counts."""
    for i in range(len(spans)):
        clean[i] = spans[i, 2] == 0 and buf[spans[i, 0]] == BRACE
        lane[i] = NOWHERE
        p = skip_blank(buf, spans[i, 0] + 1)
        while clean[i] and buf[p] == QUOTE:
            name = word(buf, p + 1)
            p, _, _ = read_string(buf, p + 1)
            p = skip_blank(buf, skip_blank(buf, p + 1) + 1)
            end, _ = skip_value(buf, p, n)
            if name & 0xFFFFFF == PH:
                phase[i] = word(buf, p) & ((1 << 8 * (end - p)) - 1) if end - p < 8 else 0
            elif name & 0xFFFFFFFF == PID:
                quoted = 1 if buf[p] == QUOTE else 0
                after, lane[i], clean[i] = read_integer(buf, p + quoted)
                clean[i] = clean[i] and after + quoted == end
            p = skip_blank(buf, end)
            if buf[p] == COMMA:
                p = skip_blank(buf, p + 1)
