"""The files of a recording: chunks of columns, as the collector and the agent append them.

Little endian. A chunk is 32 bytes (`HEADER`) and its payload: the columns of a table one after another, each padded to
8 bytes, or a JSON text. The first chunk of a file says which tables and columns there are. Names stand in a table of
their own, whose texts follow its columns, before whatever uses their numbers.
"""

import json
import struct
from collections.abc import Collection, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, BinaryIO

import numpy as np
import numpy.typing as npt

from ..store.errors import Error, UnreadableFile

__all__ = ["MAGIC", "Chunks", "Columns"]

MAGIC = b"TLC1"
HEADER = struct.Struct("<4sHHIIQQ")
SCHEMA, TEXT = 0, 1
NEWEST = 1
"""The newest version of the form that is understood."""

TYPES = {name: np.dtype(f"<{name}") for name in ("u1", "u2", "u4", "u8", "i4", "i8")}
LARGEST = np.uint64(2**63 - 1)
MOST_BYTES = 1 << 30
"""Chunks are a megabyte or so; what claims to be larger than this is no chunk."""

MOST_LOST = 1 << 20
"""The same of one whose number is so far from that of the chunk before it."""

Columns = Mapping[str, npt.NDArray[np.int64]]


@dataclass(frozen=True)
class _Table:
    """A table as the file describes it: its columns in their order, and whether texts follow them."""

    name: str
    columns: tuple[tuple[str, np.dtype[Any]], ...]
    tail: bool


@dataclass(frozen=True)
class _Place:
    """Where a chunk's payload lies."""

    offset: int
    bytes: int
    rows: int


