"""Rows one by one, for readers that meet events one by one: gathered, checked, handed to the sink in pieces."""

import json
import math
from collections.abc import Callable, Mapping
from typing import Any

import pyarrow as pa

from ..store.tables import TABLES
from .sink import Sink

__all__ = ["Gathered", "Rowwise", "as_json"]

PIECE = 50_000
BROKEN = "\N{REPLACEMENT CHARACTER}"
Write = Callable[[str, Mapping[str, Any]], None]
ENCODER = json.JSONEncoder(ensure_ascii=False, separators=(",", ":"))


class Gathered:
    """Rows of each table, handed over in pieces: `take` is given the table's name and its next rows."""

    def __init__(self, take: Callable[[str, list[dict[str, Any]]], None], piece: int = PIECE) -> None:
        self._take, self._piece = take, piece
        self._rows: dict[str, list[dict[str, Any]]] = {}

    def add(self, table: str, row: dict[str, Any]) -> None:
        """Appends one row: column name to value; columns left out are null."""
        rows = self._rows.setdefault(table, [])
        rows.append(row)
        if len(rows) >= self._piece:
            self._take(table, self._rows.pop(table))

    def finish(self) -> None:
        """Hands over what is left."""
        for table in sorted(self._rows):
            self._take(table, self._rows.pop(table))


class Rowwise(Gathered):
    """Gathers rows for a sink, or for `write`, which takes them as that does, at most `piece` of a table at once.

    A number too large for its column becomes null there, or takes the row with it where the column may not be null;
    both are counted in a note.
    """

    def __init__(self, sink: Sink, *, write: Write | None = None, piece: int = PIECE) -> None:
        super().__init__(self._checked, piece)
        self._sink, self._write = sink, write or sink.write

    def _checked(self, table: str, rows: list[dict[str, Any]]) -> None:
        for column in TABLES[table].columns:
            if pa.types.is_integer(column.type):
                rows = self._fitting(table, rows, column.name, column.type.bit_width, required=column.required)
        if rows:
            columns = {name: [row.get(name) for row in rows] for name in TABLES[table].names}
            self._count_broken(table, columns)
            self._write(table, columns)

    def _count_broken(self, table: str, columns: dict[str, list[Any]]) -> None:
        """Counts texts that lost bytes on their way: readers put the replacement character where they are no UTF-8."""
        for column in (c.name for c in TABLES[table].columns if pa.types.is_string(c.type)):
            broken = [text for text in columns[column] if text and BROKEN in text]
            if broken:
                meaning = "texts with bytes that are not UTF-8: each shown as the replacement character"
                self._sink.note(
                    "invalid-utf8", meaning, count=len(broken), example=f"{table} {column} {broken[0]}"[:120]
                )

    def _fitting(
        self, table: str, rows: list[dict[str, Any]], name: str, width: int, *, required: bool
    ) -> list[dict[str, Any]]:
        least, most = -(1 << (width - 1)), (1 << (width - 1)) - 1
        wrong = [row for row in rows if row.get(name) is not None and not least <= row[name] <= most]
        if not wrong:
            return rows
        self._sink.note(
            "out-of-range",
            "numbers too large for what they stand for: left out, with the event where it cannot be without",
            count=len(wrong),
            example=f"{table} {name} {wrong[0][name]}",
        )
        if required:
            return [row for row in rows if least <= row[name] <= most]
        for row in wrong:
            row[name] = None
        return rows


def as_json(values: Mapping[str, Any]) -> str | None:
    """The values as a JSON object; None when there are none. Numbers JSON lacks become text."""
    if not values:
        return None
    return ENCODER.encode({k: v if type(v) in (int, str) else _plain(v) for k, v in values.items()})


def _plain(value: Any) -> Any:
    if isinstance(value, float) and not math.isfinite(value):
        return repr(value)
    if isinstance(value, bytes):
        return value.hex() if len(value) <= 64 else f"{len(value)} bytes"
    if isinstance(value, dict):
        return {k: _plain(v) for k, v in value.items()}  # pyright: ignore[reportUnknownVariableType] - any JSON
    if isinstance(value, list):
        return [_plain(v) for v in value]  # pyright: ignore[reportUnknownVariableType] - any JSON
    return value
