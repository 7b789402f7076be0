"""What batches have done of each run, kept in the archive: what has not changed since is not looked at again."""

import hashlib
import json
import os
from collections.abc import Iterator
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from ..store.archive import Archive
from ..store.errors import ArchiveError, UnreadableFile
from ..store.kinds import rules_mark
from ..store.staging import put_whole
from ..store.version import code_hash
from .batch_tasks import State
from .pipeline import Found, Pipeline

__all__ = ["Record", "Records", "Refused", "key_of"]


@dataclass(frozen=True)
class Refused:
    """A file that is no trace, as it was then: it is not read again. `left_out`: it was found in a folder."""

    path: str
    bytes: int
    modified_ns: int
    message: str
    hint: str
    left_out: bool

    @property
    def error(self) -> UnreadableFile:
        """Why it was not read."""
        return UnreadableFile(self.message, self.hint)


@dataclass(frozen=True)
class Record:
    """A run as a batch has left it: `key` tells all that it rests on, None where something is to be tried again.

    `code` is the code that read it, `traces` are the ids of its traces, `cut` says which of them end early, `written`
    are the files of its reports.
    """

    key: str | None
    code: str
    traces: tuple[str, ...] = ()
    refused: tuple[Refused, ...] = ()
    cut: tuple[str, ...] = ()
    written: tuple[str, ...] = ()

    def holds(self, archive: Archive) -> bool:
        """Whether all that was done is still there."""
        return all(map(archive.holds, self.traces)) and all(Path(file).is_file() for file in self.written)


class Records:
    """The folder `batch/` of an archive: a small file for each run of a pipeline, written whole or not at all."""

    def __init__(self, archive: Archive, pipeline: Path) -> None:
        self._archive, self._pipeline = archive.path, str(pipeline)

    def of(self, run: str) -> Record | None:
        """What is recorded of that run; None for what is not there, or was written by something else."""
        try:
            raw: dict[str, Any] = json.loads(self._path(run).read_bytes())
            refused = tuple(Refused(**one) for one in raw["refused"])
            traces, cut, written = (tuple(raw[name]) for name in ("traces", "cut", "written"))
            return Record(raw["key"], raw["code"], traces, refused, cut, written)
        except (OSError, ValueError, KeyError, TypeError):
            return None

    def put(self, run: str, record: Record) -> None:
        """Records it, over what was recorded of that run."""
        path, staging = self._path(run), self._archive / ".staging"
        try:
            path.parent.mkdir(parents=True, exist_ok=True)
            staging.mkdir(exist_ok=True)
            put_whole(path, json.dumps(asdict(record), sort_keys=True) + "\n", staging)
        except OSError as error:
            raise ArchiveError(f"{path}: {error.strerror}", "check space and permissions") from error

    def _path(self, run: str) -> Path:
        return self._archive / "batch" / hashlib.sha256(json.dumps([self._pipeline, run]).encode()).hexdigest()


def key_of(found: Found, pipeline: Pipeline) -> str | None:
    """Tells whether anything that a run's results rest on has changed: files, code, rules, and what is asked for.

    Files are looked at, not read. None where that does not tell: of URLs, members of archives, what is not there.
    """
    try:
        states = [state for path in found.paths for state in _states(path)]
    except OSError:
        return None
    asked = [[one.topic, one.formats, str(one.folder)] for one in pipeline.reports]
    labels = [dict(own) for own in found.labels.values()]
    told = [code_hash(), rules_mark(), labels, pipeline.mine, asked, pipeline.check is not None, states]
    return hashlib.sha256(json.dumps(told, sort_keys=True).encode()).hexdigest()


def _states(path: str) -> Iterator[State]:
    """The file, or all files below the folder, hidden ones left out, whatever links lead to them."""
    if not Path(path).is_dir():
        status = Path(path).stat()
        yield path, status.st_size, status.st_mtime_ns
        return
    seen: set[tuple[int, int]] = set()
    for folder, folders, files in os.walk(path, followlinks=True):
        status = Path(folder).stat()
        if (status.st_dev, status.st_ino) in seen:
            folders.clear()
            continue
        seen.add((status.st_dev, status.st_ino))
        folders[:] = sorted(name for name in folders if not name.startswith("."))
        for file in sorted(files):
            if not file.startswith("."):
                yield from _state(Path(folder, file))


def _state(path: Path) -> Iterator[State]:
    try:
        status = path.stat()
    except OSError:  # a link to nowhere: reading the run says so
        return
    yield str(path), status.st_size, status.st_mtime_ns
