"""Tar archives, plain or compressed: their members' headers, and their content read where it lies."""

import io
import tarfile
import threading
import weakref
from collections.abc import Callable, Iterator
from typing import IO, Any, cast

from .packing import DAMAGE, HEAD, unpack
from .places import Entry, Place

__all__ = ["PlainTar", "TarEntries", "UnpackedTar", "is_tar", "part"]

RECORD = 512
MOST_HEADER = 1 << 20
"""Bytes of a member's header; its length is stated by the archive, and Python's tarfile reads as much at once."""

KEPT = 1 << 22
"""Bytes of a compressed archive that are kept behind the place reached, so that a member's head can be read twice."""

FAULTS = (tarfile.TarError, RecursionError, *DAMAGE)
"""What ends the list of members; the second where headers of long names follow each other: tarfile nests their calls.
"""


def is_tar(head: bytes) -> bool:
    """Whether it begins with the header of a member, which has a checksum, or with the zeros of an empty archive."""
    if not any(head[: 2 * RECORD]):
        return 2 * RECORD <= len(head) < HEAD and not any(head)
    try:
        tarfile.TarInfo.frombuf(head[:RECORD], "utf-8", "backslashreplace")
    except tarfile.HeaderError:
        return False
    return True


class TarEntries:
    """The members of a tar archive up to its end or its first damage."""

    def __init__(self, source: "TarSource") -> None:
        self._source = source
        self.damage: str | None = None

    def __iter__(self) -> Iterator[Entry]:
        file = _Headers(self._source)
        try:
            archive = tarfile.open(fileobj=file, mode="r:", encoding="utf-8", errors="backslashreplace")  # noqa: SIM115 - has nothing to close
        except FAULTS as error:
            self.damage = str(error) if any(self._source.read_at(0, RECORD)) else None
            return
        end = 0
        try:
            while (info := archive.next()) is not None:
                end = archive.offset
                fault = "a sparse file" if info.issparse() else None if info.isreg() or info.isdir() else _kind(info)
                name = f"{info.name}/" if info.isdir() else info.name
                yield Entry(name, fault, info.offset_data, info.size)
        except FAULTS as error:
            self.damage = self._source.damage or str(error)
            return
        self.damage = self._source.damage or _after(self._source, end)


def _kind(info: tarfile.TarInfo) -> str:
    return "a link" if info.issym() or info.islnk() else "a device, a pipe or something unknown"


def _after(source: "TarSource", end: int) -> str | None:
    """What is wrong where the members end: an archive ends with zeros, or at least with the file."""
    rest = source.read_at(end, RECORD)
    return f"no member's header at byte {end:,}" if any(rest) else None


class _Headers(io.RawIOBase):
    """The archive as tarfile reads it to list the members: whole, in small pieces."""

    def __init__(self, source: "TarSource") -> None:
        self._source, self._position = source, 0

    def read(self, size: int = -1) -> bytes:
        if not 0 <= size <= MOST_HEADER:
            raise tarfile.ReadError(f"a header of {size:,} bytes")
        content = b""
        while len(content) < size and (more := self._source.read_at(self._position, size - len(content))):
            content += more
            self._position += len(more)
        return content

    def seek(self, offset: int, whence: int = 0) -> int:
        self._position = offset
        return offset

    def tell(self) -> int:
        return self._position


def part(source: "TarSource", begin: int, size: int) -> IO[bytes]:
    """The content of a member; reading raises `EOFError` where the archive ends before it does."""
    return cast("IO[bytes]", _Part(source, begin, size))  # not buffered: that would drop what is before an error


class _Part(io.RawIOBase):
    """The content of a member of a tar archive."""

    def __init__(self, source: "TarSource", begin: int, size: int) -> None:
        self._source, self._begin, self._size, self._position = source, begin, size, 0

    def readable(self) -> bool:
        return True

    def seekable(self) -> bool:
        return True

    def seek(self, offset: int, whence: int = 0) -> int:
        self._position = offset + (0, self._position, self._size)[whence]
        return self._position

    def tell(self) -> int:
        return self._position

    def readinto(self, buffer: Any) -> int:
        wanted = min(len(buffer), self._size - self._position)
        if wanted <= 0:
            return 0
        content = self._source.read_at(self._begin + self._position, wanted)
        if not content:
            raise EOFError(f"tar: {self._source.damage or 'the archive ends in the middle of the file'}")
        buffer[: len(content)] = content
        self._position += len(content)
        return len(content)


class PlainTar:
    """An archive that is not compressed."""

    def __init__(self, file: IO[bytes]) -> None:
        self._file, self._lock = file, threading.Lock()
        weakref.finalize(self, file.close)
        self.damage: str | None = None

    def read_at(self, position: int, size: int) -> bytes:
        """Up to that many bytes from there; none at the end."""
        with self._lock:
            self._file.seek(position)
            return self._file.read(size)


class UnpackedTar:
    """A compressed archive, read at any position: forward by decompressing, a little back from memory.

    Further back costs another pass from the beginning.
    """

    def __init__(self, place: Place, packing: str, weight: int) -> None:
        self._begin: Callable[[], Any] = lambda: unpack(place, packing, weight=weight)
        self._blocks = self._begin()
        self._kept, self._first = bytearray(), 0
        self._lock = threading.Lock()
        self.damage: str | None = None

    def read_at(self, position: int, size: int) -> bytes:
        """Up to that many bytes from there; none at the end."""
        with self._lock:
            if position < self._first:
                self._blocks.close()
                self._blocks, self._kept, self._first = self._begin(), bytearray(), 0
            while self._first + len(self._kept) <= position and self._more():
                spare = min(len(self._kept) - KEPT, position - self._first)
                if spare > 0:
                    del self._kept[:spare]
                    self._first += spare
            begin = position - self._first
            return bytes(self._kept[begin : begin + size])

    def _more(self) -> bool:
        try:
            self._kept += next(self._blocks)
        except StopIteration as end:
            self.damage = end.value or self.damage
            return False
        return True


TarSource = PlainTar | UnpackedTar
"""A tar archive that is open."""
