"""The text of a trace file in pieces: what stands around the arrays of events, and a window that moves over them."""

import re
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np

from .jsonrepair import load
from .jsonscan import PADDING

__all__ = ["BOM", "EVENTS", "MOST_TEXT", "Window", "members_of"]

EVENTS = re.compile(rb'"traceEvents"\s*:\s*\[')
STRAY_EVENT = re.compile(rb'\{\s*"(?:ph|cat)"\s*:\s*"')
LIST = re.compile(rb"(?:\xef\xbb\xbf)?\s*\[")
BOM = b"\xef\xbb\xbf"
MEMBER = re.compile(r'[{,]\s*("(?:[^"\\]|\\.)*+")\s*:\s*')
TOKEN = re.compile(r'"(?:[^"\\]|\\.)*+"|[{}\[\],]', re.DOTALL)
LONGEST_KEY = 64
MOST_TEXT = 64 << 20
"""Bytes kept of what stands outside the arrays of events; what is beyond that is counted as dropped."""


class Window:
    """The part of the text in memory: `data[at:end]` is still to be read, `PADDING` quotes follow it.

    `offset` is where `data` begins in the file. `dropped` counts bytes of metadata beyond what is kept.
    """

    def __init__(self, blocks: Iterator[bytes]) -> None:
        self._blocks = blocks
        self.data = np.full(1 << 16, ord('"'), np.uint8)
        self.at = self.end = self.offset = self.dropped = 0
        self.is_list: bool | None = None

    def extend(self) -> bool:
        """Moves what is still to be read to the front and reads on; False at the end of the file."""
        block = next(self._blocks, None)
        if block is None:
            return False
        left = self.end - self.at
        room = left + len(block) + PADDING
        target = self.data if room <= len(self.data) else np.empty(room + room // 2, np.uint8)
        target[:left] = self.data[self.at : self.end].copy()
        target[left : left + len(block)] = np.frombuffer(block, np.uint8)
        target[left + len(block) : room] = ord('"')
        self.data, self.offset = target, self.offset + self.at
        self.at, self.end = 0, left + len(block)
        return True

    def find_events(self) -> str | None:
        """Goes to behind the bracket that opens the list of events: the text before it, or None when there is none.

        A file that begins with a bracket is a bare list.
        """
        while self.is_list is None:
            begin = self.data[self.at : self.end].tobytes().removeprefix(BOM).lstrip()
            if begin:
                self.is_list = begin.startswith(b"[")
            elif not self.extend():
                return None
        text, found = self._find(lambda there: (LIST.match if self.is_list else EVENTS.search)(there, self.at))
        self.at = found.end() if found else self.at
        return text if found else None

    def find_more(self) -> tuple[str, str]:
        """Goes on behind a list of events: the text up to where events come again, and whether they do.

        That is "list" where another one begins, "event" at an event outside a list, as in a file that two processes
        wrote to at once, and "end" where only metadata follows.
        """
        text, found = self._find(self._sooner)
        if found is None:
            return text, "end"
        stray = found[0].startswith(b"{")
        self.at = found.start() if stray else found.end()
        return text, "event" if stray else "list"

    def _sooner(self, there: memoryview) -> re.Match[bytes] | None:
        again = LIST.match(there, self.at) if self.is_list else EVENTS.search(there, self.at)
        stray = STRAY_EVENT.search(there, self.at, again.start() if again else self.end)
        return stray or again

    def _find(self, match: Callable[[memoryview], re.Match[bytes] | None]) -> tuple[str, re.Match[bytes] | None]:
        """Reads on until there is a match: the text before it."""
        text = bytearray()
        while True:
            there = self.data.data[: self.end]
            found = match(there)
            if found:
                self._keep(text, found.start())
                return text.decode(errors="replace"), found
            blank = not there[self.at :].tobytes().strip()
            self._keep(text, self.at if blank else max(self.at, self.end - LONGEST_KEY))
            if not self.extend():
                self._keep(text, self.end)
                return text.decode(errors="replace"), None

    def _keep(self, text: bytearray, end: int) -> None:
        piece = self.data[self.at : end].tobytes()
        if len(text) + len(piece) > MOST_TEXT:
            self.dropped += len(piece)
        else:
            text += piece
        self.at = end


def members_of(text: str, damaged: Callable[[str], None]) -> tuple[list[tuple[str, Any]], str]:
    """The members of the object, or objects, that the text is a part of, in their order; what follows them.

    `damaged` is told of members that are not well formed, with their text.
    """
    members: list[tuple[str, Any]] = []
    at = 0
    while found := MEMBER.search(text, at):
        end = _value_end(text, found.end())
        if end is None:
            return members, text[at:]
        try:
            value, faults = load(text[found.end() : end].encode("utf-8", "replace"))
            members.append((found[1][1:-1], value))
        except ValueError:
            faults = {"beyond mending"}
        if faults:
            damaged(text[found.start() : end])
        at = end
    return members, text[at:]


def _value_end(text: str, at: int) -> int | None:
    """Index after the JSON value there, by its brackets and quotes; None when the text ends within."""
    depth = 0
    for found in TOKEN.finditer(text, at):
        token = found[0]
        if token in "{[":
            depth += 1
        elif token in "}]":
            depth -= 1
            if depth < 0:
                return found.start()
        elif token == "," and depth == 0:
            return found.start()
        if depth == 0 and token in "}]":
            return found.end()
    return None
