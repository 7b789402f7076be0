"""Content of an archive's member or of an object as a stream that is read at any position."""

import io
import os
from collections.abc import Callable
from typing import Any

__all__ = ["Stream"]


class Stream(io.RawIOBase):
    """An open file of another library as one of Python's streams.

    `read_into` fills a buffer from it and gives the number of bytes; `owner` is what must not go before the stream.
    """

    def __init__(self, file: Any, read_into: Callable[[Any], int], owner: object = None) -> None:
        self._file, self._read_into, self._owner = file, read_into, owner

    def readable(self) -> bool:
        """Always."""
        return True

    def seekable(self) -> bool:
        """Always."""
        return True

    def seek(self, offset: int, whence: int = os.SEEK_SET) -> int:
        """Moves to the offset in bytes; the new position."""
        return self._file.seek(offset, whence)

    def tell(self) -> int:
        """The position in bytes."""
        return self._file.tell()

    def readinto(self, buffer: Any) -> int:
        """Fills the buffer; the number of bytes, 0 at the end."""
        return self._read_into(buffer)

    def close(self) -> None:
        """Closes the other library's file with the stream."""
        if not self.closed:
            self._file.close()
        super().close()
