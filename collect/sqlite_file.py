"""A SQLite file before it is opened: a copy of its own if compressed, whole, at rest; then a connection on a leash."""

import os
import sqlite3
import struct
import weakref
from dataclasses import dataclass
from pathlib import Path
from urllib.parse import quote

from ..store.errors import OpaqueFile
from .files import TraceFile
from .local_file import copied, path_here
from .places import Place

__all__ = ["COMPLAINTS", "MAGIC", "SAFETY", "Sound", "connect", "examine", "said", "unreadable"]

MAGIC = b"SQLite format 3\x00"
HOT_JOURNAL = bytes.fromhex("d9d505f920a163d7")
HEADER_BYTES = 100
SAFETY = ("trusted_schema = OFF", "cell_size_check = ON", "query_only = ON", "ignore_check_constraints = ON")
"""What every connection is set to: the schema runs nothing, nothing is written, constraints (which are code) rest."""

COMPLAINTS = (sqlite3.Error, UnicodeDecodeError, MemoryError)
"""What Python raises for SQLite's errors: the second where the message quotes a damaged schema, the third, without a
word, where a cell says that it is longer than any can be."""

STEPS = 1_000_000
"""Instructions of SQLite's machine between two looks at how many a connection has used."""


@dataclass(frozen=True)
class Sound:
    """A file that may be opened: where it lies, what the user calls it, and its write-ahead log if that holds rows."""

    path: Path
    shown: Place
    log: Path | None

    @property
    def uri(self) -> str:
        """How SQLite is told to open it: with a log as its writer sees it, without one as immutable, without a lock."""
        mode = "mode=ro" if self.log else "mode=ro&immutable=1"
        return f"file:{quote(os.fsencode(self.path.absolute()))}?{mode}"


def examine(file: TraceFile) -> Sound:
    """Looks at the file and at what lies beside it; `OpaqueFile` when it is cut, or a write was interrupted."""
    here = path_here(file)
    path = here or _copy(file)
    _check_whole(path, file.path)
    return Sound(path, file.path, _log(path, file.path) if here else None)


def connect(sound: Sound) -> sqlite3.Connection:
    """A connection that can only read, gives text as bytes, and gives up where a sound file would long be done."""
    try:
        connection = sqlite3.connect(sound.uri, uri=True, isolation_level=None)
    except COMPLAINTS as error:
        raise unreadable(sound.shown, error) from error
    connection.text_factory = bytes
    _limit_steps(connection, sound.path.stat().st_size)
    try:
        for setting in SAFETY:
            connection.execute(f"pragma {setting}")
    except COMPLAINTS as error:
        connection.close()
        raise unreadable(sound.shown, error) from error
    return connection


def said(error: Exception) -> str:
    """SQLite's complaint in words."""
    return str(error) or "out of memory: it is damaged where it says how long a cell is"


def unreadable(shown: Place, error: Exception) -> OpaqueFile:
    """SQLite's complaint as ours."""
    return OpaqueFile(f"{shown}: SQLite: {said(error)}", "copy the file again, or export the report again")


_copies: dict[int, Path] = {}


def _copy(file: TraceFile) -> Path:
    """The database as a file here, which lives as long as `file`."""
    if id(file) not in _copies:
        _copies[id(file)] = copied(file, ".sqlite")
        weakref.finalize(file, _forget, id(file))
    return _copies[id(file)]


def _forget(key: int) -> None:
    if key in _copies:
        _copies.pop(key).unlink(missing_ok=True)


def _log(path: Path, shown: Place) -> Path | None:
    journal = path.with_name(path.name + "-journal")
    if journal.is_file():
        with journal.open("rb") as file:
            hot = file.read(len(HOT_JOURNAL)) == HOT_JOURNAL
        if hot:
            raise OpaqueFile(
                f"{shown}: a write was interrupted: {journal.name} lies beside it", "export the report again"
            )
    log = path.with_name(path.name + "-wal")
    return log if log.is_file() and log.stat().st_size else None


def _check_whole(path: Path, shown: Place) -> None:
    """Refuses a file shorter than its header says (https://sqlite.org/fileformat.html#in_header_database_size)."""
    with path.open("rb") as file:
        header = file.read(HEADER_BYTES)
    if len(header) < HEADER_BYTES:
        raise OpaqueFile(f"{shown}: a SQLite database that ends in its header", "copy the file again")
    (page_bytes,) = struct.unpack(">H", header[16:18])
    change, pages = struct.unpack(">II", header[24:32])
    (pages_set_at,) = struct.unpack(">I", header[92:96])
    there = path.stat().st_size // (65_536 if page_bytes == 1 else page_bytes or 1)
    if change == pages_set_at and pages > there:
        raise OpaqueFile(
            f"{shown}: cut short: {there:,} of {pages:,} pages of the SQLite database are there",
            "copy the file again, or export the report again",
        )


def _limit_steps(connection: sqlite3.Connection, size: int) -> None:
    """Stops a connection that takes more steps than any sound file of this size needs: the schema itself may loop."""
    limit = 100 * STEPS + 50 * size
    taken = 0

    def look() -> int:
        nonlocal taken
        taken += STEPS
        return int(taken > limit)

    connection.set_progress_handler(look, STEPS)
