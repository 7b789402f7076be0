"""Small databases written for a test, and what a reader makes of a file."""

import gzip
import random
import sqlite3
from collections.abc import Generator, Iterator
from contextlib import closing
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from hypothesis import strategies as st

from tracelode.collect.files import Reader, TraceFile, open_file
from tracelode.collect.sink import Sink
from tracelode.store import stored
from tracelode.store.archive import Archive
from tracelode.store.trace import Facts, Note

Row = dict[str, Any]
Tables = dict[str, list[Row]]
DECLARED = {int: "INTEGER", str: "TEXT", float: "REAL", bytes: "BLOB"}

ODD = st.one_of(
    st.none(),
    st.sampled_from([0, -1, 2**31, 2**62, 2**63 - 1, -(2**63), 1e300, -0.5, "", "\x00", "x", "{", b"\xff\x00", b"ab"]),
)
"""Values of every type a cell can hold, whatever its column declares."""


def write(path: Path, tables: Tables) -> Path:
    """Writes a database; a table's columns are those of its rows, declared as their values are."""
    path.unlink(missing_ok=True)
    with closing(sqlite3.connect(path)) as database:
        for table, rows in tables.items():
            columns = {name: value for row in reversed(rows) for name, value in row.items() if value is not None}
            for row in rows:
                columns |= {name: columns.get(name, 0) for name in row}
            declared = ", ".join(f'"{name}" {DECLARED[type(value)]}' for name, value in columns.items())
            database.execute(f'create table "{table}" ({declared or "id INTEGER"})')
            for row in rows:
                names = ", ".join(f'"{name}"' for name in row)
                marks = ", ".join("?" * len(row))
                database.execute(f'insert into "{table}" ({names}) values ({marks})', [*row.values()])
        database.commit()
    return path


def packed(path: Path) -> Path:
    """The same file compressed with gzip, beside it."""
    target = path.with_name(path.name + ".gz")
    target.write_bytes(gzip.compress(path.read_bytes()))
    return target


class Told:
    """What a reader made of a file: tables as rows without their nulls, notes by kind, facts."""

    def __init__(self, tables: Tables, notes: dict[str, Note], facts: Facts) -> None:
        self.tables, self.notes, self.facts = tables, notes, facts

    def __getitem__(self, table: str) -> list[Row]:
        return [{name: value for name, value in row.items() if value is not None} for row in self.tables[table]]

    def counts(self) -> dict[str, int]:
        """The number of rows of each kind of note."""
        return {kind: note.count for kind, note in self.notes.items()}


@dataclass
class InBlocks(TraceFile):
    """A file that is not packed, its content in blocks of so many bytes."""

    length: int = 1

    def blocks(self) -> Generator[bytes]:
        """The content."""
        with Path(str(self.path)).open("rb") as content:
            while block := content.read(self.length):
                yield block


def read(reader: Reader, path: Path, folder: Path, *, length: int | None = None) -> Told:
    """Reads the file as ingest does, or in blocks of that length; `folder` is for the archive."""
    file = open_file(path)
    if length:
        file = InBlocks(path, file.head, None, length=length)
    assert reader.recognises(file)
    with Archive(folder / "archive").stage() as staging:
        sink = Sink(staging)
        found = reader.read(file, sink)
        notes = {note.kind: note for note in sink.finish()}
        staging.finish()
        tables = {p.stem: stored.read(p).to_pylist() for p in staging.path.glob("*.parquet")}
    tables.pop("note", None)
    return Told(tables, notes, found)


def damaged(path: Path, count: int) -> Iterator[bytes]:
    """The file's content cut at many places, then with some bytes changed; the same each time."""
    content, numbers = path.read_bytes(), random.Random(11)
    for _ in range(count):
        yield content[: numbers.randrange(1, len(content))]
        flipped = bytearray(content)
        for _ in range(numbers.randint(1, 6)):
            flipped[numbers.randrange(len(content))] = numbers.randrange(256)
        yield bytes(flipped)


def with_odd_values(tables: Tables, data: st.DataObject) -> Tables:
    """The tables with some cells replaced by values that do not belong there."""
    odd = {table: [dict(row) for row in rows] for table, rows in tables.items()}
    for table in data.draw(st.lists(st.sampled_from(sorted(odd)), min_size=1, max_size=4)):
        row = data.draw(st.sampled_from(odd[table]))
        for column in data.draw(st.lists(st.sampled_from(sorted(row)), min_size=1, max_size=5)):
            row[column] = data.draw(ODD)
    return odd
