"""From what a user names to the files to read: folders are walked, archives listed, URLs resolved."""

import os
import re
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from urllib.parse import unquote, urlsplit

from ..store.errors import Error, UnreadableFile
from .archives import Listing, Member, archive_at, member_of
from .files import open_file, reader_of
from .places import Place
from .ranks import natural
from .record import RUN
from .remote import SCHEMES, Remote, looked_up

__all__ = ["Input", "inputs", "nothing_in", "place_of"]

ARCHIVE_MARKER = "archive.toml"
LONGEST_RUN = 200
SUFFIXES = (".gz", ".zst", ".xz", ".bz2", ".tar", ".tgz", ".txz", ".tbz2", ".tzst", ".zip")


@dataclass(frozen=True)
class Input:
    """A file to read, or a folder that is one trace, the run it belongs to, and what else its user knows of it.

    `given` is what the user named; where that is not the place itself, the place was found in it, and may turn out to
    be no trace at all. `fault` says that nothing can be read there: it is not there, or the rest of an archive is lost.
    """

    place: Place
    given: Place
    run: str | None = None
    fault: Error | None = None
    labels: Mapping[str, str] = field(default_factory=dict[str, str])

    @property
    def found(self) -> bool:
        """Whether the user named something else, that holds this."""
        return self.place != self.given


def place_of(text: str | os.PathLike[str]) -> Place:
    """The place a user names: a path, `s3://`, `gs://` or `file://` and the rest of a URL, or `archive!/member`."""
    name = os.fspath(text)
    if "!/" in name and not _is_there(name):
        archive, member = _split(name)
        place = looked_up(place_of(archive))
        if not place.is_file():
            raise Error(f"{archive}: no such file", "check the path")
        return member_of(place, member)
    scheme, mark, _ = name.partition("://")
    if not mark or _is_there(name):
        return Path(name)
    if scheme == "file":
        return Path(unquote(urlsplit(name).path))
    if scheme not in SCHEMES:
        raise Error(f"{name}: {scheme} URLs are not read", f"give a path, or one of: {', '.join(SCHEMES)}, file")
    return Remote(name)


def _split(name: str) -> tuple[str, str]:
    """An archive and its member: at the first mark with a file before it, since a path may hold the mark, too."""
    marks = [found.start() for found in re.finditer("!/", name)]
    at = next((mark for mark in marks if _is_there(name[:mark], Path.is_file)), marks[0])
    return name[:at], name[at + 2 :]


def _is_there(name: str, look: Callable[[Path], bool] = Path.exists) -> bool:
    try:
        return look(Path(name))
    except OSError:  # too long for a path, or in a folder that may not be looked into
        return False


def inputs(given: Place, run: str | None, left_out: Callable[[str], None]) -> Iterator[Input]:
    """The files to read where a user names one; a folder or an archive of several files is a run of its name.

    `left_out` is told each thing that is passed over, and why.
    """
    given = looked_up(given)
    if not given.is_dir():
        yield from _file(given, given, run, left_out)
        return
    named = _text(given.resolve().name if isinstance(given, Path) else given.name)
    places = list(_walk(given, left_out))
    if places == [given]:
        yield Input(given, given, run or _told_run(given))
        return
    for place in places:
        yield from _file(place, given, run or _told_run(place) or named, left_out)
    if not places:
        yield Input(given, given, run or named, nothing_in(given))


def _told_run(place: Place) -> str | None:
    """The run that a recording says its processes are of; None for all else."""
    if not isinstance(place, Path) or not any(place.glob("*.spool")):
        return None
    try:
        with (place.parent / RUN).open(encoding="utf-8", errors="backslashreplace") as file:
            return file.readline(LONGEST_RUN).strip() or None
    except OSError:
        return None


def nothing_in(given: Place) -> UnreadableFile:
    """The error for a folder or an archive without any trace."""
    what = "folder" if given.is_dir() else "archive"
    return UnreadableFile(f"{given}: no trace in this {what}", "give the one that holds the trace files")


def _file(place: Place, given: Place, run: str | None, left_out: Callable[[str], None]) -> Iterator[Input]:
    """The file itself, or the members of the archive that it is."""
    archive = _archive(place)
    for line in archive.left_out if archive else ():
        left_out(line)
    if archive is None or not archive.members or (len(archive.members) == 1 and not archive.damage):
        yield Input(place, given, run)
        return
    run = run or _text(_stem(place.name))
    yield from (Input(member, given, run) for member in archive.members)
    if archive.damage:
        what = f"{place}: {archive.damage}: what follows {archive.members[-1].member} is lost"
        yield Input(place, given, run, UnreadableFile(what, "copy the file again"))


def _archive(place: Place) -> Listing | None:
    """None also for what cannot be read: reading it will say so."""
    try:
        return None if isinstance(place, Member) or not place.is_file() else archive_at(place)
    except Error:
        return None


def _text(name: str) -> str:
    """The name with bytes that are no text as escapes."""
    return name.encode("utf-8", "backslashreplace").decode()


def _stem(name: str) -> str:
    while (suffix := next((s for s in SUFFIXES if name.lower().endswith(s)), None)) and len(name) > len(suffix):
        name = name[: -len(suffix)]
    return name


def _reader(folder: Place) -> str | None:
    """The name of the reader that takes the folder for one trace."""
    try:
        return reader_of(open_file(folder))[0]
    except Error:
        return None


def _is_part(path: Path, reader: str) -> bool:
    """Whether what lies in a folder that is one trace belongs to it, or is no trace itself."""
    if path.is_dir() or _archive(path) is not None:
        return False
    try:
        return reader_of(open_file(path))[0] == reader
    except UnreadableFile:
        return True
    except Error:  # as reading it will say
        return False


def _walk(folder: Place, left_out: Callable[[str], None]) -> Iterator[Place]:
    """All files below, sorted; hidden ones are passed over, and a folder is met once whatever links lead to it.

    A folder that is one trace comes before what lies in it and is a trace of its own. What cannot be looked at comes
    too: reading it says why.
    """
    if isinstance(folder, Remote):
        start = len(str(folder).rstrip("/")) + 1
        yield from (o for o in folder.objects() if not any(part.startswith(".") for part in str(o)[start:].split("/")))
        return
    assert isinstance(folder, Path)
    waiting, seen = [folder], set[tuple[int, int]]()
    while waiting:
        path = waiting.pop()
        try:
            status = path.stat()
            if not path.is_dir():
                if path.is_file():
                    yield path
                continue
            if (status.st_dev, status.st_ino) in seen:
                continue
            seen.add((status.st_dev, status.st_ino))
            below = sorted((p for p in path.iterdir() if not p.name.startswith(".")), key=lambda p: natural(p.name))
        except OSError:
            yield path
            continue
        reader = _reader(path)
        if reader is not None:
            yield path
            below = [one for one in below if not _is_part(one, reader)]
        elif (path / ARCHIVE_MARKER).is_file():
            left_out(f"{path}: an archive of tracelode")
            continue
        waiting.extend(reversed(below))
