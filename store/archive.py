"""An archive: a folder of traces, each an immutable folder of Parquet files with a manifest.

    archive.toml                                     format version
    traces/<trace id>/manifest.json                  commit record: files with sha256 and rows, facts, notes, labels
    traces/<trace id>/<table>.parquet                immutable
    derived/<analysis>@<version>/<trace id>/...      mined tables, rebuildable; under a user's rules `@<version>+<mark>`
    sources/<hash of path, size, time, reader>       the trace a file gave, its run and rank; see `store.sources`
    history/                                         measured runs, and decisions on them; see `store.history`
    catalog.duckdb                                   commented views for SQL clients, rebuildable
    .staging/                                        what is being written

A trace is written to `.staging`, fsynced and renamed: it is there whole or not at all, whatever is killed. Its id is
the sha256 of the decompressed source, so that the same content is one trace. No locks: any number of writers at once.
"""

import hashlib
import json
import os
import shutil
import tomllib
import uuid
from collections.abc import Generator, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from .archive_words import archive_words
from .errors import ArchiveError, Error
from .history import History
from .kinds import rules_mark
from .sources import Membership, Source, Sources, source_rows
from .staging import Staging, put_whole, sync_folder
from .tables import TABLES
from .trace import Facts, Note, Trace

if TYPE_CHECKING:
    import polars as pl
    import pyarrow as pa

__all__ = ["FORMAT", "Archive", "Damage", "Manifest", "absolute"]

FORMAT = 2
"""Version of the layout above and of how tables are stored; an archive of another one is refused."""

ID_LENGTH = 64


@dataclass(frozen=True)
class Manifest:
    """The commit record of a trace; `files` maps table to {file, sha256, bytes, rows, first_ns, last_ns}."""

    id: str
    format: int
    source: Source
    facts: Facts
    notes: tuple[Note, ...]
    files: Mapping[str, Mapping[str, Any]]
    run: str | None = None


@dataclass(frozen=True)
class Damage:
    """A file that is not what its manifest says, by its path in the archive."""

    file: str
    fault: str


