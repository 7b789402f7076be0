"""What an archive remembers of the files it has read: the trace each gave, its run, and its rank in that run."""

import hashlib
import json
from collections.abc import Iterator
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any, Literal

from .staging import put_whole

__all__ = ["Membership", "RankFrom", "Source", "Sources"]

RankFrom = Literal["file", "name", "order"]
"""Where a rank is from: the trace's own facts, the file's name, its place among the files of the run."""


@dataclass(frozen=True)
class Source:
    """Where a trace came from: path or URL, size and time of the file as it was read, and the reader that read it."""

    path: str
    bytes: int
    modified_ns: int
    reader: str
    reader_version: int


@dataclass(frozen=True)
class Membership:
    """What a source is to its run: the trace it gave, and which rank that is. None: not known."""

    trace_id: str
    source: Source
    run: str | None = None
    rank: int | None = None
    rank_from: RankFrom | None = None


class Sources:
    """The folder `sources/` of an archive: one small file for each file that was read, written whole or not at all.

    `put` writes over what was remembered of the same source. No locks: the last writer of a source decides.
    """

    def __init__(self, folder: Path, staging: Path) -> None:
        self._folder, self._staging = folder, staging

    def of(self, source: Source) -> Membership | None:
        """What is remembered of that very source: path, size, time, reader; one look, however many there are."""
        return _read(self._path(source))

    def put(self, membership: Membership) -> None:
        """Remembers it."""
        text = json.dumps(asdict(membership), sort_keys=True) + "\n"
        put_whole(self._path(membership.source), text, self._staging)

    def all(self) -> list[Membership]:
        """All that is remembered, by path: of a file that was read in several states, the latest one."""
        found: dict[str, Membership] = {}
        for one in self._each():
            there = found.get(one.source.path)
            if there is None or _age(there) < _age(one):
                found[one.source.path] = one
        return [found[path] for path in sorted(found)]

    def _each(self) -> Iterator[Membership]:
        for path in self._folder.iterdir() if self._folder.is_dir() else ():
            one = _read(path)
            if one is not None:
                yield one

    def _path(self, source: Source) -> Path:
        return self._folder / hashlib.sha256(json.dumps(asdict(source)).encode()).hexdigest()


def _age(one: Membership) -> tuple[int, int, str]:
    return one.source.modified_ns, one.source.reader_version, one.trace_id


def _read(path: Path) -> Membership | None:
    """None for what is not there, or was written by something else: the file is then read anew."""
    try:
        raw: dict[str, Any] = json.loads(path.read_bytes())
        source = Source(**raw["source"])
        return Membership(raw["trace_id"], source, raw["run"], raw["rank"], raw["rank_from"])
    except (OSError, ValueError, KeyError, TypeError):
        return None
