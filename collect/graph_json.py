"""JSON documents that hold one long list of objects: members before and after it, and its elements one by one.

An element that is no JSON is passed over and counted, and a document that is cut ends where it is cut: all that
stands before is given. Numbers with a fraction are `Decimal`. Held are the members and one element, not the document.
"""

import json
import re
from collections import Counter
from collections.abc import Iterable, Iterator
from dataclasses import InitVar, dataclass, field
from decimal import Decimal, InvalidOperation
from typing import Any

from .files import TraceFile
from .jsonrepair import with_repeated
from .text_window import TextWindow

__all__ = ["Document", "decoded_text", "whole_characters"]

BEGINNING = re.compile("\ufeff?\\s*(\\{)?")
KEY = re.compile(r'[\s,]*+(?:("(?:[^"\\]|\\.)*+(?:"|\\?\Z))\s*(:?)\s*)?', re.DOTALL)
"""What may stand where a member begins: its name, also as far as there is text, and the colon."""
NEXT = re.compile(r"[\s,]*+")
STRING_OR_BRACKET = re.compile(r'"(?:[^"\\]|\\.)*+(?:"|\\?\Z)|[\[\]{}]', re.DOTALL)
"""A string, also one that never ends: else each of its quotes would be tried as a beginning."""
LONGEST_WORD = 16
"""Characters before the end of what is held in which more text may make a value of what is none, or another."""
UNTERMINATED = "Unterminated string"
"""How the decoder says that a string has no end: where the string begins is the place that it tells then."""
LAST = 64
HALF = re.compile(r"\\u(?:d[89ab][0-9a-f]{2}\\u(d[c-f][0-9a-f]{2})|d[89a-f][0-9a-f]{2})|\\.", re.IGNORECASE | re.DOTALL)
"""An escape of JSON: a pair of surrogates, one without its other half, or any other."""


def decoded_text(file: TraceFile) -> str:
    """The whole content as text; bytes that are not UTF-8 are replaced, which is noted where rows are written."""
    return whole_characters(b"".join(file.blocks()).decode(errors="replace"))


def whole_characters(text: str) -> str:
    """The text with escaped halves of characters replaced, of the same length: no string may hold one."""
    if "\\ud" not in text and "\\uD" not in text:
        return text
    return HALF.sub(lambda found: "\\ufffd" if found[0][1] in "uU" and len(found[0]) == 6 else found[0], text)


