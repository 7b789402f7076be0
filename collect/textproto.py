"""Protobuf messages written as text, encoded as bytes: what the readers of bytes read then.

The schema says which fields there are: message to field name to (number, type). A type is the name of a message or
an enum of the schema, or one of int, bool, fixed64, double, text. Fields it does not know are passed over and counted.
Held are one message as bytes and the text of one token.
"""

import re
import struct
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from operator import itemgetter

from .protobuf import BYTES, FIXED64, VARINT
from .text_window import TextWindow

__all__ = ["Schema", "TextError", "TextMessages", "encoded_field"]

TOKEN = re.compile(
    r"""(?:\s|\#[^\n]*)*+(?:
        (?P<name>[A-Za-z_]\w*)
        |(?P<number>0[xX][0-9a-fA-F]+|(?:\d+(?:\.\d*)?|\.\d+)(?:[eE][-+]?\d+)?)[fFuU]?(?![\w.])
        |(?P<text>"(?:[^"\\\n]|\\[^\n])*+"|'(?:[^'\\\n]|\\[^\n])*+')
        |(?P<mark>[][{}<>:;,-])
        |(?P<end>\Z)
    )""",
    re.VERBOSE,
)
CUT = re.compile(r"""(?:\s|\#[^\n]*)*+(?:["'][^\n]*|[\w.+-]*)\Z""")
"""What may become a token when more text comes: a quoted text without its end, or part of a number."""
EXTENSION = re.compile(r"\s*([\w./-]+)\s*\]")
CUT_EXTENSION = re.compile(r"\s*[\w./-]*\s*\Z")
ESCAPE = re.compile(rb"\\(?:([0-7]{1,3})|[xX]([0-9a-fA-F]{1,2})|u([0-9a-fA-F]{4})|U([0-9a-fA-F]{8})|(.))", re.DOTALL)
ESCAPED = {b"n": b"\n", b"r": b"\r", b"t": b"\t", b"a": b"\a", b"b": b"\b", b"f": b"\f", b"v": b"\v"}
CLOSERS = {"{": "}", "<": ">"}
TRUTHS = {"true": 1, "True": 1, "t": 1, "1": 1, "false": 0, "False": 0, "f": 0, "0": 0}
DEEPEST = 64
MASK = (1 << 64) - 1
SHORT = [bytes((value,)) for value in range(128)]
"""Numbers of one byte, as most are."""
MOST_BLANK = 1 << 16
"""Characters after damage that are looked through for anything but blanks."""

Parts = list[tuple[int, bytes]]
"""Encoded fields with their numbers."""


class TextError(ValueError):
    """The text is no message; `line` is where reading stopped, from 1."""

    def __init__(self, line: int, what: str) -> None:
        super().__init__(f"{what} at line {line}")
        self.line = line


@dataclass(frozen=True)
class Schema:
    """Messages and enums by name."""

    messages: Mapping[str, Mapping[str, tuple[int, str]]]
    enums: Mapping[str, Mapping[str, int]]