class Archive:
    """A folder of traces. Opening one that is not there is fine: the first trace added makes it."""

    def __init__(self, path: str | os.PathLike[str]) -> None:
        self.path = Path(path).absolute()
        self._sources = Sources(self.path / "sources", self.path / ".staging")
        self._check_format()

    def existing(self) -> "Archive":
        """This archive, if the folder is one; else `Error`."""
        if not (self.path / "archive.toml").is_file():
            hint = f"give its folder with --archive, or make one: tracelode ingest FILE{self._words}"
            raise Error(f"{self.path}: no archive there", hint)
        return self

    def manifests(self) -> list[Manifest]:
        """The manifests of all traces, by id."""
        folder = self.path / "traces"
        if not folder.is_dir():
            return []
        return [self._manifest(entry) for entry in sorted(folder.iterdir()) if len(entry.name) == ID_LENGTH]

    def open(self, prefix: str) -> Trace:
        """The trace whose id begins with that; raises `Error` when none or several do."""
        folder = self.path / "traces"
        if len(prefix) == ID_LENGTH and prefix.isalnum() and (folder / prefix).is_dir():
            return self._trace(self._manifest(folder / prefix))  # without a look at all the others
        found = sorted(folder.glob(f"{prefix}*")) if prefix.isalnum() and folder.is_dir() else []
        if len(found) != 1:
            if not folder.is_dir():
                raise Error(f"{self.path}: no archive there", f"make one: tracelode ingest FILE{self._words}")
            what = "no trace" if not found else f"{len(found)} traces"
            some = ", ".join(f.name[:16] for f in found[:5])
            hint = f"there are: {some}" if found else f"list the ids: tracelode ls{self._words}"
            raise Error(f"{self.path}: {what} with an id that begins with {prefix}", hint)
        return self._trace(self._manifest(found[0]))

    def find(self, source: Source) -> Trace | None:
        """The trace that this very source (path, size, time, reader) gave, without reading it."""
        there = self._sources.of(source)
        if there is None:
            return None
        folder = self.path / "traces" / there.trace_id
        return self._trace(self._manifest(folder)) if folder.is_dir() and self._read_by(folder, source) else None

    def memberships(self) -> list[Membership]:
        """What each file that was read is to its run, by path, for the traces that are there."""
        return [one for one in self._sources.all() if self.holds(one.trace_id)]

    def remember(self, member: Membership) -> None:
        """Writes what a source is to its run over what was known of it.

        Without a run it stays in the one it is in; in the same run, without a rank of its own, it keeps its rank.
        """
        there = self._sources.of(member.source)
        if member.run is None and there is not None:
            member = replace(member, run=there.run)
        if member.rank_from is None and there is not None and member.run == there.run:
            member = replace(member, rank=there.rank, rank_from=there.rank_from)
        if member != there:
            with _disk_errors(self.path):
                self._sources.put(member)

    def holds(self, id: str) -> bool:
        """Whether a trace of that whole id is there."""
        return (self.path / "traces" / id).is_dir()

    @contextmanager
    def stage(self) -> Generator[Staging]:
        """A new trace in the making; leaving the block without `commit` leaves nothing behind."""
        with _disk_errors(self.path):
            self._create()
            staging = Staging(self.path / ".staging" / f"{os.getpid()}-{uuid.uuid4().hex}")
        try:
            yield staging
        finally:
            staging.discard()

    def commit(
        self,
        staging: Staging,
        *,
        id: str,
        source: Source,
        facts: Facts,
        notes: tuple[Note, ...],
        run: str | None = None,
    ) -> Trace:
        """Makes the staged tables a trace. Content that is there already, read by the same reader, stays as it is."""
        with _disk_errors(self.path):
            manifest = Manifest(id, FORMAT, source, facts, notes, staging.finish(), run)
            staging.write_text("manifest.json", json.dumps(asdict(manifest), indent=1, sort_keys=True) + "\n")
            target = self.path / "traces" / id
            over = target.exists() and not self._read_by(target, source)
            if not self._publish(staging.path, target, over=over):
                manifest = self._manifest(target)
            self.remember(Membership(id, source, run))
            return self._trace(manifest)

    def put_derived(
        self, trace: Trace, analysis: str, version: int, tables: Mapping[str, Any], *, over: bool = True
    ) -> Trace:
        """Stores the tables that an analysis mined from a trace; the trace with them.

        They take the place of earlier ones; without `over` those that are there stay, which others may be reading.
        """
        with self.stage() as staging, _disk_errors(self.path):
            for name, table in tables.items():
                staging.write(name, table)
            staging.write_text(
                "manifest.json", json.dumps({"files": staging.finish()}, indent=1, sort_keys=True) + "\n"
            )
            self._publish(staging.path, self._derived(analysis, version) / trace.id, over=over)
        return self.open(trace.id)

    def has_derived(self, trace: Trace, analysis: str, version: int) -> bool:
        """Whether that version of the analysis has run on the trace."""
        return (self._derived(analysis, version) / trace.id).is_dir()

    def _derived(self, analysis: str, version: int) -> Path:
        """The folder of what that version derives under the rules in force, see `store.kinds`."""
        return self.path / "derived" / f"{analysis}@{version}{rules_mark()}"

    def keep(self, owner: str, name: str, version: str, texts: Mapping[str, str]) -> None:
        """Stores texts by file name that were made from a trace, or from several, in place of those of other versions.

        `owner` is an id of what they were made from.
        """
        with self.stage() as staging, _disk_errors(self.path):
            files = {}
            for file, text in texts.items():
                staging.write_text(file, text)
                files[file] = {"file": file, "sha256": _sha256(staging.path / file)}
            staging.write_text("manifest.json", json.dumps({"files": files}, indent=1, sort_keys=True) + "\n")
            self._publish(staging.path, self.path / "derived" / f"{name}@{version}" / owner, over=True)
        for other in (self.path / "derived").glob(f"{name}@*"):
            if other.name != f"{name}@{version}":
                shutil.rmtree(other / owner, ignore_errors=True)

    def kept(self, owner: str, name: str, version: str) -> dict[str, str] | None:
        """The texts that were kept under that version; None where they were not, or one is not whole."""
        folder = self.path / "derived" / f"{name}@{version}" / owner
        try:
            files = json.loads((folder / "manifest.json").read_text())["files"]
            whole = all(_sha256(folder / file) == told["sha256"] for file, told in files.items())
            return {file: (folder / file).read_bytes().decode("utf-8") for file in files} if whole else None
        except (OSError, ValueError, KeyError, TypeError):
            return None

    def history(self) -> History:
        """The runs of this archive as they were measured, and the decisions on them."""
        return History(self.path)

    def sql(self, query: str) -> "pl.DataFrame":
        """Runs one statement over the views of all traces (see `store.query`)."""
        from .query import run

        return run(self.files(), query, sources=self._source_rows)

    def _source_rows(self) -> "pa.Table":
        return source_rows(self.memberships())

    def files(self) -> dict[str, Mapping[str, Path]]:
        """Trace id to its files by table, derived ones included."""
        return {m.id: self._files(m) for m in self.manifests()}

    def catalogue(self) -> Path:
        """Writes `catalog.duckdb` anew from the manifests, for any SQL client; readers never see half of it."""
        import duckdb

        from .query import create_views, put_sources

        path, temporary = self.path / "catalog.duckdb", self.path / ".staging" / f"{uuid.uuid4().hex}.duckdb"
        with _disk_errors(self.path):
            self._create()
            with duckdb.connect(":memory:") as connection:
                # Older clients can open this version of the file; see docs/how-it-works.md.
                connection.execute(f"attach '{temporary}' as catalog (storage_version 'v1.0.0')")
                connection.execute("use catalog")
                create_views(connection, self.files(), comments=True)
                put_sources(connection, self._source_rows)
                connection.execute("use memory; detach catalog")
            temporary.replace(path)
        return path

    def fsck(self) -> Iterator[Damage]:
        """Compares every file with its manifest: what is missing or altered, of traces, mined tables, the history."""
        for entry in sorted([*self.path.glob("traces/*"), *self.path.glob("derived/*/*")]):
            place = entry.relative_to(self.path)
            try:
                files = json.loads((entry / "manifest.json").read_text())["files"]
            except (OSError, ValueError, KeyError) as error:
                yield Damage(f"{place}/manifest.json", f"cannot be read: {error}")
                continue
            for file in files.values():
                path = entry / str(file["file"])
                if not path.is_file():
                    yield Damage(f"{place}/{file['file']}", "is missing")
                elif _sha256(path) != file["sha256"]:
                    yield Damage(f"{place}/{file['file']}", "does not have the sha256 of its manifest")
        for path, fault in self.history().damaged():
            yield Damage(str(path.relative_to(self.path)), fault)

    @property
    def _words(self) -> str:
        return archive_words(self.path)

    def _check_format(self) -> None:
        marker = self.path / "archive.toml"
        if self.path.exists() and not self.path.is_dir():
            raise ArchiveError(f"{self.path}: is not a folder", "give a folder with --archive")
        if not marker.is_file():
            return
        try:
            version = tomllib.loads(marker.read_text())["format"]
        except (tomllib.TOMLDecodeError, UnicodeDecodeError, KeyError) as error:
            raise ArchiveError(f"{marker}: is not an archive's marker", f"restore it: format = {FORMAT}") from error
        if version != FORMAT:
            hint = "update tracelode" if version > FORMAT else "ingest the files again into a new archive"
            raise ArchiveError(f"{self.path}: archive format {version}, this tracelode reads format {FORMAT}", hint)

    def _create(self) -> None:
        for name in ("traces", "derived", "sources", ".staging"):
            (self.path / name).mkdir(parents=True, exist_ok=True)
        if not (self.path / "archive.toml").exists():
            put_whole(self.path / "archive.toml", f"format = {FORMAT}\n", self.path / ".staging")

    def _publish(self, staged: Path, target: Path, *, over: bool) -> bool:
        """Renames the staged folder into place, whoever else does the same at the same moment.

        False where one is there and is not to be replaced: it never is away then, for those who read it.
        """
        target.parent.mkdir(parents=True, exist_ok=True)
        for _ in range(100):
            try:
                staged.rename(target)
            except OSError as error:
                if not target.is_dir():
                    raise error
                if not over:
                    return False
                retired = self.path / ".staging" / f"retired-{uuid.uuid4().hex}"
                try:
                    target.rename(retired)
                except FileNotFoundError:
                    continue  # another writer retired it first
                shutil.rmtree(retired, ignore_errors=True)
            else:
                sync_folder(target.parent)
                return True
        raise ArchiveError(f"{target}: other writers replace it all the time", "try again")

    def _read_by(self, folder: Path, source: Source) -> bool:
        there = self._manifest(folder).source
        return (there.reader, there.reader_version) == (source.reader, source.reader_version)

    def _manifest(self, folder: Path) -> Manifest:
        path = folder / "manifest.json"
        try:
            raw = json.loads(path.read_text())
            return Manifest(
                raw["id"],
                raw["format"],
                Source(**raw["source"]),
                Facts(**raw["facts"]),
                tuple(Note(**note) for note in raw["notes"]),
                raw["files"],
                raw["run"],
            )
        except (OSError, ValueError, KeyError, TypeError) as error:
            hint = f"check the archive: tracelode fsck{self._words}"
            raise ArchiveError(f"{path}: unreadable manifest: {error}", hint) from error

    def _trace(self, manifest: Manifest) -> Trace:
        rows = {name: int(file["rows"]) for name, file in manifest.files.items()}
        return Trace(
            manifest.id, manifest.facts, manifest.notes, self._files(manifest), rows, manifest.source.path, manifest.run
        )

    def _files(self, manifest: Manifest) -> dict[str, Path]:
        folder = self.path / "traces" / manifest.id
        files = {name: folder / str(file["file"]) for name, file in manifest.files.items()}
        # Ascending versions, so that the newest one of an analysis decides.
        mark = rules_mark()
        own = [one for one in (self.path / "derived").glob("*@*") if "".join(one.name.partition("+")[1:]) == mark]
        for analysis in sorted(own, key=_version):
            files |= {f.stem: f for f in sorted((analysis / manifest.id).glob("*.parquet")) if f.stem in TABLES}
        return files


def absolute(path: Path) -> Path:
    """The path from the root, without `..`; links stay as they are."""
    return Path(os.path.abspath(path))  # noqa: PTH100 - `Path.absolute` keeps "..", `Path.resolve` follows links


def _version(folder: Path) -> tuple[str, int]:
    name, _, version = folder.name.partition("+")[0].partition("@")
    return name, int(version) if version.isdigit() else 0


def _sha256(path: Path) -> str:
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


@contextmanager
def _disk_errors(path: Path) -> Generator[None]:
    try:
        yield
    except OSError as error:
        raise ArchiveError(
            f"{error.filename or path}: {error.strerror or error}", "check space and permissions"
        ) from error
