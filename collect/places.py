"""Where inputs lie: a place has what is used of `pathlib.Path`, so that paths are places, as URLs and members are."""

from dataclasses import dataclass
from typing import IO, Literal, Protocol

__all__ = ["Entry", "Place", "Status", "StatusLike"]


class StatusLike(Protocol):
    """Size and time of a file, named as `os.stat` names them."""

    @property
    def st_size(self) -> int:
        """Bytes."""
        ...

    @property
    def st_mtime_ns(self) -> int:
        """Unix time of the last change in nanoseconds."""
        ...


class Place(Protocol):
    """Where an input lies; `str` gives what the user calls it. Readers need no more of it than this."""

    @property
    def name(self) -> str:
        """The last part."""
        ...

    def with_name(self, name: str) -> "Place":
        """The place beside it with that name, whether something is there or not."""
        ...

    def is_file(self) -> bool:
        """Whether a file is there."""
        ...

    def is_dir(self) -> bool:
        """Whether a folder is there."""
        ...

    def stat(self) -> StatusLike:
        """Its size and time, without reading it."""
        ...

    def open(self, mode: Literal["rb"]) -> IO[bytes]:
        """The content, which can be read at any position."""
        ...


@dataclass(frozen=True)
class Status:
    """Size and time of what is no local file."""

    st_size: int
    st_mtime_ns: int


@dataclass(frozen=True)
class Entry:
    """A file that an archive lists: why it is left out, if it is, and where its content lies."""

    name: str
    fault: str | None
    position: int
    bytes: int
