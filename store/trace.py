"""A trace: the event tables of one source, with its facts and its data-quality notes."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING

from .archive_words import words_of
from .errors import ArchiveError, NotCollected
from .stored import read, scan
from .tables import TABLES

if TYPE_CHECKING:
    import polars as pl
    import pyarrow as pa

__all__ = ["Facts", "Note", "Trace"]


@dataclass(frozen=True)
class Facts:
    """What the source says of itself as a whole. None: it does not say.

    `base_unix_ns` is the Unix time of the trace's zero; `clock` names the clock of its times. `labels` holds the
    rest of the source's own metadata as text, values as JSON where they are not strings.
    """

    format: str
    producer: str | None = None
    host: str | None = None
    framework: str | None = None
    clock: str | None = None
    base_unix_ns: int | None = None
    labels: Mapping[str, str] = field(default_factory=dict[str, str])


@dataclass(frozen=True)
class Note:
    """A data-quality remark: what was found, how often, the first case, and what it means for the numbers."""

    kind: str
    count: int
    meaning: str
    example: str | None = None


@dataclass(frozen=True)
class Trace:
    """One source in the archive: its tables as Parquet files, read only when asked for.

    `trace.kernel` is the table `kernel` as a `polars.LazyFrame`; so for every table of `store.tables`. Mined tables
    are there once their analysis has run. `files` maps a table's name to its file.
    """

    id: str
    facts: Facts
    notes: tuple[Note, ...]
    files: Mapping[str, Path]
    rows: Mapping[str, int]
    source: str
    run: str | None = None

    def __getattr__(self, name: str) -> "pl.LazyFrame":
        """The table of that name; `NotCollected` when the trace has none."""
        if name not in TABLES:
            raise AttributeError(f"a trace has no attribute or table {name!r}")
        return self.table(name)

    def has(self, name: str) -> bool:
        """Whether the source (or the miner) gave that table."""
        return name in self.files

    def table(self, name: str) -> "pl.LazyFrame":
        """The table of that name; `NotCollected` when the trace has none."""
        return scan(self._file(name))

    def arrow(self, name: str, columns: list[str] | None = None) -> "pa.Table":
        """The same as an Arrow table in memory, with the columns asked for."""
        return read(self._file(name), columns)

    def sql(self, query: str) -> "pl.DataFrame":
        """Runs one statement over the views of this trace alone (see `store.query`)."""
        from .query import run

        return run({self.id: self.files}, query)

    def _file(self, name: str) -> Path:
        if name not in self.files:
            there = ", ".join(n for n in TABLES if n in self.files)
            raise NotCollected(f"{self.source}: table {name} was not collected", f"there are: {there}")
        if not self.files[name].is_file():
            hint = f"check the archive: tracelode fsck{words_of(self.files[name])}"
            raise ArchiveError(f"{self.files[name]}: the table's file is missing", hint)
        return self.files[name]