@dataclass
class Document:
    """An object that holds the list under one of the `keys`; `key` is which, None where there is no such list.

    Its text comes in pieces, which are taken as they are needed: of a document that is damaged perhaps not to the end.
    """

    pieces: InitVar[Iterable[str]]
    keys: frozenset[str]
    key: str | None = None
    members: dict[str, Any] = field(default_factory=dict[str, Any])
    damaged: int = 0
    first_damaged: str | None = None
    loose: int = 0
    """Places between members or elements where there is not exactly one comma, or one before the first or the last, and
    names of members that are no JSON."""
    first_loose: str | None = None
    repeated: int = 0
    """Members and elements with an object in which a key comes again."""
    first_repeated: str | None = None
    closed: bool = False
    """Whether the document ends as one should; known once all elements have been taken."""
    _window: TextWindow = field(init=False, repr=False)
    _readable: str = field(init=False, default="", repr=False)
    """The text of the window without halves of characters."""

    def __post_init__(self, pieces: Iterable[str]) -> None:
        self._window = TextWindow(pieces)
        self._again, self._times = False, Counter[str]()
        self._decoder = json.JSONDecoder(
            strict=False, parse_float=Decimal, parse_constant=str, object_pairs_hook=self._object
        )
        begin = self._matched(BEGINNING)
        if begin[1]:
            self._window.at = begin.end()
            self._members()

    def elements(self) -> Iterator[Any]:
        """The elements of the list in order; after them the members that follow the list are there too."""
        if self.key is None:
            return
        window, comma = self._window, ""
        while True:
            begin = self._matched(NEXT).end()
            if begin >= len(window.text):
                return
            ends = window.text[begin] == "]"
            self._expect("" if ends else comma, begin)
            if ends:
                break
            comma, place = ",", window.place
            value, end = self._value()
            if end is not None:
                window.at = end
                yield value
            elif self._pass_object():
                self.damaged += 1
                self.first_damaged = self.first_damaged or f"at character {place}"
            else:
                return
        window.at += 1
        self._members()
        self._expect("", self._matched(NEXT).end())
        while len(window.text) - window.at < LAST and self._more():
            pass
        self.closed = NEXT.sub("", window.text[window.at : window.at + LAST]) == "}"

    def _members(self) -> None:
        """Takes members up to the list, or as far as there are."""
        comma = "" if self.key is None else ","
        while (found := self._matched(KEY))[2]:
            ahead = found.end() - found.start(1)
            self._expect(comma, found.start(1))
            comma = ","
            name, named = self._value()
            if named is None:  # a text that is none of JSON
                name = found[1].strip('"')
                self._count_loose()
            if name in self.keys and self.key is None and self._window.text.startswith("[", self._window.at + ahead):
                self.key = name
                self._window.at += ahead + 1
                return
            value, end = self._value(ahead)
            if end is None:
                return
            if name in self.members:
                self._count_repeated()
                self._times[name] += 1
                self.members[f"{name} ({self._times[name] + 1})"] = self.members[name]
            self.members[name] = value
            self._window.at = end

    def _value(self, ahead: int = 0) -> tuple[Any, int | None]:
        """The value that begins so far ahead and where it ends.

        There is no end where it is no JSON, or too deep, or where a number is longer or larger than Python reads. Text
        is taken until that is certain.
        """
        while True:
            value: tuple[Any, int | None] = None, None
            self._again = False
            try:
                value = self._decoder.raw_decode(self._readable, self._window.at + ahead)
                certain = value[1] + LONGEST_WORD < len(self._readable)
            except json.JSONDecodeError as error:
                certain = UNTERMINATED not in error.msg and error.pos + LONGEST_WORD < len(self._readable)
            except (ValueError, RecursionError, InvalidOperation):
                certain = True
            if certain or not self._more():
                if self._again and value[1] is not None:
                    self._count_repeated()
                return value

    def _object(self, members: list[tuple[str, Any]]) -> dict[str, Any]:
        value = dict(members)
        if len(value) < len(members):
            self._again = True
            value = with_repeated(members)
        return value

    def _count_repeated(self) -> None:
        self.repeated += 1
        self.first_repeated = self.first_repeated or f"at character {self._window.place}"

    def _count_loose(self) -> None:
        self.loose += 1
        self.first_loose = self.first_loose or f"at character {self._window.place}"

    def _pass_object(self) -> bool:
        """Goes to where the brackets that open here are closed again, or the list ends; False if neither comes."""
        window, depth = self._window, 0
        while True:
            begin = window.at
            window.at = len(window.text)
            for found in STRING_OR_BRACKET.finditer(window.text, begin):
                if found[0][0] == '"':
                    if found.end() == len(window.text):  # it may go on
                        window.at = found.start()
                    continue
                depth += 1 if found[0] in "[{" else -1
                if depth <= 0:
                    window.at = found.start() if depth < 0 and found[0] == "]" else found.end()
                    return True
            if not self._more():
                return False

    def _matched(self, pattern: re.Pattern[str]) -> re.Match[str]:
        """What stands here, by a pattern that finds nothing, too; as much text is taken as it can use."""
        while True:
            found = pattern.match(self._window.text, self._window.at)
            assert found is not None  # nothing is a match, too
            if found.end() < len(self._window.text) or not self._more():
                return found

    def _expect(self, comma: str, end: int) -> None:
        """Goes there, and counts the place if something else than that comma is passed."""
        if self._window.text[self._window.at : end].strip(" \t\r\n") != comma:
            self._count_loose()
        self._window.at = end

    def _more(self) -> bool:
        if not self._window.more():
            return False
        self._readable = whole_characters(self._window.text)
        return True
