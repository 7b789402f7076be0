"""Goes through JSON text of any length in a window: members and elements one by one, with no more than one in memory.

Long lists come in runs, as many elements at a time as the window holds whole; the window grows for a value that is
longer than it. What is passed over is not decoded, and so not quite checked: only that brackets and quotes match.

Numba renews the cached kernel when this file changes only: touch it when `jsonscan` changes.
"""

import json
import re
from collections import Counter
from collections.abc import Iterator
from decimal import Decimal, InvalidOperation
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from .jsonrepair import with_repeated
from .jsonscan import MORE, PADDING, jit, skip_blank, skip_value

__all__ = ["CutShortError", "NotJsonError", "Run", "Walk"]

RUN = 1 << 10
"""Most elements of a run."""

EDGE = 64
"""Characters before the window's end in which an error may come from what follows being beyond it."""

LEVELS = 4
"""Objects within objects whose members are gone through one by one; what lies deeper is taken whole."""

Bytes = npt.NDArray[np.uint8]
Ints = npt.NDArray[np.int64]
QUOTE, COMMA = 34, 44
OPENING = frozenset(b'{["')
NUMBER_BEGINS = re.compile(r"\d(?:\.|[eE][+-]?)?")
"""From the last digit of what was read on, where the text ends within a number, or may do."""

WORDS = ("true", "false", "null", "NaN", "Infinity", "-Infinity")


class NotJsonError(Exception):
    """This is not JSON: `offset` is the first byte that cannot be there, None where a value is too deep or too long."""

    def __init__(self, offset: int | None = None) -> None:
        super().__init__(offset)
        self.offset = offset


class CutShortError(NotJsonError):
    """The text ends within a value: raised by a walk that mends, which is then at the end of all that is open."""


class Run(NamedTuple):
    """Elements of a list: `text[begin:end]` for each row (begin, end, odd) of `spans`; odd is what may be no JSON."""

    text: bytes
    spans: Ints


