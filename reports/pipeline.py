"""A pipeline file: what a batch reads, mines, reports on and checks.

archive = "traces"                # a folder; as all paths in here, from the file's own folder
mine = ["iterations"]             # analyses; without this line all
[[ingest]]
paths = ["nightly/*"]             # each match, a file or a folder, is a run of that name
run = "nightly"                   # all of them one run instead
labels = { model = "llama-7b" }   # facts of the traces
[[report]]
topic = "perf"
formats = ["html"]
folder = "reports"                # a folder for each run in it
[check]
formats = ["md", "junit"]
folder = "checks"
"""

import glob
import os
import tomllib
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from ..collect.ranks import natural
from ..store.archive import absolute
from ..store.errors import Error, UnreadableFile
from ..store.parts import names
from .rank_group import Unread

__all__ = ["Found", "Ingest", "Output", "Pipeline", "found_by", "read_pipeline"]

KEYS = ("archive", "mine", "ingest", "report", "check")


@dataclass(frozen=True)
class Ingest:
    """What to read: globs, the run that all of it is (None: each match is one), and labels of its traces."""

    paths: tuple[str, ...]
    run: str | None
    labels: Mapping[str, str]


@dataclass(frozen=True)
class Output:
    """A report on a topic, or the one of the check (`topic` is empty), in formats, into a folder."""

    topic: str
    formats: tuple[str, ...]
    folder: Path


@dataclass(frozen=True)
class Pipeline:
    """What a batch does. `mine` is None for all analyses, `check` None for no check."""

    path: Path
    archive: Path
    ingest: tuple[Ingest, ...]
    mine: tuple[str, ...] | None
    reports: tuple[Output, ...]
    check: Output | None


@dataclass(frozen=True)
class Found:
    """A run as the globs find it. `labels` are those of each of its paths, in the order of their names."""

    run: str
    labels: Mapping[str, Mapping[str, str]]

    @property
    def paths(self) -> tuple[str, ...]:
        """Paths, URLs and members of archives."""
        return tuple(self.labels)


def read_pipeline(path: Path) -> Pipeline:
    """The pipeline of that file; an `Error` that names the entry and the fault where it is not one."""
    path = absolute(path)
    try:
        told = tomllib.loads(path.read_bytes().decode("utf-8"))
    except OSError as error:
        raise Error(f"{path}: {error.strerror}", "give the file of a pipeline: docs/batch.md") from error
    except (tomllib.TOMLDecodeError, UnicodeDecodeError) as error:
        raise Error(f"{path}: is not TOML: {' '.join(str(error).split())}", "see docs/batch.md") from error
    entry = _Entry(f"{path}", told, KEYS)
    folder = path.parent
    ingest = tuple(_ingest(one) for one in entry.entries("ingest", ("paths", "run", "labels")))
    if not ingest:
        raise Error(f"{path}: there is no [[ingest]], so nothing to read", 'add one: [[ingest]] paths = ["runs/*"]')
    reports = tuple(
        Output(one.of("topic", names("topic")), *_output(one, folder))
        for one in entry.entries("report", ("topic", "formats", "folder"))
    )
    check = entry.table("check", ("formats", "folder"))
    return Pipeline(
        path,
        absolute(folder / entry.text("archive")),
        ingest,
        entry.texts("mine", names("analysis"), least=0) if "mine" in told else None,
        reports,
        check and Output("", *_output(check, folder)),
    )


def _ingest(entry: "_Entry") -> Ingest:
    run = entry.text("run") if "run" in entry.told else None
    if run is not None and (Path(run).is_absolute() or ".." in Path(run).parts):
        raise Error(
            f"{entry.name}: the run {run} would have reports outside the folder of reports", "name it otherwise"
        )
    labels = entry.told.get("labels", {})
    if not isinstance(labels, Mapping) or not all(isinstance(value, str) for value in labels.values()):
        raise Error(f"{entry.name}: labels are texts by name", 'write them as in: labels = { model = "llama-7b" }')
    return Ingest(entry.texts("paths"), run, labels)


def _output(entry: "_Entry", folder: Path) -> tuple[tuple[str, ...], Path]:
    return entry.texts("formats", names("format")), absolute(folder / entry.text("folder"))


