"""The elements of the Chrome JSON that rocprof and RPD write: one element begins a line, the first is empty.

A file that is not well formed as a whole (cut off, damaged) is read element by element.
"""

import json
import re
from dataclasses import dataclass, field
from typing import Any

from ..store.errors import UnreadableFile
from .files import TraceFile
from .jsonrepair import FAULTS, load
from .rocprof_rows import Rows

__all__ = ["Timeline", "read_timeline"]

NEXT = re.compile(r"(?:^|\n)[ \t]*,[ \t]*(?=\{)")
HEAD = re.compile(r'\s*(\{\s*"traceEvents"\s*:\s*)?\[\s*(\{\s*\}\s*)?')
CLOSED = re.compile(r"\n[ \t]*\]\s*(?=,|\}|$)")
LIST = "traceEvents"
ENDS = (b"]", b"}")
"""What a whole file ends with: one that does not is not tried as a whole."""


@dataclass
class Timeline:
    """The elements of a file, in its order, and the members around them."""

    events: list[dict[str, Any]] = field(default_factory=list[dict[str, Any]])
    members: dict[str, Any] = field(default_factory=dict[str, Any])


def read_timeline(file: TraceFile, rows: Rows) -> Timeline:
    """Reads all elements; what is not a JSON object goes to `other`. `UnreadableFile` for damage before any event."""
    raw = b"".join(file.blocks()).removeprefix(b"\xef\xbb\xbf")
    try:
        value, faults = load(raw) if raw.rstrip().endswith(ENDS) else (None, {"mended"})
    except ValueError:
        value, faults = None, {"mended"}
    if "mended" in faults or ("non-finite" in faults and not _is_json(raw)):
        return _pieces(file, raw.decode(errors="replace"), rows)
    _tell(faults, rows)
    listed = value.pop(LIST, []) if isinstance(value, dict) else value
    timeline = Timeline(members=value if isinstance(value, dict) else {})
    for element in listed if isinstance(listed, list) else []:
        _take(element, timeline, rows)
    return timeline


def _is_json(raw: bytes) -> bool:
    """Whether the whole is well formed, with numbers that are none spelt as JavaScript does."""
    try:
        json.loads(raw.decode(errors="replace"), strict=False)
    except (ValueError, RecursionError):
        return False
    return True


def _pieces(file: TraceFile, text: str, rows: Rows) -> Timeline:
    timeline = Timeline()
    closed = list(CLOSED.finditer(text))
    body, rest = (text[: closed[-1].start()], text[closed[-1].end() :]) if closed else (text, "")
    first, *pieces = NEXT.split(body)
    if first and not HEAD.fullmatch(first):
        pieces.insert(0, HEAD.sub("", first, count=1))
    damaged: list[str] = []
    for piece in pieces:
        try:
            value, faults = load(piece.strip().encode())
        except ValueError:
            damaged.append(piece)
            continue
        _tell(faults, rows)
        _take(value, timeline, rows)
    if not any(event.get("ph") in ("X", "C", "i") for event in timeline.events):
        fault = "is damaged" if closed else f"ends at byte {file.size}, or is damaged,"
        raise UnreadableFile(f"{file.path}: {fault} before the first event", "copy or record the trace again")
    if not closed and not file.damage:  # which ingest notes by itself
        meaning = "the file ends early: events after that point are missing"
        rows.sink.note("truncated", meaning, example=f"the list of events is still open at byte {file.size}")
    for piece in damaged:
        meaning = "text that is not an event: kept in `other`"
        rows.sink.note("damaged", meaning, example=piece.strip()[:120])
        rows.other("damaged", piece)
    _members(rest, timeline, rows)
    return timeline


def _members(rest: str, timeline: Timeline, rows: Rows) -> None:
    """What stands after the list of events."""
    rest = rest.strip().removeprefix(",").strip()
    if rest in ("", "}"):
        return
    try:
        value, faults = load(b"{" + rest.encode())
    except ValueError:
        value, faults = None, {"mended"}
    if "mended" in faults:
        rows.sink.note(
            "metadata-damaged",
            "what the file says of itself around its events is cut off or damaged: some of it is missing",
            example=rest[:120],
        )
    if isinstance(value, dict):
        timeline.members |= value


def _take(element: Any, timeline: Timeline, rows: Rows) -> None:
    if isinstance(element, dict):
        if element:
            timeline.events.append(element)
        return
    rows.sink.note("damaged", "text that is not an event: kept in `other`", example=str(element)[:120])
    rows.other("damaged", str(element))


def _tell(faults: set[str], rows: Rows) -> None:
    """Counts what was mended; keys given twice are usual here (rocminfo's lines), and both values are kept."""
    for fault in sorted(faults - {"duplicate-key"}):
        rows.sink.note(fault, FAULTS[fault])