class Walk:
    """A place in the text that the blocks make.

    Every method raises `NotJsonError` where it finds no JSON. `checks`: what is passed over is decoded, too. `mends`: a
    comma may be missing between members or elements that are gone through, and the text may end anywhere: what is open
    then ends there, and the value that is not whole is left out.
    """

    def __init__(self, blocks: Iterator[bytes], *, checks: bool = False, mends: bool = False) -> None:
        self._blocks, self._checks, self._mends = blocks, checks, mends
        self._offset, self._at, self._text = 0, 0, b""
        self._bytes: Bytes = np.frombuffer(b'"' * PADDING, np.uint8)
        self._spans = np.zeros((RUN, 3), np.int64)
        self._decoder = json.JSONDecoder(
            strict=False, parse_float=Decimal, parse_constant=str, object_pairs_hook=self._object
        )
        self.invalid = False
        """Whether bytes that are not UTF-8 were met in what was decoded: each is the replacement character."""

        self.repeated = 0
        """Objects that were decoded in which a key comes again; its earlier values are kept under `key (2)`."""

        self.doubled = 0
        """Names that came again in an object that was gone through."""

        self.first_repeated: str | None = None
        """The first key of an object that came again in it."""

        self.first_doubled: str | None = None
        """The first of the names that came again."""

        self.cut = False
        """Whether the text has ended before its end."""

        self.mended = 0
        """Commas that were missing."""

        self.first_mended = 0
        """The byte before which the first of them was missing."""

    @property
    def place(self) -> int:
        """Bytes before it."""
        return self._offset + self._at

    @property
    def held(self) -> int:
        """Bytes in the window."""
        return len(self._text)

    def opens(self, bracket: bytes) -> bool:
        """Whether the next value opens with that bracket, which is then passed."""
        opened = self._next() == bracket[0]
        self._at += opened
        return opened

    def names(self) -> Iterator[str]:
        """The names in an object that has been opened; the value of each must be gone through before the next."""
        if self.opens(b"}"):
            return
        seen: set[str] = set()
        while not self._ended():
            if self._next() != QUOTE:
                raise self._broken()
            try:
                key = self.take()
            except CutShortError:
                return
            if key in seen:
                self.doubled, self.first_doubled = self.doubled + 1, self.first_doubled or key
            seen.add(key)
            if self._ended():
                return
            if not self.opens(b":"):
                raise self._broken()
            yield key
            if self._closed(b"}"):
                return

    def items(self) -> Iterator[None]:
        """The elements of a list that has been opened, each to be gone through before the next."""
        if self.opens(b"]"):
            return
        while not self._ended():
            yield
            if self._closed(b"]"):
                return

    def runs(self) -> Iterator[Run]:
        """The elements of a list that has been opened."""
        for _ in self.items():
            self._next()
            count = _run(self._bytes, self._at, len(self._text), self._spans)
            if not count:
                try:
                    end = self._end()
                except CutShortError:
                    return
                self._spans[0], count = (self._at, end, 1), 1
            begin, self._at = self._spans[0, 0], int(self._spans[count - 1, 1])
            yield Run(self._text[begin : self._at], self._spans[:count] - (begin, begin, 0))

    def batches(self) -> Iterator[list[Any]]:
        """The elements of a list that has been opened, decoded, in runs."""
        for run in self.runs():
            yield self._decoded(b"[" + run.text + b"]", self.place - len(run.text) - 1)

    def take(self) -> Any:
        """The next value."""
        raw = self.raw()
        return self._decoded(raw, self.place - len(raw))

    def raw(self) -> bytes:
        """The next value as it stands."""
        end = self._end()
        begin, self._at = self._at, end
        return self._text[begin:end]

    def pass_over(self, levels: int = LEVELS) -> None:
        """Goes past the next value."""
        if self.opens(b"["):
            for _ in self.batches() if self._checks else self.runs():
                pass
        elif levels and self.opens(b"{"):
            for _ in self.names():
                self.pass_over(levels - 1)
        elif self._checks:
            self.take()
        else:
            self.raw()

    def finish(self) -> None:
        """Goes to the end of the text, before which nothing may come."""
        if self._next() >= 0:
            raise self._broken()

    def _next(self) -> int:
        """Goes to the next byte that is not blank: the byte, or -1 at the end."""
        while True:
            self._at = min(skip_blank(self._bytes, self._at), len(self._text))
            if self._at < len(self._text):
                return self._text[self._at]
            if not self._fill():
                return -1

    def _closed(self, bracket: bytes) -> bool:
        """Passes what follows a member or an element: that bracket, or else a comma."""
        if self.opens(bracket) or self._ended():
            return True
        if not self.opens(b","):
            if not self._mends or self._next() not in OPENING:
                raise self._broken()
            self.first_mended = self.first_mended or self.place
            self.mended += 1
        return False

    def _ended(self) -> bool:
        """Whether the text has ended within what is gone through, if that may be."""
        ended = self._mends and self._next() < 0
        self.cut |= ended
        return ended

    def _end(self) -> int:
        """Index after the next value, which is then whole in the window; goes to its beginning."""
        self._next()
        while True:
            end, _ = skip_value(self._bytes, self._at, len(self._text))
            if end >= 0:
                return end
            if end != MORE or not self._fill():
                return self._end_by_decoding()

    def _end_by_decoding(self) -> int:
        """The same for what the compiled code does not see the end of: too deep, the last there is, or no JSON."""
        while True:
            text = self._text[self._at :].decode(errors="surrogateescape")
            try:
                _, stop = self._decoder.raw_decode(text)
            except json.JSONDecodeError as error:
                cut = error.msg.startswith("Unterminated") or error.pos > len(text) - EDGE
                if cut and self._fill():
                    continue
                if self._mends and _ends_within(text, error):
                    raise self._cut_short() from error
                raise self._broken(_size(text[: error.pos])) from error
            except (ValueError, RecursionError, InvalidOperation) as error:
                raise NotJsonError from error
            if stop + EDGE < len(text) or not self._fill():
                if self._mends and NUMBER_BEGINS.fullmatch(text, stop - 1):
                    raise self._cut_short()
                return self._at + _size(text[:stop])

    def _decoded(self, raw: bytes, offset: int) -> Any:
        """The value that the bytes are, which begin at that offset."""
        try:
            text = raw.decode()
        except UnicodeDecodeError:
            text, self.invalid = raw.decode(errors="replace"), True
        try:
            return self._decoder.decode(text)
        except json.JSONDecodeError:
            raise NotJsonError(offset + self._first_fault(raw)) from None
        except (ValueError, RecursionError, InvalidOperation) as error:
            raise NotJsonError from error

    def _object(self, pairs: list[tuple[str, Any]]) -> dict[str, Any]:
        value = dict(pairs)
        if len(value) < len(pairs):
            self.repeated += 1
            if self.first_repeated is None:
                self.first_repeated = next(key for key, times in Counter(key for key, _ in pairs).items() if times > 1)
            value = with_repeated(pairs)
        return value

    def _first_fault(self, raw: bytes) -> int:
        """Index of the first byte that cannot be there."""
        text = raw.decode(errors="surrogateescape")
        try:
            self._decoder.decode(text)
        except json.JSONDecodeError as error:
            return _size(text[: error.pos])
        raise AssertionError("unreachable: it is no JSON")

    def _cut_short(self) -> CutShortError:
        """Goes to the end, where every list and object that is open ends."""
        self._at, self.cut = len(self._text), True
        return CutShortError(self.place)

    def _broken(self, further: int = 0) -> NotJsonError:
        return NotJsonError(self.place + further)

    def _fill(self) -> bool:
        """Takes more text: as much again as waits, so that a long value is seldom begun anew; False at the end."""
        waiting = self._text[self._at :]
        parts, taken = [waiting], 0
        while taken <= len(waiting):
            block = next(self._blocks, None)
            if block is None:
                break
            parts.append(block)
            taken += len(block)
        if not taken:
            return False
        self._offset, self._at = self.place, 0
        self._text = b"".join(parts)
        self._bytes = np.frombuffer(b"".join((self._text, b'"' * PADDING)), np.uint8)
        return True


def _ends_within(text: str, error: json.JSONDecodeError) -> bool:
    """Whether the fault is that the text ends, so that what is there of it could go on as JSON."""
    rest = text[error.pos :]
    unfinished = error.msg.startswith("Invalid \\") and '"' not in rest  # an escape
    return error.msg.startswith("Unterminated") or unfinished or any(word.startswith(rest) for word in WORDS)


def _size(text: str) -> int:
    return len(text.encode(errors="surrogateescape"))


@jit()
def _run(buf: Bytes, p: int, n: int, spans: Ints) -> int:
    """How many whole elements of a list there are from p on; of each its begin, its end, and whether it is odd."""
    count = 0
    while count < len(spans):
        end, odd = skip_value(buf, p, n)
        if end < 0:
            break
        spans[count, 0], spans[count, 1], spans[count, 2] = p, end, odd
        count += 1
        p = skip_blank(buf, end)
        if p >= n or buf[p] != COMMA:
            break
        p = skip_blank(buf, p + 1)
    return count
