"""Zip archives: their directory, and their members' content."""

import io
import stat
import weakref
import zipfile
from collections.abc import Iterator
from typing import IO, Any, cast

from ..store.errors import UnreadableFile
from .packing import DAMAGE
from .places import Entry, Place

__all__ = ["ZIP", "OpenZip"]

ZIP = (b"PK\x03\x04", b"PK\x05\x06")
"""What a zip archive begins with; the second when it holds nothing."""


class OpenZip:
    """A zip archive."""

    def __init__(self, place: Place, file: IO[bytes]) -> None:
        whole = file if isinstance(file, io.BufferedReader) else io.BufferedReader(cast("io.RawIOBase", file))
        weakref.finalize(self, whole.close)
        try:
            self._zip = zipfile.ZipFile(whole)
        except (NotImplementedError, *DAMAGE) as error:
            raise UnreadableFile(f"{place}: damaged zip archive: {error}", "copy the file again") from error

    def entries(self) -> Iterator[Entry]:
        """What the directory lists; the position of each is its number there."""
        for number, info in enumerate(self._zip.infolist()):
            link = stat.S_ISLNK(info.external_attr >> 16)
            yield Entry(info.filename, "a link" if link else None, number, info.file_size)

    def member(self, place: Place, number: int) -> IO[bytes]:
        """The content of the member of that number; `UnreadableFile`, which names `place`, when it is encrypted."""
        info = self._zip.infolist()[number]
        if info.flag_bits & 1:
            raise UnreadableFile(f"{place}: is encrypted", "unpack the archive and give the trace file")
        try:
            return cast("IO[bytes]", _Part(self, self._zip.open(info)))  # not buffered: see `tar_archive.part`
        except (NotImplementedError, RuntimeError, *DAMAGE) as error:
            raise UnreadableFile(f"{place}: cannot be unpacked: {error}", "copy the archive again") from error


class _Part(io.RawIOBase):
    """The content of a member of a zip archive, which stays open as long."""

    def __init__(self, archive: OpenZip, file: Any) -> None:
        self._archive, self._file = archive, file

    def readable(self) -> bool:
        return True

    def seekable(self) -> bool:
        return True

    def seek(self, offset: int, whence: int = 0) -> int:
        return self._file.seek(offset, whence)

    def tell(self) -> int:
        return self._file.tell()

    def readinto(self, buffer: Any) -> int:
        content = self._file.read1(len(buffer))
        buffer[: len(content)] = content
        return len(content)

    def close(self) -> None:
        self._file.close()
        super().close()
