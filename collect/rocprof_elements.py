"""The elements of the Chrome JSON that rocprof and RPD write: one element begins a line, the first is empty.

The file is gone through anew each time events are asked for: a window of it is in memory, and what stands after the
list. One that is not well formed as a whole (cut off, damaged) is read element by element; text that is no element
waits until all are read.
"""

import codecs
import json
import re
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import closing
from itertools import islice
from typing import Any

import numpy as np

from ..store.errors import UnreadableFile
from .chrome_heads import BRACE, COUNT, INSTANT, LONG, SPAN, Flags, Heads, heads_of, mark_odd, repeating, texts, values
from .files import TraceFile
from .json_walk import NotJsonError, Run, Walk
from .jsonrepair import FAULTS, load
from .rocprof_rows import Rows
from .text_window import TextWindow, decoded

__all__ = ["Timeline"]

NEXT = re.compile(r"(?:^[ \t]*,|\n[ \t]*,?)[ \t]*(?=\{)")
"""What an element begins after, on its own line; a comma that is missing there is one that was lost."""

HEAD = re.compile(r'\s*(\{\s*"traceEvents"\s*:\s*)?\[\s*(\{\s*\}\s*)?')
CLOSED = re.compile(r"\n[ \t]*\]\s*(?=,|\}|$)")
CLOSED_WITHIN = re.compile(r"\n[ \t]*\]\s*(?=[,}])")
UNDECIDED = re.compile(r"\n[ \t]*(?:\]\s*)?\Z")
"""What may be the beginning of the end of the list, if the text goes on."""

ROCMINFO = frozenset({"duplicate-key"})
"""What is usual in the lines of rocminfo around the events: all values of a name are kept."""

CONTROL = r"\x00-\x08\x0b\x0c\x0e-\x1f"
HOLE = re.compile(rf"(?=[{CONTROL}\ufffd]{{4}})\ufffd*[{CONTROL}]|\ufffd{{64}}")
"""Bytes in a row that are no text, as a crash of the machine leaves them: events may have stood there.

A name that is not UTF-8 has no control characters, and fewer bytes.
"""

LIST = "traceEvents"
EXAMPLE = 120
PIECES = 1000
Wanted = Callable[[Heads], Flags]


