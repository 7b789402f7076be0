"""SQLite databases from strangers: opened so that they change and run nothing, and read as Arrow.

What is guarded against: a table that is really a view or a virtual table (its rows are code), generated columns and
CHECK constraints (so are they), a damaged tree (looked at per table, before its first row is read), a query that never
ends, values of another type than their column's, text that is not UTF-8, and a file that is still being written.
"""

import math
import re
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass
from types import TracebackType
from typing import TYPE_CHECKING, Any

import pyarrow as pa
import pyarrow.compute

from .files import TraceFile
from .sqlite_file import COMPLAINTS, MAGIC, SAFETY, Sound, connect, examine, said, unreadable

if TYPE_CHECKING:
    from .sqlite_pages import Pages

__all__ = ["MAGIC", "Database", "open_database", "schema"]

pc: Any = pyarrow.compute  # its functions are made at import, so its types say nothing

BATCH_ROWS = 65_536
SLOW_ROWS = 8_192
SMALL_ROWS = 1_000_000
LARGE_FILE = 1 << 24
"""From here on a file is worth a reader of its own, which takes half a second to load."""

DESCENDING = re.compile(rb"\bdesc\b", re.IGNORECASE)
NO_BYTES = b"\xff\xfe"
"""Stands for null on the way through the driver, which takes a column's type from the first rows it sees; among
numbers, infinity does (a number that is not finite is read as null)."""


@dataclass(frozen=True)
class _Shape:
    """A plain table: its root page, the column that stands for its row id (or -1), the values that no row may lack.

    A row written before a column was added does not hold it: it has the column's default there.
    """

    root: int
    alias: int
    least: int


