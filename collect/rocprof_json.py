"""JSON of AMD's profilers that is read whole, and what its objects hold, whatever stands there instead."""

import json
from decimal import Decimal
from typing import Any

from ..store.errors import UnreadableFile
from .files import TraceFile
from .jsonrepair import FAULTS
from .sink import Sink

__all__ = ["document", "elements", "members", "records"]


def document(file: TraceFile, sink: Sink) -> Any:
    """The value of the file, numbers with a fraction exact; `UnreadableFile` where the JSON is not whole."""
    raw = b"".join(file.blocks())
    try:
        content = raw.decode()
    except UnicodeDecodeError:
        content = raw.decode(errors="replace")
        sink.note("invalid-utf8", FAULTS["invalid-utf8"])
    try:
        return json.loads(content, strict=False, parse_float=Decimal, parse_constant=str)
    except (ValueError, RecursionError) as error:
        place = f" at character {error.pos} of {len(content)}" if isinstance(error, json.JSONDecodeError) else ""
        raise UnreadableFile(
            f"{file.path}: JSON that is cut off or damaged{place}", "copy the file again, or record it again"
        ) from error


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