class Timeline:
    """The elements of a file, in its order, and the `members` around them.

    What is not a JSON object goes to `other`. Raises `UnreadableFile` for damage before any event.
    """

    def __init__(self, file: TraceFile, rows: Rows) -> None:
        self._file, self._rows = file, rows
        self.members: dict[str, Any] = {}
        self._lists = 0
        """How many lists of events the file has: the last one counts."""
        self._faults: Counter[str] = Counter()
        self._example: dict[str, str] = {}
        self._strange = False
        self._end: int | None = None
        self._lost: set[int] = set()
        """Numbers of the pieces that are no elements, of a file that is not well formed."""
        self._loose = 0
        """Elements of such a file without a comma before them."""
        self._whole = self._judge()
        if self._whole:
            for fault, count in sorted(self._faults.items()):
                rows.sink.note(fault, FAULTS[fault], count=count, example=self._example.get(fault))
        else:
            self._end, rest = self._last_bracket()
            self._tell_damage(rest)
        if self._whole and self._strange:
            for heads in map(heads_of, self._runs()):
                for raw in texts(heads.run, np.flatnonzero(~heads.clean)):
                    self._take(load(raw)[0])

    def events(self, wanted: Wanted) -> Iterator[dict[str, Any]]:
        """The elements that are wanted by their heads, and those that are not clean, whichever they are."""
        for heads in map(heads_of, self._runs()):
            for value in values(heads, np.flatnonzero(wanted(heads) | ~heads.clean)):
                if value and isinstance(value, dict):
                    yield value

    def _judge(self) -> bool:
        """Whether the file is well formed; then its faults and members are known."""
        decoder = codecs.getincrementaldecoder("utf-8")()
        members: list[bytes] = []

        def watched(blocks: Iterator[bytes]) -> Iterator[bytes]:
            for block in blocks:
                if "invalid-utf8" not in self._faults:
                    try:
                        decoder.decode(block)
                    except UnicodeDecodeError:
                        self._faults["invalid-utf8"] = 1
                yield block

        with closing(self._file.blocks()) as blocks:
            walk = Walk(watched(blocks))
            try:
                if walk.opens(b"["):
                    self._check(walk)
                else:
                    for name in walk.names() if walk.opens(b"{") else ():
                        self._lists += name == LIST
                        value = b"%d" % self._check(walk) if name == LIST and walk.opens(b"[") else walk.raw()
                        members.append(b"%b:%b" % (json.dumps(name).encode(), value))
                walk.finish()
                self.members = self._well_formed(b"{" + b",".join(members) + b"}", usual=ROCMINFO)
            except NotJsonError:
                return False
        self.members.pop(LIST, None)
        return True

    def _check(self, walk: Walk) -> int:
        """Goes through a list that has been opened; how many elements it holds."""
        count = 0
        for run in walk.runs():
            begin, end, odd = run.spans.T
            count += len(begin)
            for i in np.flatnonzero(odd | (end - begin > LONG) | repeating(run)):
                self._well_formed(run.text[begin[i] : end[i]])
            self._strange |= bool((np.frombuffer(run.text, np.uint8)[begin] != BRACE).any())
        return count

    def _well_formed(self, raw: bytes, *, usual: frozenset[str] = frozenset()) -> Any:
        """The value, its faults counted but for the usual ones.

        Raises `NotJsonError` where it is not as JSON, or Python's own module, spells it, and where it has a hole.
        """
        try:
            value, faults = _load_without_hole(raw)
            if "non-finite" in faults:
                json.loads(raw.decode(errors="replace"), strict=False)
        except ValueError as error:
            raise NotJsonError from error
        if "mended" in faults:
            raise NotJsonError
        for fault in faults - {"invalid-utf8"} - usual:
            self._faults[fault] += 1
            self._example.setdefault(fault, raw[:EXAMPLE].decode(errors="replace"))
        return value

    def _runs(self) -> Iterator[Run]:
        if not self._whole:
            yield from self._joined()
            return
        lists = 0
        with closing(self._file.blocks()) as blocks:
            walk = Walk(blocks)
            if walk.opens(b"["):
                yield from walk.runs()
            else:
                for name in walk.names() if walk.opens(b"{") else ():
                    lists += name == LIST
                    if name == LIST and lists == self._lists and walk.opens(b"["):
                        yield from walk.runs()
                    else:
                        walk.pass_over()
            walk.finish()

    def _joined(self) -> Iterator[Run]:
        """The pieces of a file that is not well formed, in runs."""
        with closing(self._file.blocks()) as blocks:
            self._loose = 0
            numbered = enumerate(self._pieces(TextWindow(decoded(blocks))))
            pieces = (piece.encode() for number, piece in numbered if number not in self._lost)
            while some := list(islice(pieces, PIECES)):
                ends = np.cumsum([len(piece) + 1 for piece in some])
                spans = np.zeros((len(some), 3), np.int64)
                spans[1:, 0], spans[:, 1] = ends[:-1], ends - 1
                run = Run(b"".join(piece + b"\n" for piece in some), spans)
                mark_odd(run)
                yield run
            for _ in blocks:  # for the size and the hash of the whole
                pass

    def _last_bracket(self) -> tuple[int | None, str]:
        """Where the list of events ends, in characters, None if nowhere; what stands after it."""
        end: int | None = None
        rest: list[str] = []
        with closing(self._file.blocks()) as blocks:
            window, more = TextWindow(decoded(blocks)), True
            while more:
                more = window.more()
                after = window.at
                for found in (CLOSED_WITHIN if more else CLOSED).finditer(window.text, after):
                    end, after, rest = window.before + found.start(), found.end(), []
                left = UNDECIDED.search(window.text, after) if more else None
                window.at = left.start() if left else len(window.text)
                if end is not None:
                    rest.append(window.text[after : window.at])
        return end, "".join(rest)

    def _tell_damage(self, rest: str) -> None:
        """Reads the file for all but its events."""
        damaged: dict[int, str] = {}
        some, before = False, 0
        for heads in map(heads_of, self._runs()):
            some |= bool((heads.clean & np.isin(heads.phase, (SPAN, COUNT, INSTANT))).any())
            unclear = np.flatnonzero(~heads.clean)
            for number, raw in zip((before + unclear).tolist(), texts(heads.run, unclear), strict=True):
                try:
                    value, faults = _load_without_hole(raw.strip())
                except ValueError:
                    damaged[number] = raw.decode()
                    continue
                for fault in sorted(faults):
                    self._rows.sink.note(fault, FAULTS[fault], example=raw[:EXAMPLE].decode(errors="replace"))
                self._take(value)
                some |= isinstance(value, dict) and value.get("ph") in ("X", "C", "i")
            before += len(heads.clean)
        self._lost = set(damaged)
        if self._loose:
            self._rows.sink.note("mended", FAULTS["mended"], count=self._loose, example="no comma between two events")
        if not some:
            fault = "is damaged" if self._end is not None else f"ends at byte {self._file.size}, or is damaged,"
            raise UnreadableFile(f"{self._file.path}: {fault} before the first event", "copy or record the trace again")
        if self._end is None and not self._file.damage:  # which ingest notes by itself
            meaning = "the file ends early: events after that point are missing"
            where = f"the list of events is still open at byte {self._file.size}"
            self._rows.sink.note("truncated", meaning, example=where)
        for piece in damaged.values():
            self._damaged(piece)
        self._read_members(rest)

    def _read_members(self, rest: str) -> None:
        """What stands after the list of events."""
        rest = rest.strip().removeprefix(",").strip()
        if rest in ("", "}"):
            return
        try:
            value, faults = load(b"{" + rest.encode())
        except ValueError:
            value, faults = None, {"mended"}
        if "mended" in faults or HOLE.search(rest):
            self._rows.sink.note(
                "metadata-damaged",
                "what the file says of itself around its events is cut off or damaged: some of it is missing",
                example=rest[:120],
            )
        if isinstance(value, dict):
            self.members |= value

    def _take(self, element: Any) -> None:
        """Keeps what is no object."""
        if not isinstance(element, dict):
            self._damaged(str(element))

    def _damaged(self, piece: str) -> None:
        meaning = "text that is not an event: kept in `other`"
        self._rows.sink.note("damaged", meaning, example=piece.strip()[:120])
        self._rows.other("damaged", piece)

    def _pieces(self, window: TextWindow) -> Iterator[str]:
        """The elements before the end, those that begin on their own line."""
        parts = _split(window, self._end)
        first, joined = next(parts)
        begun = bool(first) and not HEAD.fullmatch(first)
        if begun:
            yield HEAD.sub("", first, count=1)
        for part, following in parts:
            self._loose += begun and not joined
            yield part
            begun, joined = begun or part.strip() != "{}", following


def _load_without_hole(raw: bytes) -> tuple[Any, set[str]]:
    """As `load`, but `ValueError` also where the text has a hole: what stands around it may be of two events."""
    if HOLE.search(raw.decode(errors="replace")):
        raise ValueError("a hole")
    return load(raw)


def _split(window: TextWindow, end: int | None) -> Iterator[tuple[str, bool]]:
    """The text up to the end, split where an element begins on its own line; whether a comma follows each part."""
    text, ahead, more = "", 0, True
    while more:
        more = window.more()
        text = window.text
        if end is not None and end - window.before <= len(text):
            text, more = text[: end - window.before], False
        for found in NEXT.finditer(text, window.at + ahead):
            yield text[window.at : found.start()], "," in found[0]
            window.at = found.end()
        ahead = max(text.rfind("\n") - window.at, 0)  # where such a place may begin that does not end yet
    yield text[window.at :], True
