"""What an archive remembers of the files it has read: the trace each gave, its run, and its rank in that run."""

import hashlib
import json
from collections.abc import Iterable, Iterator
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

from .columns import I32, I64, TEXT, Column, Kind, Table
from .staging import put_whole

if TYPE_CHECKING:
    import pyarrow as pa

__all__ = ["SOURCE", "Membership", "RankFrom", "Source", "Sources", "source_rows"]

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


SOURCE = Table(
    "source",
    Kind.IDENTITY,
    "file that the archive has read, with its run and its rank there; files of the same content share their trace",
    (
        Column("path", TEXT, "path or URL; of a member of an archive, the archive and the member", required=True),
        Column("run", TEXT, "the run it belongs to: the folder or archive it was read with, or what `--run` said"),
        Column("rank", I32, "its rank in the run"),
        Column("rank_from", TEXT, "where the rank is from: file (what the trace says), name (of the file) or order"),
        Column("format", TEXT, "the reader that read it", required=True),
        Column("bytes", I64, "size of the file as it was read", "bytes", required=True),
        Column("modified_ns", I64, "when the file was written last, since 1970 (UTC)", "ns", required=True),
    ),
)
"""The view of what `Archive.memberships` gives, which the archive knows and no trace does."""


def source_rows(memberships: Iterable[Membership]) -> "pa.Table":
    """The rows of the view `source`, with the trace's id before the columns of `SOURCE`."""
    import pyarrow as pa

    rows = [
        {
            "trace_id": one.trace_id,
            "path": _shown(one.source.path),
            "run": None if one.run is None else _shown(one.run),
            "rank": one.rank,
            "rank_from": one.rank_from,
            "format": one.source.reader,
            "bytes": one.source.bytes,
            "modified_ns": one.source.modified_ns,
        }
        for one in memberships
    ]
    return pa.Table.from_pylist(rows, schema=pa.schema([pa.field("trace_id", TEXT), *SOURCE.schema]))


def _shown(path: str) -> str:
    """A path with bytes that are no text as `\\udcff`, as `ls` shows them."""
    return path.encode("utf-8", "backslashreplace").decode()


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
