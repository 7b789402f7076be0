"""JSON documents that hold one long list of objects: members before and after it, and its elements one by one.

An element that is no JSON is passed over and counted, and a document that is cut ends where it is cut: all that
stands before is given. Numbers with a fraction are `Decimal`.
"""

import json
import re
from collections.abc import Iterator
from dataclasses import dataclass, field
from decimal import Decimal
from typing import Any

from .files import TraceFile

__all__ = ["Document", "decoded_text", "whole_characters"]

DECODER = json.JSONDecoder(strict=False, parse_float=Decimal, parse_constant=str)
KEY = re.compile(r'[\s,]*("(?:[^"\\]|\\.)*+")\s*:\s*', re.DOTALL)
NEXT = re.compile(r"[\s,]*+")
STRING_OR_BRACKET = re.compile(r'"(?:[^"\\]|\\.)*+(?:"|\\?\Z)|[\[\]{}]', re.DOTALL)
"""A string, also one that never ends: else each of its quotes would be tried as a beginning."""
WINDOW = 1 << 16
"""Characters decoded at a time: the decoder's errors cost a pass over all it was given."""
BOM = "\ufeff"
DAMAGED = object()
HALF = re.compile(r"\\u(?:d[89ab][0-9a-f]{2}\\u(d[c-f][0-9a-f]{2})|d[89a-f][0-9a-f]{2})|\\.", re.IGNORECASE | re.DOTALL)
"""An escape of JSON: a pair of surrogates, one without its other half, or any other."""


def decoded_text(file: TraceFile) -> str:
    """The whole content as text; bytes that are not UTF-8 are replaced, which is noted where rows are written."""
    return whole_characters(b"".join(file.blocks()).decode(errors="replace"))


def whole_characters(text: str) -> str:
    """The text with escaped halves of characters replaced: no string may hold one."""
    if "\\ud" not in text and "\\uD" not in text:
        return text
    return HALF.sub(lambda found: "\\ufffd" if found[0][1] in "uU" and len(found[0]) == 6 else found[0], text)


@dataclass
class Document:
    """An object that holds the list under one of the `keys`; `key` is which, None where there is no such list."""

    text: str
    keys: frozenset[str]
    key: str | None = None
    members: dict[str, Any] = field(default_factory=dict[str, Any])
    damaged: int = 0
    first_damaged: str | None = None
    loose: int = 0
    """Places between members or elements where there is not exactly one comma, or one before the first or the last."""
    first_loose: str | None = None
    closed: bool = False
    """Whether the document ends as one should; known once all elements have been taken."""
    _at: int = 0
    _base: int = 0
    _window: str = ""

    def __post_init__(self) -> None:
        begin = re.compile(rf"{BOM}?\s*\{{").match(self.text)
        if begin is not None:
            self._at = begin.end()
            self._members()

    def elements(self) -> Iterator[Any]:
        """The elements of the list in order; after them the members that follow the list are there too."""
        if self.key is None:
            return
        comma = ""
        while True:
            begin = self._after_commas()
            if begin >= len(self.text):
                return
            ends = self.text[begin] == "]"
            self._expect("" if ends else comma, begin)
            if ends:
                break
            comma = ","
            value, end = self._element()
            if end is None:
                return
            self._at = end
            if value is DAMAGED:
                self.damaged += 1
                self.first_damaged = self.first_damaged or f"at character {begin}"
            else:
                yield value
        self._at += 1
        self._members()
        self._expect("", self._after_commas())
        self.closed = NEXT.sub("", self.text[self._at : self._at + 64]) == "}"

    def _element(self) -> tuple[Any, int | None]:
        """The element that begins here, or `DAMAGED`, and where it ends; no end where the text ends before it."""
        text, at = self.text, self._at
        if not self._base <= at < self._base + len(self._window):
            self._slide(WINDOW)
        value, end = _value(self._window, at - self._base)
        if end is not None and (end < len(self._window) or self._base + end == len(text)):
            return value, self._base + end
        stop = _end_of_object(text, at)
        if stop is None:
            return DAMAGED, None
        self._slide(max(stop - at, WINDOW))
        value, end = _value(self._window, 0)
        return (DAMAGED, stop) if end is None else (value, at + end)

    def _slide(self, length: int) -> None:
        self._base, self._window = self._at, self.text[self._at : self._at + length]

    def _members(self) -> None:
        """Takes members up to the list, or as far as there are."""
        comma = "" if self.key is None else ","
        while found := KEY.match(self.text, self._at):
            self._expect(comma, found.start(1))
            comma = ","
            name, _ = _value(self.text, found.start(1))
            if name in self.keys and self.key is None and self.text.startswith("[", found.end()):
                self.key, self._at = name, found.end() + 1
                return
            value, end = _value(self.text, found.end())
            if end is None:
                return
            self.members.setdefault(str(name), value)
            self._at = end

    def _after_commas(self) -> int:
        """Where the next thing begins that is neither space nor comma."""
        found = NEXT.match(self.text, self._at)
        assert found is not None  # nothing is a match, too
        return found.end()

    def _expect(self, comma: str, end: int) -> None:
        """Goes there, and counts the place if something else than that comma is passed."""
        if self.text[self._at : end].strip(" \t\r\n") != comma:
            self.loose += 1
            self.first_loose = self.first_loose or f"at character {self._at}"
        self._at = end


def _value(text: str, at: int) -> tuple[Any, int | None]:
    """The value that begins there and where it ends; no end where it is no JSON, or too deep or too long a number."""
    try:
        return DECODER.raw_decode(text, at)
    except (ValueError, RecursionError):
        return None, None


def _end_of_object(text: str, at: int) -> int | None:
    """Where the brackets that open there are closed again, or the list ends; None when neither is in the text."""
    depth = 0
    for found in STRING_OR_BRACKET.finditer(text, at):
        depth += (found[0] in "[{") - (found[0] in "]}")
        if depth < 0 and found[0] == "]":
            return found.start()
        if depth <= 0 and found[0] in "[]{}":
            return found.end()
    return None