class Database:
    """An open database.

    `tables` maps each real table to its stored columns and the Arrow type their declaration stands for; `views` are
    the names that only look like tables. What differs from one of `names` in case alone goes by that name: SQLite does
    not tell them apart. Values that do not fit the type asked for are null, text that is not UTF-8 is mended; `report`
    says how many.
    """

    def __init__(self, sound: Sound, names: Iterable[str] = ()) -> None:
        self.path = sound.shown
        self._sound = sound
        self._connection = connect(sound)
        self._mended: Counter[tuple[str, str]] = Counter()
        self._pages: dict[str, Pages | None] = {}
        self.tables: dict[str, dict[str, pa.DataType]] = {}
        try:
            self._encoding = _text(self._query("pragma encoding")[0][0])
            found = self._query("select name, type, rootpage, sql from sqlite_master where type in ('table', 'view')")
            spelt = {name.encode().lower(): name for name in names}  # of bytes: SQLite folds the letters of ASCII alone
            found = [
                (spelt.get(name.lower(), _text(name)), kind, root, sql)
                for name, kind, root, sql in found
                if isinstance(name, bytes)
            ]
            real = {name: (root, sql) for name, kind, root, sql in found if kind == b"table" and root}
            self.views = frozenset(name for name, *_ in found if name not in real)
            self._shapes = {name: self._shape(name, root, sql) for name, (root, sql) in real.items()}
        except BaseException:
            self._connection.close()
            raise

    def __enter__(self) -> "Database":
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._connection.close()

    def damage(self, table: str) -> str | None:
        """What is wrong with the table's pages and cells, or None: one pass over them, at 300 MB/s or more."""
        if self._plain_pages(table):
            return None
        try:
            verdict = self._connection.execute(f"pragma quick_check({_literal(table)})").fetchone()
        except COMPLAINTS as error:
            return said(error)
        return None if verdict is None or verdict[0] == b"ok" else _text(verdict[0])

    def count(self, table: str) -> int:
        """The number of its rows."""
        if pages := self._plain_pages(table):
            return pages.count
        return self._query(f"select count(*) from {_name(table)}")[0][0]

    def rows(self, table: str, column: str = "", values: tuple[int, ...] = ()) -> list[dict[str, Any]]:
        """A small table as one dictionary per row (at most a million), values as they are stored, text mended.

        With a column, only the rows in which it has one of the values: none, if the table has no such column.
        """
        columns = self.tables[table]
        if column and column not in columns:
            return []
        wanted = ", ".join(_name(c) for c in columns)
        where = f"where {_name(column)} in ({', '.join(str(int(v)) for v in values)})" if column else ""
        found = self._query(f"select {wanted} from {_name(table)} not indexed {where} limit {SMALL_ROWS + 1}")
        if len(found) > SMALL_ROWS:
            self._mended["long-table", table] += 1
        return [
            {c: self._readable(v, table) if isinstance(v, bytes) else v for c, v in zip(columns, row, strict=True)}
            for row in found[:SMALL_ROWS]
        ]

    def batches(self, table: str, columns: Mapping[str, pa.DataType]) -> Iterator[pa.RecordBatch]:
        """The table's rows in stored order, with the columns asked for as int64, float64, string or binary.

        A column the table does not have is null. Plain tables of large files are read from their pages (4 ns a value),
        others through the driver (40 ns); a table that holds values of another type than asked for goes on, at a tenth
        of that speed, from where the fast way stopped.
        """
        there = {c: kind for c, kind in columns.items() if c in self.tables[table]}
        done = 0
        for raw in self._paged(table, there) if self._plain_pages(table) else self._driven(table, there):
            done += raw.num_rows
            yield _complete(self._decoded(raw, there, table), columns)
        if done < self.count(table):
            for batch in self._slow(table, there, done):
                yield _complete(batch, columns)

    def report(self, note: Callable[..., None]) -> None:
        """Says what was mended, as notes."""
        meanings = {
            "ill-typed": "values of another type than their column's: read as null",
            "bad-text": "text that is not UTF-8: the wrong bytes are replaced",
            "long-table": "a table of names that has more than a million rows: the rest is not read",
        }
        if self._sound.log:
            meaning = "a program had not finished writing the database: what its log holds was read too"
            note("write-ahead-log", meaning, example=self._sound.log.name)
        for (kind, place), count in sorted(self._mended.items()):
            note(kind, meanings[kind], count=count, example=place)

    def _query(self, sql: str) -> list[tuple[Any, ...]]:
        try:
            return self._connection.execute(sql).fetchall()
        except COMPLAINTS as error:
            raise unreadable(self.path, error) from error

    def _shape(self, table: str, root: int, sql: bytes | None) -> "_Shape | None":
        """Where the table's rows are and what they hold; None when it is not of the plain kind.

        Not plain: generated columns, and the one form of integer key that is no row id
        (https://sqlite.org/lang_createtable.html#rowid_with_single_column).
        """
        info = self._query(f"select name, type, pk, dflt_value, hidden from pragma_table_xinfo({_literal(table)})")
        self.tables[table] = {
            _text(name): _declared(_text(kind).upper()) for name, kind, _, _, hidden in info if not hidden
        }
        keys = [at for at, (_, kind, key, _, _) in enumerate(info) if key and _text(kind).upper() == "INTEGER"]
        alias = keys[0] if len(keys) == 1 == sum(bool(key) for _, _, key, _, _ in info) else -1
        if any(hidden for *_, hidden in info) or (alias >= 0 and DESCENDING.search(sql or b"")):
            return None
        return _Shape(root, alias, max((at for at, (*_, default, _) in enumerate(info, 1) if default), default=0))

    def _plain_pages(self, table: str) -> "Pages | None":
        """The table's pages, if the file is large, the table of the plain kind and sound."""
        if table not in self._pages:
            self._pages[table] = None
            shape, sound = self._shapes[table], self._sound
            if shape and not sound.log and self._encoding == "UTF-8" and sound.path.stat().st_size >= LARGE_FILE:
                from .sqlite_pages import find_pages

                pages = find_pages(sound.path, shape.root)
                if pages and pages.sound(shape.least):
                    self._pages[table] = pages
        return self._pages[table]

    def _paged(self, table: str, columns: Mapping[str, pa.DataType]) -> Iterator[pa.RecordBatch]:
        pages, shape, declared = self._plain_pages(table), self._shapes[table], self.tables[table]
        if pages and shape and columns:
            places = list(declared)
            # A number asked for as text stands there as the number; `_decoded` writes it out.
            stored = {
                c: kind if kind != pa.string() or declared[c] != pa.int64() else declared[c]
                for c, kind in columns.items()
            }
            yield from pages.batches([places.index(c) for c in columns], stored, shape.alias)

    def _driven(self, table: str, columns: Mapping[str, pa.DataType]) -> Iterator[pa.RecordBatch]:
        """Batches from the ADBC driver, until the end or the first value of another type than its column's."""
        from adbc_driver_manager import Error as DriverError
        from adbc_driver_sqlite import dbapi

        if not columns or self._encoding != "UTF-8":
            return
        wanted = ", ".join(f"{_expression(c, kind)} as {_name(c)}" for c, kind in columns.items())
        passing = [pa.binary() if kind == pa.string() else kind for kind in columns.values()]
        with dbapi.connect(self._sound.uri) as connection, connection.cursor() as cursor:
            for setting in SAFETY:
                cursor.execute(f"pragma {setting}")
            cursor.adbc_statement.set_options(**{"adbc.sqlite.query.batch_rows": str(BATCH_ROWS)})
            try:
                cursor.execute(f"select {wanted} from {_name(table)} not indexed")
                reader = cursor.fetch_record_batch()
            except (DriverError, OSError, UnicodeDecodeError):
                return
            if reader.schema.types != passing:
                return
            while True:
                try:
                    batch = reader.read_next_batch()
                except (
                    StopIteration,
                    OSError,
                    UnicodeDecodeError,
                ):  # OSError: a type that does not fit, or damage; the slow way tells
                    return
                yield _without_stand_ins(batch, columns)

    def _decoded(self, batch: pa.RecordBatch, columns: Mapping[str, pa.DataType], table: str) -> pa.RecordBatch:
        arrays: list[pa.Array] = []
        for (name, kind), array in zip(columns.items(), batch.columns, strict=True):
            if kind == pa.float64():
                array = pc.if_else(pc.is_finite(array), array, None)
            arrays.append(self._strings(array, f"{table}.{name}") if kind == pa.string() else array)
        return pa.RecordBatch.from_arrays(arrays, names=list(columns))

    def _strings(self, array: pa.Array, place: str) -> pa.Array:
        try:
            return array.cast(pa.string())
        except pa.ArrowInvalid:  # not UTF-8 somewhere: rare, so row by row
            mended = [None if v is None else self._readable(v, place) for v in array.to_pylist()]
            return pa.array(mended, pa.string())

    def _slow(self, table: str, columns: Mapping[str, pa.DataType], done: int) -> Iterator[pa.RecordBatch]:
        """The rows after the first `done` as Python values, each converted by what it is."""
        wanted = ", ".join(_name(c) for c in columns) or "null"
        try:
            cursor = self._connection.execute(f"select {wanted} from {_name(table)} not indexed limit -1 offset {done}")
            while rows := cursor.fetchmany(SLOW_ROWS):
                arrays = [
                    pa.array([self._fitted(row[at], kind, f"{table}.{name}") for row in rows], kind)
                    for at, (name, kind) in enumerate(columns.items())
                ]
                empty = [pa.nulls(len(rows))]
                yield pa.RecordBatch.from_arrays(arrays or empty, names=list(columns) or ["nothing"])
        except COMPLAINTS as error:
            raise unreadable(self.path, error) from error

    def _fitted(self, value: Any, kind: pa.DataType, place: str) -> Any:
        """The value in the type asked for; null, and counted, where it has no such form."""
        if value is None:
            return None
        if kind in (pa.string(), pa.binary()):
            data = value if isinstance(value, bytes) else str(value).encode()
            return self._readable(data, place) if kind == pa.string() else data
        fitted = _integer(value) if kind == pa.int64() else _real(value)
        if fitted is None:
            self._mended["ill-typed", place] += 1
        return fitted

    def _readable(self, value: bytes, place: str) -> str:
        text = _text(value)
        if text.encode() != value:
            self._mended["bad-text", place] += 1
        return text