class TextMessages:
    """A text, in pieces; `unknown` counts what of it the schema has no place for."""

    def __init__(self, pieces: Iterable[str], schema: Schema) -> None:
        self._window, self._schema = TextWindow(pieces), schema
        self.unknown: Counter[str] = Counter()

    def each(self, name: str, kind: str) -> Iterator[bytes]:
        """The contents of the top message's fields of that name and kind of message; `TextError` at damage."""
        while True:
            found = self._next()
            if found["end"] is not None:
                return
            if found["mark"] in (",", ";"):
                continue
            if found["name"] == name:
                yield from self._messages(kind)
            else:
                self._field(None, self._name(found), [], 0)

    def _messages(self, kind: str) -> Iterator[bytes]:
        mark = self._next_after_colon()["mark"]
        if mark not in CLOSERS:
            raise self._error("no message")
        yield self._message(kind, CLOSERS[mark], 1)

    def _message(self, kind: str | None, closer: str, depth: int) -> bytes:
        """The message up to its closing bracket, by the numbers of its fields; empty where its kind is not known."""
        if depth > DEEPEST:
            raise self._error(f"messages more than {DEEPEST} deep")
        out: Parts = []
        while (found := self._next())["mark"] != closer:
            if found["mark"] not in (",", ";"):
                self._field(kind, self._name(found), out, depth)
        return b"".join(content for _, content in sorted(out, key=itemgetter(0)))

    def _field(self, kind: str | None, name: str, out: Parts, depth: int) -> None:
        known = self._schema.messages[kind].get(name) if kind else None
        if known is None and (kind is not None or depth == 0):
            self.unknown[name] += 1
        found = self._next_after_colon()
        if found["mark"] != "[":
            self._value(found, known, name, out, depth)
            return
        while (found := self._next())["mark"] != "]":
            if found["mark"] != ",":
                self._value(found, known, name, out, depth)

    def _value(self, found: re.Match[str], known: tuple[int, str] | None, name: str, out: Parts, depth: int) -> None:
        """One value of a field, appended as bytes where it is what the schema says."""
        mark = found["mark"]
        nested = known is not None and known[1] in self._schema.messages
        if mark in CLOSERS:
            inner = self._message(known[1] if known and nested else None, CLOSERS[mark], depth + 1)
            content = encoded_field(known[0], BYTES, inner) if known and nested else None
        else:
            token = self._scalar(found)
            content = None if known is None or nested else self._encoded(*known, token)
        if known is not None and content is not None:
            out.append((known[0], content))
        elif known is not None:
            self.unknown[f"{name} with a value it cannot have"] += 1

    def _scalar(self, found: re.Match[str]) -> str | bytes:
        """A word or a number as text, or what quoted texts hold, one after another."""
        if found["text"] is not None:
            contents = [_content(found["text"])]
            while (following := self._matched(TOKEN, CUT)) and following["text"] is not None:
                self._window.at = following.end()
                contents.append(_content(following["text"]))
            return b"".join(contents)
        sign = found["mark"] if found["mark"] == "-" else ""
        if sign:
            found = self._next()
        word = found["name"] or found["number"]
        if word is None:
            raise self._error("no value")
        return sign + word

    def _encoded(self, number: int, kind: str, token: str | bytes) -> bytes | None:
        """The field as bytes; None where the value is none of its type."""
        if isinstance(token, bytes):
            return encoded_field(number, BYTES, token) if kind == "text" else None
        if kind == "double":
            value = _double(token)
            return None if value is None else encoded_field(number, FIXED64, struct.pack("<d", value))
        if kind == "bool":
            integer = TRUTHS.get(token)
        elif kind in self._schema.enums:
            integer = self._schema.enums[kind].get(token, _integer(token))
        else:
            integer = _integer(token)
        if integer is None or kind == "text":
            return None
        if kind == "fixed64":
            return encoded_field(number, FIXED64, (integer & MASK).to_bytes(8, "little"))
        return encoded_field(number, VARINT, _varint(integer & MASK))

    def _name(self, found: re.Match[str]) -> str:
        """The name of a field; that of an extension stands in brackets."""
        if found["name"] is not None:
            return found["name"]
        extension = self._matched(EXTENSION, CUT_EXTENSION) if found["mark"] == "[" else None
        if extension is None:
            raise self._error("no name of a field")
        self._window.at = extension.end()
        return f"[{extension[1]}]"

    def _next_after_colon(self) -> re.Match[str]:
        found = self._next()
        return self._next() if found["mark"] == ":" else found

    def _next(self) -> re.Match[str]:
        window = self._window
        found = TOKEN.match(window.text, window.at)
        if found is None or found.end() == len(window.text):  # else a call is saved, of which there are many
            found = self._matched(TOKEN, CUT)
        if found is None:
            raise self._error("something that is no part of a message")
        window.at = found.end()
        return found

    def _matched(self, pattern: re.Pattern[str], cut: re.Pattern[str]) -> re.Match[str] | None:
        """What stands here; text is taken while what is held ends with it, or within it, as `cut` finds."""
        window = self._window
        while True:
            found = pattern.match(window.text, window.at)
            if found is not None and found.end() < len(window.text):
                return found
            if (found is None and cut.match(window.text, window.at) is None) or not window.more():
                return found

    def _error(self, what: str) -> TextError:
        window = self._window
        while len(window.text) - window.at < MOST_BLANK and window.more():
            pass
        ended = len(window.text) - window.at < MOST_BLANK and not window.text[window.at :].strip()
        line = window.lines + window.text.count("\n", 0, window.at) + 1
        return TextError(line, "the end within a message" if ended else what)


def encoded_field(number: int, wire: int, content: bytes) -> bytes:
    """A field as bytes: its tag, its length where it has one, its content."""
    return _varint(number << 3 | wire) + (_varint(len(content)) if wire == BYTES else b"") + content


def _varint(value: int) -> bytes:
    if value < len(SHORT):
        return SHORT[value]
    out = bytearray()
    while value > 0x7F:
        out.append(value & 0x7F | 0x80)
        value >>= 7
    out.append(value)
    return bytes(out)


def _integer(token: str) -> int | None:
    """The whole number of 64 bits, signed or not; None for anything else."""
    sign, digits = (-1, token[1:]) if token.startswith("-") else (1, token)
    base = 16 if digits[:2] in ("0x", "0X") else 8 if len(digits) > 1 and digits[0] == "0" else 10
    if len(digits) > 24:
        return None
    try:
        value = sign * int(digits, base)
    except ValueError:
        return None
    return value if -(1 << 63) <= value < 1 << 64 else None


def _double(token: str) -> float | None:
    try:
        return float(int(token, 16)) if "0x" in token[:3].lower() else float(token)
    except (ValueError, OverflowError):
        return None


def _content(token: str) -> bytes:
    """The bytes that a quoted text stands for."""
    raw = token[1:-1].encode("utf-8", "surrogateescape")
    return ESCAPE.sub(_unescaped, raw) if b"\\" in raw else raw


def _unescaped(found: re.Match[bytes]) -> bytes:
    octal, hexadecimal, short, long, letter = found.groups()
    if octal is not None:
        return bytes([int(octal, 8) & 0xFF])
    if hexadecimal is not None:
        return bytes([int(hexadecimal, 16)])
    if short is not None or long is not None:
        point = int(short or long, 16)
        return chr(point).encode("utf-8", "replace") if point < 0x110000 else b"?"
    return ESCAPED.get(letter, letter)
