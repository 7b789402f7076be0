"""Writes the chunks of one process, and never disturbs it: what cannot be written is given up."""

from __future__ import annotations

import os
import threading
import time
from collections.abc import Callable, Mapping, Sequence
from functools import partial

from . import chunks, process
from .disk import keep_room

__all__ = ["Spool"]

FLAGS = os.O_WRONLY | os.O_CREAT | getattr(os, "O_CLOEXEC", 0)
LAST_TEXT = 8192
"""Bytes that are kept free for the last state: enough for it."""


class Spool:
    """The file of a process, made with its folder when the first chunks are written.

    `bytes` are those written, `kept` the rows of each table; `error` says why no more can be. The file is open only
    while something is written: a program that closes all its descriptors, as daemons do, must not find ours in the
    place of one of its own.
    """

    def __init__(self, directory: str, hooks: Sequence[str]) -> None:
        self.directory = directory
        self.folder = process.claim_folder(directory)
        self.bytes = 0
        self.kept = dict.fromkeys(chunks.ROWS, 0)
        self.error: str | None = None
        self._hooks = hooks
        self._started_ns = time.time_ns()
        self._sequence = 0
        self._reserved = 0
        self._waiting: list[tuple[str, int, Callable[[int, int], bytes]]] = []

    def rows(self, table: str, cells: Sequence[int]) -> None:
        """Adds rows of a table, at least one: their cells, row after row."""
        count = len(cells) // len(chunks.TABLES[table][1])
        self._waiting.append((table, count, partial(chunks.encode_rows, table, cells)))

    def names(self, names: Sequence[tuple[int, bytes]]) -> None:
        """Adds texts with their numbers, at least one."""
        self._waiting.append(("", 0, partial(chunks.encode_names, names)))

    def text(self, said: Mapping[str, object]) -> None:
        """Adds a JSON object."""
        self._waiting.append(("", 0, partial(chunks.encode_text, said)))

    def write(self) -> list[Exception]:
        """Writes what was added, a chunk with one call each; what was wrong with chunks that are left out.

        After a crash the file ends in a whole or a cut chunk, on a full disk in a whole one.
        """
        waiting, self._waiting = self._waiting, []
        faults: list[Exception] = []
        if self.error is not None or not waiting:
            return faults
        try:
            file = self._opened()
            try:
                for table, rows, encode in waiting if self.bytes else [*self._first(), *waiting]:
                    try:
                        chunk = encode(self._sequence, threading.get_native_id())
                    except Exception as error:  # noqa: BLE001 a number that fits no column, or no memory
                        faults.append(error)
                        continue
                    self._append(file, chunk)
                    if rows:
                        self.kept[table] += rows
            finally:
                os.close(file)
        except OSError as error:
            self.error = f"{self.folder}/python.spool: {error.strerror}"
        return faults

    def last_text(self, said: Mapping[str, object]) -> None:
        """Puts a JSON object at the end of a file that cannot be written any more; again, in that one's place."""
        if not self.bytes:
            return
        chunk = chunks.encode_text(said, self._sequence, threading.get_native_id())
        try:
            file = os.open(self.folder + "/python.spool", os.O_WRONLY)
            try:
                if os.pwrite(file, chunk, self.bytes) < len(chunk):
                    os.ftruncate(file, self.bytes)
                else:
                    os.ftruncate(file, self.bytes + len(chunk))
            finally:
                os.close(file)
        except OSError:
            return

    def _opened(self) -> int:
        if not self.bytes:
            self.folder = process.shared_folder(self.folder, self._started_ns)
            for folder in (self.directory, self.folder):
                os.makedirs(folder, 0o700, exist_ok=True)  # noqa: PTH103 pathlib would be one more import
        return os.open(self.folder + "/python.spool", FLAGS, 0o600)

    def _first(self) -> list[tuple[str, int, Callable[[int, int], bytes]]]:
        said = process.identity(self._started_ns, self._hooks), process.clocks()
        return [("", 0, chunks.encode_schema), *(("", 0, partial(chunks.encode_text, text)) for text in said)]

    def _append(self, file: int, chunk: bytes) -> None:
        end = self.bytes + len(chunk) + LAST_TEXT
        if end > self._reserved:
            keep_room(file, self._reserved, end + LAST_TEXT)
            self._reserved = end + LAST_TEXT
        written = 0
        try:
            while written < len(chunk):
                written += os.pwrite(file, chunk[written:], self.bytes + written)
        except OSError:
            if written:
                os.ftruncate(file, self.bytes)
            raise
        self.bytes += written
        self._sequence += 1
