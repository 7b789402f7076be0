"""Trace files as readers see them: recognised by content, decompressed on the way, hashed as they are read."""

import hashlib
import os
import queue
import threading
from collections.abc import Callable, Generator, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Protocol

from ..store.errors import Error, OpaqueFile, UnreadableFile
from ..store.parts import load, names
from ..store.trace import Facts
from .archives import Listing, Member, archive_in, weight
from .packing import HEAD, PARQUET, beginning, unpack
from .places import Place, Status, StatusLike
from .sink import Sink

__all__ = ["HEAD", "Reader", "TraceFile", "open_file", "reader_of"]


@dataclass
class TraceFile:
    """An input: a file, or a folder of files that may be one trace (`head` is then empty, `members` are its files).

    `path` is where it lies: a path, a URL, a member of an archive. `head` is the first 256 KiB, decompressed; a suffix
    is never trusted. `packing` says what is undone on the way to the content (gzip, zip, tar, s3, ...); None for a
    local file that can be opened as it is.

    `sha256` and `size` (bytes of the decompressed content) are set once `blocks` has been read to the end, which
    `whole` says. `damage` says what stopped the decompression early, if anything did; what came before it is good.
    `heard`, if set, is told the bytes taken from where the input lies, as they are taken.
    """

    path: Place
    head: bytes
    packing: str | None
    damage: str | None = None
    size: int = 0
    whole: bool = False
    heard: Callable[[int], None] | None = field(default=None, repr=False)
    _content: tuple[Place, str | None] | None = field(default=None, repr=False)
    _lost: str | None = field(default=None, repr=False)
    _hash: Any = field(default_factory=hashlib.sha256, repr=False)

    @property
    def sha256(self) -> str:
        """Hash of the decompressed content read so far."""
        return self._hash.hexdigest()

    def blocks(self) -> Generator[bytes]:
        """The decompressed content in blocks of about a megabyte; reading, decoding and hashing run in a thread."""
        hashed = self._hash = hashlib.sha256()  # what is left of an earlier reading may still be about to stop
        self.size, self.whole, self.damage = 0, False, None
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
                    hashed.update(block)
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
            self.whole = True
        finally:
            stopped.set()
            thread.join()

    def members(self) -> list[Path]:
        """The files directly in the folder, hidden ones left out, by name; none for what is a file.

        Raises `Error` for a folder that may not be read.
        """
        if not isinstance(self.path, Path) or not self.path.is_dir():
            return []
        try:
            return sorted(p for p in self.path.iterdir() if p.is_file() and not p.name.startswith("."))
        except OSError as error:
            raise Error(f"{self.path}: {error.strerror}", "check the permissions") from error

    def status(self) -> StatusLike:
        """Size and time of the input where it lies; of a folder the sum and the latest of its members."""
        if not self.path.is_dir():
            return self.path.stat()
        members = [p.stat() for p in self.members()]
        return Status(sum(s.st_size for s in members), max((s.st_mtime_ns for s in members), default=0))

    def digest(self) -> str:
        """Reads the input once for its hash alone, for readers that go to the file by its path.

        A folder's hash is over its members, each with its name and length before its content.
        """
        for _ in self.blocks():
            pass
        return self.sha256

    def _decode(self) -> Iterator[bytes]:
        if self._content is not None:
            place, packing = self._content
            self.damage = yield from unpack(place, packing, weight=weight(place), heard=self.heard)
            self.damage = self.damage or self._lost
            return
        for member in self.members():
            yield os.fsencode(member.name) + b"\0" + member.stat().st_size.to_bytes(8, "big")
            yield from unpack(member, None, heard=self.heard)


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


def open_file(place: Place) -> TraceFile:
    """Opens an input: a file, an archive that holds a single file, or a folder.

    Raises `Error` (exit code 2) when it is not there, `UnreadableFile` when it is empty, or holds several files.
    """
    try:
        if place.is_dir():
            return TraceFile(place, b"", None)
        there = place.is_file()
        odd = not there and isinstance(place, Path) and place.exists()
    except OSError as error:
        raise Error(f"{place}: {error.strerror}", "check the permissions") from error
    if odd:
        raise UnreadableFile(f"{place}: not a file", "give one trace file")
    if not there:
        raise Error(f"{place}: no such file", "check the path")
    packing, head, damage = beginning(place)
    archive = archive_in(place, packing, head)
    if archive is None:
        return TraceFile(place, head, packing or _way(place), damage, _content=(place, packing))
    inside = open_file(_only(place, archive))
    lost = f"{archive.kind}: {archive.damage}" if archive.damage else inside._lost  # pyright: ignore[reportPrivateUsage] - of its own class
    return TraceFile(place, inside.head, archive.kind, inside.damage, _lost=lost, _content=inside._content)  # pyright: ignore[reportPrivateUsage] - of its own class


def _only(place: Place, archive: Listing) -> Member:
    """The file of an archive that holds one; archives may lie in each other, but not deeper than one in one."""
    if isinstance(place, Member) and (isinstance(place.archive, Member) or len(archive.members) != 1):
        raise UnreadableFile(f"{place}: an archive within an archive", f"unpack {place.archive}")
    if len(archive.members) == 1:
        return archive.members[0]
    if not archive.members:
        if archive.damage:
            raise OpaqueFile(f"{place}: {archive.damage}, before any file", "copy the archive again")
        fault = next((f"only {line}" for line in archive.left_out), "no file")
        raise UnreadableFile(f"{place}: the {archive.kind} archive holds {fault}", "is it the right one?")
    raise UnreadableFile(
        f"{place}: the {archive.kind} archive holds {len(archive.members)} files",
        f"read them all: tracelode ingest {place}, or give one: {archive.members[0]}",
    )


def _way(place: Place) -> str | None:
    """What is between the user's machine and content that is not compressed."""
    if isinstance(place, Path):
        return None
    return place.kind if isinstance(place, Member) else str(place).partition(":")[0]


def reader_of(file: TraceFile) -> tuple[str, Reader]:
    """The name and the module of the reader that recognises the file.

    Raises `UnreadableFile` when none does, `OpaqueFile` where that may be because its beginning is damaged.
    """
    if file.head.startswith(b"version https://git-lfs.github.com"):
        raise UnreadableFile(f"{file.path}: a Git LFS pointer, not the trace itself", "fetch it: git lfs pull")
    for name in names("reader"):
        reader: Reader = load("reader", name)  # pyright: ignore[reportAssignmentType] - a module that fits the Protocol
        if reader.recognises(file):
            return name, reader
    if file.path.is_dir():
        raise UnreadableFile(f"{file.path}: a folder that is no trace by itself", f"tracelode ingest {file.path}")
    unknown = f"not a trace of a known format (it begins {_beginning(file.head)})"
    if file.damage:
        raise OpaqueFile(f"{file.path}: {file.damage}; what comes before is {unknown}", "copy the file again")
    if file.packing is None and file.head.startswith(PARQUET) and not _ends_with(Path(str(file.path)), PARQUET):
        raise OpaqueFile(f"{file.path}: Parquet without its end: cut short or damaged", "copy the file again")
    raise UnreadableFile(f"{file.path}: {unknown}", f"formats: {', '.join(names('reader'))}")


def _ends_with(path: Path, mark: bytes) -> bool:
    with path.open("rb") as content:
        content.seek(-len(mark), os.SEEK_END)
        return content.read() == mark


def _beginning(head: bytes) -> str:
    text = head[:24].decode("ascii", "replace")
    return repr("".join(c if c.isprintable() else "\N{REPLACEMENT CHARACTER}" for c in text))
