"""The history of an archive: a small immutable file for each measured run and for each decision about a series.

    history/runs/<series>/<key>.json         a run as it was measured
    history/decisions/<series>/<key>.json    what somebody decided: a change accepted, a baseline pinned

What is in them is the writer's affair. Each is written whole, with the sha256 of its content: any number of writers at
once, no lock, and the same content twice is one file.
"""

import hashlib
import json
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal

from .archive_words import archive_words
from .errors import ArchiveError
from .staging import put_whole, sync_folder

__all__ = ["Damage", "History", "Record", "key_of"]

Shelf = Literal["runs", "decisions"]
KEY_LENGTH = 24

Damage = dict[Path, ArchiveError]
"""Files of the history that are not as they were written, each with the error that says so."""


@dataclass(frozen=True)
class Record:
    """A file of the history: the series it belongs to, its name there, and what it says."""

    series: str
    key: str
    content: Mapping[str, Any]


class History:
    """The folder `history/` of the archive in that folder, which is there already."""

    def __init__(self, archive: Path) -> None:
        self._folder, self._staging = archive / "history", archive / ".staging"

    def put(self, shelf: Shelf, series: str, key: str, content: Mapping[str, Any]) -> None:
        """Writes a record, unless one of that key is there; raises `ArchiveError` where the disk does not take it."""
        path = self._folder / shelf / series / f"{key}.json"
        if path.exists():
            return
        text = _canonical(content)
        digest = hashlib.sha256(text.encode()).hexdigest()
        try:
            path.parent.mkdir(parents=True, exist_ok=True)
            self._staging.mkdir(exist_ok=True)
            put_whole(path, f'{{"sha256": "{digest}",\n"content": {text}}}\n', self._staging, durable=True)
            sync_folder(path.parent)
        except OSError as error:
            raise ArchiveError(
                f"{error.filename or path}: {error.strerror or error}", "check space and permissions"
            ) from error

    def keys(self, shelf: Shelf) -> set[str]:
        """The keys of all records on that shelf, of which none is read."""
        return {path.stem for path in self._paths(shelf, "*")}

    def read(self, shelf: Shelf, series: str = "*", *, damage: Damage | None = None) -> list[Record]:
        """The records of one series, or of all, by series and key.

        Raises `ArchiveError` at one that is damaged; with `damage` the files that are get there instead.
        """
        found: list[Record] = []
        for path in self._paths(shelf, series):
            try:
                found.append(_record(path))
            except ArchiveError as error:
                if damage is None:
                    raise
                damage[path] = error
        return found

    def damaged(self) -> Iterator[tuple[Path, str]]:
        """The files that are not as they were written, each with what is wrong."""
        damage: Damage = {}
        for shelf in ("runs", "decisions"):
            self.read(shelf, damage=damage)
        for path, error in damage.items():
            yield path, error.message.rpartition(": ")[2]

    def _paths(self, shelf: Shelf, series: str) -> list[Path]:
        return sorted((self._folder / shelf).glob(f"{series}/*.json"))


def key_of(*parts: Any) -> str:
    """A name for what those parts, of JSON's types, tell from all else."""
    return hashlib.sha256(_canonical(parts).encode()).hexdigest()[:KEY_LENGTH]


def _record(path: Path) -> Record:
    again = "a run is measured anew" if path.parents[1].name == "runs" else "the decision is to be made again"
    hint = f"remove the file: {again}; then check the rest: tracelode fsck{archive_words(path.parents[3])}"
    try:
        raw: dict[str, Any] = json.loads(path.read_bytes())
        content, digest = raw["content"], raw["sha256"]
        own = hashlib.sha256(_canonical(content).encode()).hexdigest()  # a number that was damaged may be none in JSON
    except OSError as error:
        raise ArchiveError(f"{path}: {error.strerror}", "check permissions") from error
    except (ValueError, KeyError, TypeError) as error:
        raise ArchiveError(f"{path}: is damaged", hint) from error
    if own != digest or not isinstance(content, dict):
        raise ArchiveError(f"{path}: does not have its own sha256", hint)
    return Record(path.parent.name, path.stem, content)


def _canonical(content: Any) -> str:
    return json.dumps(content, sort_keys=True, separators=(",", ":"), allow_nan=False)
