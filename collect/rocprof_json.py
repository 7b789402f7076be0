"""JSON of AMD's profilers: what its objects hold, whatever stands there instead; how what is no JSON is refused."""

import codecs
from collections.abc import Callable
from contextlib import closing
from typing import Any

from ..store.errors import UnreadableFile
from .files import TraceFile
from .json_walk import NotJsonError, Walk
from .jsonrepair import FAULTS
from .sink import Sink

__all__ = ["document", "elements", "members", "note_oddities", "records", "refusal"]


def document(file: TraceFile, sink: Sink) -> Any:
    """The value of the file, numbers with a fraction exact; `UnreadableFile` where the JSON is not whole."""
    with closing(file.blocks()) as blocks:
        walk = Walk(blocks)
        try:
            value = walk.take()
            walk.finish()
        except NotJsonError as fault:
            raise refusal(file, fault, _take) from fault
    note_oddities(walk, sink)
    return value


def refusal(file: TraceFile, fault: NotJsonError, go: Callable[[Walk], object]) -> UnreadableFile:
    """The refusal of a file that is no JSON, by the first fault that is met when all of it is decoded."""
    with closing(file.blocks()) as blocks:
        try:
            go(Walk(blocks, checks=True))
        except NotJsonError as first:
            fault = first
    return _refused(file, None if fault.offset is None else _place(file, fault.offset))


def note_oddities(walk: Walk, sink: Sink) -> None:
    """Says in notes what was odd in the JSON that was decoded."""
    if walk.invalid:
        sink.note("invalid-utf8", FAULTS["invalid-utf8"])
    if walk.repeated:
        sink.note("duplicate-key", FAULTS["duplicate-key"], count=walk.repeated, example=walk.first_repeated)
    if walk.mended:
        sink.note("mended", FAULTS["mended"], count=walk.mended, example=f"no comma before byte {walk.first_mended}")
    if walk.doubled:
        meaning = "parts of the file that are there twice: the last one counts"
        sink.note("repeated-member", meaning, count=walk.doubled, example=walk.first_doubled)


def _take(walk: Walk) -> None:
    walk.take()
    walk.finish()


def _place(file: TraceFile, offset: int) -> tuple[int, int]:
    """How many characters come before that byte, and how many there are."""
    decoder = codecs.getincrementaldecoder("utf-8")("replace")
    seen, before, characters = 0, 0, 0
    for block in file.blocks():
        cut = min(max(offset - seen, 0), len(block))
        text = decoder.decode(block[:cut])
        before += len(text)
        characters += len(text) + len(decoder.decode(block[cut:]))
        seen += len(block)
    return before, characters + len(decoder.decode(b"", final=True))


def _refused(file: TraceFile, place: tuple[int, int] | None) -> UnreadableFile:
    where = f" at character {place[0]} of {place[1]}" if place else ""
    return UnreadableFile(
        f"{file.path}: JSON that is cut off or damaged{where}", "copy the file again, or record it again"
    )


def members(value: Any, name: str) -> dict[str, Any]:
    """The object that a member of the value is; an empty one where it is none."""
    found = value.get(name) if isinstance(value, dict) else None
    return found if isinstance(found, dict) else {}


def elements(value: Any, name: str) -> list[Any]:
    """The list that a member of the value is; an empty one where it is none."""
    found = value.get(name) if isinstance(value, dict) else None
    return found if isinstance(found, list) else []


def records(value: Any, name: str) -> list[dict[str, Any]]:
    """The list that a member of the value is, with an empty object for what is none in it."""
    return [record if isinstance(record, dict) else {} for record in elements(value, name)]