@dataclass(frozen=True)
class _Entry:
    """A table of the file, and what to call it in a message."""

    name: str
    told: Any
    keys: tuple[str, ...]

    def __post_init__(self) -> None:
        if not isinstance(self.told, Mapping):
            raise Error(f"{self.name}: is {self.told!r}, not a table", "see docs/batch.md")
        for key in self.told:
            if key not in self.keys:
                raise Error(f"{self.name}: unknown key {key!r}", f"there are: {', '.join(self.keys)}")

    def text(self, key: str) -> str:
        """The text of that key, which is there."""
        value = self.told.get(key)
        if not isinstance(value, str) or not value or "\0" in value:
            raise Error(
                f"{self.name}: {key} is {'missing' if value is None else f'{value!r}, no text'}", self._example(key)
            )
        return value

    def texts(self, key: str, among: Mapping[str, Any] | None = None, *, least: int = 1) -> tuple[str, ...]:
        """The texts of that key, at least so many, all of them among those that there are."""
        value = self.told.get(key)
        if not isinstance(value, list) or not all(isinstance(one, str) and one for one in value):
            raise Error(f"{self.name}: {key} is not a list of texts", self._example(key))
        if len(value) < least:
            raise Error(f"{self.name}: {key} is empty", self._example(key))
        for one in value if among is not None else ():
            _check(self.name, key, one, among or {})
        return tuple(value)

    def of(self, key: str, among: Mapping[str, Any]) -> str:
        """The text of that key, which is one of those."""
        _check(self.name, key, self.text(key), among)
        return self.text(key)

    def entries(self, key: str, keys: tuple[str, ...]) -> Iterator["_Entry"]:
        """The tables of a list; none where the key is not there."""
        value = self.told.get(key, [])
        if not isinstance(value, list):
            raise Error(f"{self.name}: {key} is not a list", f"write [[{key}]], with two brackets")
        for number, one in enumerate(value, 1):
            yield _Entry(f"{self.name}: [[{key}]] {number}", one, keys)

    def table(self, key: str, keys: tuple[str, ...]) -> "_Entry | None":
        """The table of that key; None where it is not there."""
        return _Entry(f"{self.name}: [{key}]", self.told[key], keys) if key in self.told else None

    def _example(self, key: str) -> str:
        value = '["..."]' if key in ("paths", "formats", "mine") else '"..."'
        return f"write it as in: {key} = {value}"


def _check(name: str, key: str, value: str, among: Mapping[str, Any]) -> None:
    if value not in among:
        raise Error(f"{name}: {key}: there is no {value}", f"there are: {', '.join(among)}")


def found_by(pipeline: Pipeline) -> tuple[list[Found], list[Unread]]:
    """The runs that the globs find, by name, and each glob that finds nothing.

    What several globs find belongs to the first, what lies in a folder that is found to that folder's run. Raises
    `Error` where two folders would give runs of the same name.
    """
    matches: dict[str, tuple[str, str, Ingest]] = {}
    unread: list[Unread] = []
    for entry in pipeline.ingest:
        for pattern in entry.paths:
            there = list(_matches(pattern, pipeline.path.parent))
            if not there:
                place = pattern if "://" in pattern else str(pipeline.path.parent / pattern)
                error = UnreadableFile(f"{place}: nothing is there", "check the paths of the pipeline")
                unread.append(Unread(place, error))
            for path, name, root in there:
                run, root = (name, root) if entry.run is None else (entry.run, "")
                matches.setdefault(path, (_text(run), root, entry))
    roots: dict[str, str] = {}
    labels: dict[str, dict[str, Mapping[str, str]]] = {}
    for path in sorted(matches, key=natural):
        run, root, entry = matches[path]
        if any(str(parent) in matches for parent in Path(path).parents):
            continue
        if roots.setdefault(run, root) != root:
            first = next(iter(labels[run]))
            raise Error(f"{first} and {path}: both would be the run {run}", "set run in one of the [[ingest]]")
        labels.setdefault(run, {})[path] = entry.labels
    found = [Found(run, own) for run, own in labels.items()]
    return sorted(found, key=lambda one: natural(one.run)), unread


def _matches(pattern: str, folder: Path) -> Iterator[tuple[str, str, str]]:
    """What the pattern finds: the path, its name below the part of the pattern without wildcards, and that part.

    A URL and a member of an archive are found as they are.
    """
    if "://" in pattern or "!/" in pattern:
        path = pattern if "://" in pattern else str(folder / pattern)
        yield path, pattern.rstrip("/").rpartition("/")[2], path
        return
    whole = absolute(folder / pattern)
    if os.path.exists(whole):  # noqa: PTH110 - Path.exists raises where a folder may not be looked into
        yield str(whole), whole.name, str(whole.parent)
        return
    parts = Path(pattern).parts
    wild = next((at for at, part in enumerate(parts) if glob.has_magic(part)), len(parts))
    root = absolute(Path(folder, *parts[:wild]))
    there = glob.glob(pattern, root_dir=folder, recursive=True)  # noqa: PTH207 - Path.glob finds hidden files, too
    for found in there if wild < len(parts) else ():
        path = absolute(folder / found)
        if path != root:
            yield str(path), str(path.relative_to(root)), str(root)


def _text(name: str) -> str:
    """The name with bytes that are no text as escapes."""
    return name.encode("utf-8", "backslashreplace").decode()