def open_database(file: TraceFile, names: Iterable[str] = ()) -> Database:
    """Opens the file for reading alone. `OpaqueFile` when it is cut, damaged, or was left in the middle of a write.

    `names` are those by which the reader asks for tables, in whatever case the file has them. A file that a program
    keeps open in write-ahead mode is read with its log, as that program would see it; any other is opened as immutable,
    which takes no lock and leaves nothing beside it.
    """
    return Database(examine(file), names)


def schema(file: TraceFile) -> dict[str, dict[str, pa.DataType]] | None:
    """The tables of the file and their columns; None when it is no SQLite database. Raises as `open_database` does."""
    if not file.head.startswith(MAGIC):
        return None
    with open_database(file) as database:
        return database.tables


def _integer(value: Any) -> int | None:
    """A whole number of 64 bits, also where it is written as a text or as a floating-point number."""
    try:
        number = int(value) if isinstance(value, bytes | int) or value.is_integer() else None
    except (ValueError, OverflowError):
        return None
    return number if number is not None and -(2**63) <= number < 2**63 else None


def _real(value: Any) -> float | None:
    try:
        number = float(value)
    except ValueError:
        return None
    return number if math.isfinite(number) else None


def _complete(batch: pa.RecordBatch, columns: Mapping[str, pa.DataType]) -> pa.RecordBatch:
    there = set(batch.schema.names)
    arrays = [batch.column(c) if c in there else pa.nulls(batch.num_rows, kind) for c, kind in columns.items()]
    return pa.RecordBatch.from_arrays(arrays, names=list(columns))


def _without_stand_ins(batch: pa.RecordBatch, columns: Mapping[str, pa.DataType]) -> pa.RecordBatch:
    arrays: list[pa.Array] = []
    for kind, array in zip(columns.values(), batch.columns, strict=True):
        bytes_like = kind in (pa.string(), pa.binary())
        arrays.append(pc.if_else(pc.equal(array, NO_BYTES), None, array) if bytes_like else array)
    return pa.RecordBatch.from_arrays(arrays, names=list(columns))


def _expression(column: str, kind: pa.DataType) -> str:
    if kind in (pa.string(), pa.binary()):
        return f"coalesce(cast({_name(column)} as blob), x'{NO_BYTES.hex()}')"
    return f"coalesce({_name(column)}, 9e999)" if kind == pa.float64() else _name(column)


def _declared(words: str) -> pa.DataType:
    """SQLite's rule for what a declared type stands for (https://sqlite.org/datatype3.html), numbers first."""
    if "INT" in words or not words:
        return pa.int64()
    if any(word in words for word in ("CHAR", "CLOB", "TEXT")):
        return pa.string()
    return pa.binary() if "BLOB" in words else pa.float64()


def _name(text: str) -> str:
    return '"' + text.replace('"', '""') + '"'


def _literal(text: str) -> str:
    return "'" + text.replace("'", "''") + "'"


def _text(value: bytes) -> str:
    return value.decode("utf-8", "replace")
