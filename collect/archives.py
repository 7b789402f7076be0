"""Archives of several files, tar (compressed or not) and zip: what they hold, each member read where it lies.

Nothing is written, so that no name in an archive can do harm. A zip archive and a plain tar archive are read at any
position. A compressed tar archive is a stream: it is decompressed once to list it, and once more for all its members
as long as they are read in their order.
"""

from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path
from typing import IO, Any, Literal

from ..store.archive import absolute
from ..store.errors import Error, UnreadableFile
from .packing import beginning
from .places import Place, Status
from .tar_archive import PlainTar, TarEntries, UnpackedTar, is_tar, part
from .zip_archive import ZIP, OpenZip

__all__ = ["Listing", "Member", "address", "archive_at", "archive_in", "member_of", "weight"]

MOST_ENTRIES = 10_000
"""An archive that lists more (files, folders, links) is refused: the list of a hostile one would fill the memory."""

Kind = Literal["tar", "zip"]


@dataclass(frozen=True)
class Member:
    """A file in an archive. `position` is where its content begins (tar), or its number in the directory (zip)."""

    archive: Place
    packing: str | None
    kind: Kind
    member: str
    position: int
    size: int

    def __str__(self) -> str:
        return f"{self.archive}!/{self.member}"

    @property
    def name(self) -> str:
        """The last part of its name in the archive."""
        return self.member.rpartition("/")[2]

    def with_name(self, name: str) -> "Member":
        """The member beside it with that name, whether there is one or not."""
        wanted = self.member[: len(self.member) - len(self.name)] + name
        listing = _listing(self.archive, self.kind, self.packing)
        absent = Member(self.archive, self.packing, self.kind, wanted, -1, 0)
        return next((m for m in listing.members if m.member == wanted), absent)

    def is_file(self) -> bool:
        """Whether the archive holds it."""
        return self.position >= 0

    def is_dir(self) -> bool:
        """Never: only files are listed."""
        return False

    def stat(self) -> Status:
        """Its size, and the time of the archive: who writes the archive again may have changed it."""
        return Status(self.size, self.archive.stat().st_mtime_ns)

    def open(self, mode: Literal["rb"]) -> IO[bytes]:
        """Its content as the archive holds it; reading raises `EOFError` where the archive ends before it does."""
        source = _source(self.archive, self.kind, self.packing)
        if isinstance(source, OpenZip):
            return source.member(self, self.position)
        return part(source, self.position, self.size)


@dataclass(frozen=True)
class Listing:
    """What an archive holds: its files in their order, what is left out and why, and what cut the list short."""

    kind: Kind
    members: tuple[Member, ...]
    left_out: tuple[str, ...]
    damage: str | None


def archive_at(place: Place) -> Listing | None:
    """What the archive holds that lies there; None when it is none. Raises as `beginning` does."""
    packing, head, _ = beginning(place)
    return archive_in(place, packing, head)


def archive_in(place: Place, packing: str | None, head: bytes) -> Listing | None:
    """What the archive holds that lies there, judged from its beginning; None when it is none."""
    if packing is None and head.startswith(ZIP):
        return _listing(place, "zip", None)
    return _listing(place, "tar", packing) if is_tar(head) else None


def member_of(archive: Place, name: str) -> Member:
    """The member of that name; `Error` when there is none."""
    listing = archive_at(archive)
    if listing is None:
        raise Error(f"{archive}: not an archive, so it has no member {name}", "give the file itself")
    found = next((member for member in listing.members if member.member == name), None)
    if found is None:
        some = ", ".join(member.member for member in listing.members[:5])
        raise Error(f"{archive}: no file {name} in the archive", f"there are: {some or 'none'}")
    return found


def address(place: Place) -> str:
    """What the store calls it: a path from the root, a URL, or a member of one of these."""
    if isinstance(place, Member):
        return f"{address(place.archive)}!/{place.member}"
    return str(absolute(place) if isinstance(place, Path) else place)


def weight(place: Place) -> int:
    """Bytes that hold the content where it lies: those of the outermost archive."""
    return weight(place.archive) if isinstance(place, Member) else place.stat().st_size


def _listing(archive: Place, kind: Kind, packing: str | None) -> Listing:
    status = archive.stat()
    return _listed(archive, kind, packing, status.st_size, status.st_mtime_ns)


@lru_cache(maxsize=4)
def _listed(archive: Place, kind: Kind, packing: str | None, size: int, time: int) -> Listing:
    source = _source(archive, kind, packing)
    entries = source.entries() if isinstance(source, OpenZip) else TarEntries(source)
    left_out, members, names = list[str](), list[Member](), set[str]()
    for number, entry in enumerate(entries):
        if number == MOST_ENTRIES:
            raise UnreadableFile(f"{archive}: the {kind} archive lists more than {MOST_ENTRIES:,} entries", "unpack it")
        name = entry.name.removeprefix("./")
        if entry.fault:
            left_out.append(f"{archive}!/{name}: {entry.fault}")
        elif not _hidden(name):
            name = _unique(name, names)
            members.append(Member(archive, packing, kind, name, entry.position, entry.bytes))
    return Listing(kind, tuple(members), tuple(left_out), getattr(entries, "damage", None))


def _unique(name: str, names: set[str]) -> str:
    """The name, or with a number where there was one before: an archive may hold a name twice, and both are kept."""
    unique, number = name, 2
    while unique in names:
        unique, number = f"{name}#{number}", number + 1
    names.add(unique)
    return unique


def _hidden(name: str) -> bool:
    """Whether it is a folder, or passed over as on a disk."""
    parts = [part for part in name.split("/") if part not in ("", ".", "..")]
    return name.endswith("/") or not parts or parts[0] == "__MACOSX" or any(part.startswith(".") for part in parts)


Source = PlainTar | UnpackedTar | OpenZip

_last: list[tuple[Any, Source]] = []
"""The archive opened last: opening one again for each member would read its directory, or decompress it, again."""


def _source(archive: Place, kind: Kind, packing: str | None) -> Source:
    status = archive.stat()
    key = (address(archive), status.st_size, status.st_mtime_ns, packing)
    for known, source in _last:
        if known == key:
            return source
    source = _open(archive, kind, packing)
    _last[:] = [(key, source)]  # and given from here: another thread may put its own in place of it
    return source


def _open(archive: Place, kind: Kind, packing: str | None) -> Source:
    if packing:
        return UnpackedTar(archive, packing, weight(archive))
    file = archive.open("rb")
    return OpenZip(archive, file) if kind == "zip" else PlainTar(file)
