"""Zip archives: their directory, and their members' content."""

import io
import stat
import weakref
import zipfile
from collections.abc import Iterator
from typing import IO, Any, cast

from ..store.errors import OpaqueFile
from .packing import DAMAGE
from .places import Entry, Place
from .stream import Stream

__all__ = ["ZIP", "OpenZip"]

ZIP = (b"PK\x03\x04", b"PK\x05\x06")
"""What a zip archive begins with; the second when it holds nothing."""

UNPACK = "unpack the archive and give the trace file"


class OpenZip:
    """A zip archive."""

    def __init__(self, place: Place, file: IO[bytes]) -> None:
        whole = file if isinstance(file, io.BufferedReader) else io.BufferedReader(cast("io.RawIOBase", file))
        weakref.finalize(self, whole.close)
        try:
            self._zip = zipfile.ZipFile(whole)
        except NotImplementedError as error:
            raise _unknown(place, error) from error
        except DAMAGE as error:
            raise OpaqueFile(f"{place}: damaged zip archive: {error}", "copy the file again") from error

    def entries(self) -> Iterator[Entry]:
        """What the directory lists; the position of each is its number there."""
        for number, info in enumerate(self._zip.infolist()):
            link = stat.S_ISLNK(info.external_attr >> 16)
            yield Entry(info.filename, "a link" if link else None, number, info.file_size)

    def member(self, place: Place, number: int) -> IO[bytes]:
        """The content of the member of that number; `OpaqueFile`, which names `place`, when it is encrypted.

        Damage may also be that of the archive around this one, which is then decompressed on the way.
        """
        info = self._zip.infolist()[number]
        if info.flag_bits & 1:
            raise OpaqueFile(f"{place}: is encrypted", UNPACK)
        try:
            file: Any = self._zip.open(info)
        except NotImplementedError as error:
            raise _unknown(place, error) from error
        except DAMAGE as error:
            raise OpaqueFile(f"{place}: cannot be unpacked: {error}", "copy the archive again") from error
        return cast("IO[bytes]", Stream(file, file.readinto1, self))  # not buffered: see `tar_archive.part`


def _unknown(place: Place, error: NotImplementedError) -> OpaqueFile:
    """The error for a version, a compression or an encryption that `zipfile` does not know."""
    return OpaqueFile(f"{place}: cannot be unpacked: {error}", UNPACK)
