"""Trace files as readers see them: recognised by content, decompressed on the way, hashed as they are read."""

import hashlib
import queue
import threading
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Protocol

from ..store.errors import Error, UnreadableFile
from ..store.parts import load, names
from ..store.trace import Facts
from .packing import BLOCK, packing_of, unpack
from .sink import Sink

__all__ = ["Reader", "TraceFile", "open_file", "reader_of"]

HEAD = 1 << 18


@dataclass
class TraceFile:
    """An input file. `head` is its first 256 KiB, decompressed; a suffix is never trusted.

    `sha256` and `size` (bytes of the decompressed content) are set once `blocks` has been read to the end. `damage`
    says what stopped the decompression early, if anything did; what came before it is good.
    """

    path: Path
    head: bytes
    packing: str | None
    damage: str | None = None
    size: int = 0
    _hash: Any = field(default_factory=hashlib.sha256, repr=False)

    @property
    def sha256(self) -> str:
        """Hash of the decompressed content read so far."""
        return self._hash.hexdigest()

    def blocks(self) -> Iterator[bytes]:
        """The decompressed content in blocks of about a megabyte; reading, decoding and hashing run in a thread."""
        self._hash, self.size, self.damage = hashlib.sha256(), 0, None
        ready: queue.Queue[bytes | BaseException | None] = queue.Queue(maxsize=4)
        stopped = threading.Event()

        def put(item: bytes | BaseException | None) -> bool:
            while not stopped.is_set():
                try:
                    ready.put(item, timeout=0.1)
                except queue.Full:
                    continue
                return True
            return False

        def feed() -> None:
            try:
                for block in self._decode():
                    self._hash.update(block)
                    if not put(block):
                        return
                put(None)
            except BaseException as error:  # noqa: BLE001 - handed to the reading thread, which raises it
                put(error)

        thread = threading.Thread(target=feed, daemon=True)
        thread.start()
        try:
            while (item := ready.get()) is not None:
                if isinstance(item, BaseException):
                    raise item
                self.size += len(item)
                yield item
        finally:
            stopped.set()
            thread.join()

    def digest(self) -> str:
        """Reads the file once for its hash alone, for readers that go to the file by its path."""
        for _ in self.blocks():
            pass
        return self.sha256

    def _decode(self) -> Iterator[bytes]:
        if self.packing is not None:
            self.damage = yield from unpack(self.path, self.packing)
            return
        with self.path.open("rb") as file:
            while block := file.read(BLOCK):
                yield block


class Reader(Protocol):
    """A module in `collect/readers/`: one input format. Its docstring's first line describes the format.

    `VERSION` rises when the same file would give other rows; traces of an older one are read anew.
    """

    VERSION: int

    def recognises(self, file: TraceFile) -> bool:
        """Whether the content is of this format, judged from `head` (and the path, for databases)."""
        ...

    def read(self, file: TraceFile, sink: Sink) -> Facts:
        """Hands every event to the sink and returns the facts; `UnreadableFile` when there is nothing to save."""
        ...


def open_file(path: Path) -> TraceFile:
    """Opens an input; `Error` (exit code 2) when it is not there, `UnreadableFile` when it is empty or a folder."""
    if not path.exists():
        raise Error(f"{path}: no such file", "check the path")
    if not path.is_file():
        raise UnreadableFile(f"{path}: not a file", "give one trace file")
    try:
        with path.open("rb") as file:
            start = file.read(HEAD)
    except OSError as error:
        raise Error(f"{path}: {error.strerror}", "check the permissions") from error
    if not start:
        raise UnreadableFile(f"{path}: the file is empty", "was the recording stopped before it was written?")
    packing = packing_of(start)
    if packing is None:
        return TraceFile(path, start, None)
    head = b""
    for block in unpack(path, packing):
        head += block
        if len(head) >= HEAD:
            break
    if not head:
        raise UnreadableFile(f"{path}: {packing} data that does not decompress", "copy the file again")
    return TraceFile(path, head, packing)


def reader_of(file: TraceFile) -> tuple[str, Reader]:
    """The name and the module of the reader that recognises the file; `UnreadableFile` when none does."""
    if file.head.startswith(b"version https://git-lfs.github.com"):
        raise UnreadableFile(f"{file.path}: a Git LFS pointer, not the trace itself", "fetch it: git lfs pull")
    for name in names("reader"):
        reader: Reader = load("reader", name)  # pyright: ignore[reportAssignmentType] - a module that fits the Protocol
        if reader.recognises(file):
            return name, reader
    raise UnreadableFile(
        f"{file.path}: not a trace of a known format (it begins {_beginning(file.head)})",
        f"formats: {', '.join(names('reader'))}",
    )


def _beginning(head: bytes) -> str:
    text = head[:24].decode("ascii", "replace")
    return repr("".join(c if c.isprintable() else "\N{REPLACEMENT CHARACTER}" for c in text))