class Chunks:
    """One file of a recording: its texts, and its tables chunk by chunk.

    `texts` are the JSON objects in order, `names` the texts by number (what is lost is missing), `damage` says why
    reading ended early (None: it did not), `lost` counts chunks whose numbers are missing, `strange` rows of tables
    that nobody described, `beyond` numbers that are too large; `broken` are texts with bytes that are no UTF-8. Raises
    `UnreadableFile` where not even the description can be read, `Error` where the file cannot.
    """

    def __init__(self, path: Path) -> None:
        self.path = path
        self.texts: list[dict[str, Any]] = []
        self.damage: str | None = None
        self.lost = 0
        self.strange = 0
        self.beyond = 0
        self.broken: list[str] = []
        self._tables: dict[int, _Table] = {}
        self._places: dict[str, list[_Place]] = {}
        try:
            with path.open("rb") as file:
                self._look(file)
                self.names = self._names(file)
        except OSError as error:
            raise Error(f"{path}: {error.strerror}", "check the permissions") from error

    @property
    def tables(self) -> list[str]:
        """The tables that have rows."""
        return sorted(self._places)

    def rows(self, table: str) -> int:
        """How many rows of the table there are."""
        return sum(place.rows for place in self._places.get(table, ()))

    def require(self, needed: Mapping[str, Collection[str]]) -> None:
        """Takes tables that lack some of the columns needed for those that nobody described."""
        for described in self._tables.values():
            wanted = set(needed.get(described.name, ()))
            if not wanted <= {name for name, _ in described.columns}:
                self.strange += self.rows(described.name)
                self._places.pop(described.name, None)

    def read(self, table: str) -> Iterator[Columns]:
        """The table chunk by chunk: column name to array, of whole numbers."""
        places = self._places.get(table, [])
        if not places:
            return
        with self.path.open("rb") as file:
            for place in places:
                yield self._columns(file, table, place)[0]

    def _look(self, file: BinaryIO) -> None:
        """Finds the chunks; stops at the first that is none."""
        size = file.seek(0, 2)
        at = expected = 0
        while at < size and self.damage is None:
            file.seek(at)
            head = file.read(HEADER.size)
            if len(head) < HEADER.size:
                self.damage = f"cut off in a chunk, at byte {at} of {size}"
                break
            magic, kind, _, rows, _, length, sequence = HEADER.unpack(head)
            if magic != MAGIC or length > MOST_BYTES or not expected <= sequence < expected + MOST_LOST:
                self.damage = f"no chunk at byte {at} of {size}"
                break
            if at + HEADER.size + length > size:
                self.damage = f"cut off in a chunk, at byte {at} of {size}"
                break
            self.lost += sequence - expected
            expected = sequence + 1
            self._take(file, kind, _Place(at + HEADER.size, length, rows))
            at += HEADER.size + length
        if not self._tables:
            raise UnreadableFile(
                f"{self.path}: {self.damage or 'says nothing of its tables'}", "copy it again, or record again"
            )

    def _take(self, file: BinaryIO, kind: int, place: _Place) -> None:
        if kind not in (SCHEMA, TEXT):
            table = self._tables.get(kind)
            if table is None:
                self.strange += max(place.rows, 1)
            elif place.rows and not self._fits(table, place):
                self.damage = f"a chunk of {table.name} of the wrong size, at byte {place.offset}"
            elif place.rows:
                self._places.setdefault(table.name, []).append(place)
            return
        raw = file.read(place.bytes)
        text = raw.decode("utf-8", "replace")
        if text.encode() != raw:
            self.broken.append(text)
        said = _object(text)
        if said is None:
            self.damage = f"a text that is no JSON object, at byte {place.offset}"
        elif kind == SCHEMA and self._tables:
            self.damage = f"a second description of the tables, at byte {place.offset}"
        elif kind == SCHEMA:
            self._describe(said)
        else:
            self.texts.append(said)

    def _describe(self, schema: Mapping[str, Any]) -> None:
        version, tables = schema.get("spool"), schema.get("tables")
        if not isinstance(version, int) or not isinstance(tables, dict):
            raise UnreadableFile(f"{self.path}: its first chunk does not describe its tables", "record it again")
        if version > NEWEST:
            raise UnreadableFile(f"{self.path}: of a newer version, {version}", "update tracelode")
        try:
            for name, said in tables.items():
                if name == "name" and [column for column, _ in said["columns"]] != ["id", "bytes"]:
                    raise ValueError("names have other columns")
                columns = tuple((str(column), TYPES[kind]) for column, kind in said["columns"])
                self._tables[int(said["kind"])] = _Table(str(name), columns, bool(said.get("tail")))
        except (KeyError, TypeError, ValueError, OverflowError) as error:
            raise UnreadableFile(f"{self.path}: describes a table wrongly ({error})", "record it again") from error

    def _fits(self, table: _Table, place: _Place) -> bool:
        columns = sum(_padded(place.rows * kind.itemsize) for _, kind in table.columns)
        return columns <= place.bytes if table.tail else columns == place.bytes

    def _columns(self, file: BinaryIO, table: str, place: _Place) -> tuple[dict[str, npt.NDArray[np.int64]], bytes]:
        """The columns of a chunk, and what follows them."""
        described = next(one for one in self._tables.values() if one.name == table)
        file.seek(place.offset)
        payload = file.read(place.bytes)
        found: dict[str, npt.NDArray[np.int64]] = {}
        at = 0
        for name, kind in described.columns:
            found[name] = self._signed(np.frombuffer(payload, kind, place.rows, at))
            at += _padded(place.rows * kind.itemsize)
        return found, payload[at:]

    def _signed(self, values: npt.NDArray[Any]) -> npt.NDArray[np.int64]:
        """The numbers as signed ones; what is too large for that becomes the largest."""
        if values.dtype == TYPES["u8"] and len(values) and values.max() > LARGEST:
            self.beyond += int((values > LARGEST).sum())
            values = np.minimum(values, LARGEST)
        return values.astype(np.int64)

    def _names(self, file: BinaryIO) -> dict[int, str]:
        """The texts by number."""
        found: dict[int, str] = {}
        for place in self._places.pop("name", []):
            columns, texts = self._columns(file, "name", place)
            sizes = columns["bytes"]
            ends = np.cumsum(sizes)
            for number, begin, end in zip(columns["id"].tolist(), (ends - sizes).tolist(), ends.tolist(), strict=True):
                raw = texts[begin:end]
                found[number] = raw.decode("utf-8", "replace")
                if found[number].encode() != raw:
                    self.broken.append(found[number])
        return found


def _padded(size: int) -> int:
    return (size + 7) // 8 * 8


def _object(text: str) -> dict[str, Any] | None:
    """The JSON object; halves of a character, which no text may have, are replaced."""
    try:
        said = json.loads(text)
        return _sound(said) if isinstance(said, dict) else None
    except (ValueError, RecursionError):
        return None


def _sound(said: Any) -> Any:
    if isinstance(said, str):
        return said.encode("utf-8", "replace").decode()
    if isinstance(said, dict):
        return {_sound(name): _sound(value) for name, value in said.items()}  # pyright: ignore[reportUnknownVariableType] - any JSON
    return [_sound(value) for value in said] if isinstance(said, list) else said  # pyright: ignore[reportUnknownVariableType] - any JSON
