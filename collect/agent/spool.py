"""Writes the chunks of one process, and never disturbs it: what cannot be written is given up."""

from __future__ import annotations

import os
import threading
import time
from collections.abc import Mapping, Sequence

from . import chunks, process

__all__ = ["Spool"]

FLAGS = os.O_WRONLY | os.O_CREAT | os.O_APPEND | getattr(os, "O_CLOEXEC", 0)


class Spool:
    """The file of a process, made with its folder when the first chunks are written.

    `bytes` are those written; `failed` says that no more can be. The file is open only while something is appended: a
    program that closes all its descriptors, as daemons do, must not find ours in the place of one of its own.
    """

    def __init__(self, directory: str, hooks: Sequence[str]) -> None:
        self.directory = directory
        self.folder = process.claim_folder(directory)
        self.bytes = 0
        self.failed = False
        self._hooks = hooks
        self._started_ns = time.time_ns()
        self._sequence = 0
        self._waiting: list[bytes] = []

    def rows(self, table: str, cells: Sequence[int]) -> None:
        """Adds rows of a table, at least one: their cells, row after row."""
        self._describe()
        self._waiting.append(chunks.encode_rows(table, cells, *self._place()))

    def names(self, names: Sequence[tuple[int, bytes]]) -> None:
        """Adds texts with their numbers, at least one."""
        self._describe()
        self._waiting.append(chunks.encode_names(names, *self._place()))

    def text(self, said: Mapping[str, object]) -> None:
        """Adds a JSON object."""
        self._describe()
        self._waiting.append(chunks.encode_text(said, *self._place()))

    def write(self) -> None:
        """Appends what was added, a chunk with one call each: after a crash the file ends in a whole or a cut chunk."""
        waiting, self._waiting = self._waiting, []
        if self.failed or not waiting:
            return
        try:
            if not self.bytes:
                self.folder = process.shared_folder(self.folder, self._started_ns)
                os.makedirs(self.folder, exist_ok=True)  # noqa: PTH103 pathlib would be one more import
            file = os.open(self.folder + "/python.spool", FLAGS, 0o644)
            try:
                for chunk in waiting:
                    self._append(file, chunk)
            finally:
                os.close(file)
        except OSError:
            self.failed = True

    def _append(self, file: int, chunk: bytes) -> None:
        written = os.write(file, chunk)
        self.bytes += written
        if written < len(chunk):
            raise OSError("the disk is full")

    def _describe(self) -> None:
        if self._sequence:
            return
        self._waiting.append(chunks.encode_schema(*self._place()))
        self._waiting.append(chunks.encode_text(process.identity(self._started_ns, self._hooks), *self._place()))
        self._waiting.append(chunks.encode_text(process.clocks(), *self._place()))

    def _place(self) -> tuple[int, int]:
        self._sequence += 1
        return self._sequence - 1, threading.get_native_id()
