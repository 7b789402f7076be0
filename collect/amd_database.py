"""A database of AMD's profilers as its readers see it: tables by plain names, strings, lookups, events in batches."""

from collections.abc import Collection, Iterator, Mapping, Sequence
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute

from ..store.errors import UnreadableFile
from .database_columns import INT, TEXT, Rows, fitting, near, placed
from .nsys_columns import as_json, dictionary, is_uniform, nonzero
from .sink import Sink
from .spool import whole
from .sqlite import Database

__all__ = ["Lookup", "Recording", "note_strangers", "told", "where"]

pc: Any = pyarrow.compute  # its functions are made at import, so its types say nothing

MOST_OTHER_ROWS = 10_000
EMPTY = ("{}", "[]")
HINT = "copy the file again, or record again"


class Lookup:
    """A table found by one of its columns, which should be unique: of several rows with one id, the first counts.

    `doubled` is the number of the others.
    """

    def __init__(self, table: pa.Table, key: str = "id") -> None:
        known = table if not table[key].null_count else table.filter(table[key].is_valid())
        self.table = known.combine_chunks()
        self._ids: npt.NDArray[np.int64] = self.table[key].to_numpy()
        steps = np.diff(self._ids)
        if (steps < 0).any():
            order = np.argsort(self._ids, kind="stable")
            self._ids, self.table = self._ids[order], self.table.take(pa.array(order)).combine_chunks()
            steps = np.diff(self._ids)
        self.doubled = int((steps == 0).sum())
        self._dense = bool((steps == 1).all())
        self._last: tuple[pa.Array | None, pa.Array | None] = None, None

    def __len__(self) -> int:
        return len(self._ids)

    def take(self, ids: pa.Array, column: str) -> pa.Array:
        """The column's value for each id; null where there is no such row."""
        values = whole(self.table[column])
        if values.null_count == len(values) or ids.null_count == len(ids):
            return pa.nulls(len(ids), values.type)
        if self._last[0] is not ids:  # columns are asked for one after another for the same rows
            self._last = ids, self._rows(ids)
        return values.take(self._last[1])

    def _rows(self, ids: pa.Array) -> pa.Array:
        """The row of each id: where it must be if all ids from the first to the last are there, else by search."""
        wanted: npt.NDArray[np.int64] = pc.fill_null(ids, 0).to_numpy()
        if self._dense:
            at = wanted - self._ids[0]
            missing = (wanted < self._ids[0]) | (wanted > self._ids[-1])
        else:
            at = np.minimum(np.searchsorted(self._ids, wanted), len(self._ids) - 1)
            missing = self._ids[at] != wanted
        if ids.null_count:
            missing |= ids.is_null().to_numpy(zero_copy_only=False)
        return pa.array(at, mask=missing) if missing.any() else pa.array(at)


class Recording:
    """The tables of one recording, being read into a sink.

    `names` maps plain names to tables of the database; `needed` are those without which the rest would tell a wrong
    story: a view in their place, or damage in them, makes the file unreadable. `read` are the names that were read.
    """

    def __init__(self, database: Database, sink: Sink, names: Mapping[str, str], needed: frozenset[str]) -> None:
        self.database = database
        self.sink = sink
        self.names = names
        self.read: set[str] = set()
        self._needed = needed
        self._tables: dict[str, str | None] = {}
        self.strings = Lookup(self.whole("rocpd_string", {"id": INT, "string": TEXT}))

    def table(self, base: str) -> str | None:
        """The table of that plain name, if it is a sound one that holds rows."""
        self.read.add(base)
        if base not in self._tables:
            self._tables[base] = self._choose(base)
        return self._tables[base]

    def rows(self, base: str) -> list[dict[str, Any]]:
        """A small table as dictionaries; empty when it is not there."""
        table = self.table(base)
        return self.database.rows(table) if table else []

    def whole(self, base: str, columns: Mapping[str, pa.DataType]) -> pa.Table:
        """All rows of a table with the columns asked for; no rows when it is not there."""
        table = self.table(base)
        schema = pa.schema(list(columns.items()))
        return pa.Table.from_batches(list(self.database.batches(table, columns)) if table else [], schema)

    def batches(
        self, base: str, columns: Mapping[str, pa.DataType], left_out: frozenset[str] = frozenset()
    ) -> Iterator[Rows]:
        """The rows of a table in batches; `rest` is what else it says that is neither null, zero nor empty."""
        table = self.table(base)
        if table is None:
            return
        declared = self.database.tables[table]
        rest = {
            name: INT if kind == INT else TEXT
            for name, kind in declared.items()
            if name not in columns and name not in left_out
        }
        for batch in self.database.batches(table, {**columns, **rest}):
            held = {name: batch.column(name) for name in columns}
            more = {name: told(batch.column(name)) for name in rest}
            yield Rows(held, more, batch.num_rows)

    def text(self, ids: pa.Array) -> pa.DictionaryArray:
        """The strings of the ids, looked up once per distinct one; null where there is none."""
        encoded = ids.dictionary_encode()
        return dictionary(encoded.indices, self.strings.take(encoded.dictionary, "string"))

    def timed(self, base: str, rows: Rows) -> Rows:
        """The rows with a start that can be; the others, and ends beyond 2^62 ns, are counted in a note."""
        start, end = rows["start"], rows["end"]
        inside = pc.and_(near(start), pc.fill_null(near(end), True))
        lost = rows.count - (pc.sum(inside).as_py() or 0)
        if lost:
            self.sink.note("no-time", "events without a time that can be: left out", count=lost, example=base)
            rows = rows.filter(inside)
        return rows

    def fitting(self, values: pa.Array, column: str) -> pa.Array:
        """Numbers that must fit 32 bits: null, and counted, where they do not."""
        return fitting(values, column, self.sink.note)

    def placed(self, values: pa.Array, what: str) -> pa.Array:
        """A device or stream, which every device operation must have: 0, and counted, where none is said."""
        return placed(values, what, self.sink.note)

    def write_others(self, described: Sequence[str]) -> None:
        """Copies the tables that nobody read as JSON while they are little, and counts the rest.

        `described` are beginnings of names of tables that describe the recording and are not copied.
        """
        room, counted = MOST_OTHER_ROWS, dict[str, int]()
        for base in sorted(self.names):
            if base in self.read or base.startswith(tuple(described)) or (table := self.table(base)) is None:
                continue
            rows = self.database.count(table)
            if rows > room:
                counted[base] = rows
                continue
            room -= rows
            found = self.database.rows(table)
            self.sink.write("other", {"kind": base, "json": [as_json(row) or "{}" for row in found]})
        if counted:
            self.sink.note(
                "unread-table",
                "tables of the file that no table here holds: their rows are counted, not copied",
                count=sum(counted.values()),
                example=", ".join(f"{base} {rows:,}" for base, rows in sorted(counted.items())),
            )

    def known(self, parts: Sequence[str]) -> set[str]:
        """The tables of the database that were read, or whose plain names begin like one of those parts."""
        return {name for base, name in self.names.items() if base in self.read or base.startswith(tuple(parts))}

    def _choose(self, base: str) -> str | None:
        name = self.names.get(base)
        if name is None:
            return None
        shown = self.database.path
        if name in self.database.views:
            if base in self._needed:
                raise UnreadableFile(f"{shown}: {name} is a view, not a table", HINT)
            return None
        damage = self.database.damage(name)
        if damage is not None:
            if base in self._needed:
                raise UnreadableFile(f"{shown}: table {name} is damaged: {damage}", HINT)
            meaning = "a table of the file is damaged: none of it is read"
            self.sink.note("damaged-table", meaning, example=f"{name}: {damage}")
            return None
        return name if self.database.count(name) else None


def note_strangers(database: Database, sink: Sink, known: Collection[str]) -> None:
    """Says which tables with rows are none of those known: one whose name is damaged holds events that are missing."""
    strangers: dict[str, int] = {}
    for name in sorted(database.tables.keys() - set(known)):
        if not name.startswith("sqlite_") and database.damage(name) is None and (rows := database.count(name)):
            strangers[name] = rows
    if strangers:
        shown = ", ".join(f"{name} {rows:,}" for name, rows in strangers.items())
        meaning = "rows of tables whose name is not known here: if they are events, these are missing"
        sink.note("unknown-table", meaning, count=sum(strangers.values()), example=shown[:200])


def told(values: pa.Array) -> pa.Array:
    """The values, null where they say nothing: zero, an empty text, an empty JSON object."""
    if pa.types.is_dictionary(values.type):
        return dictionary(values.indices, told(values.dictionary))
    values = nonzero(values)
    if values.type != TEXT or values.null_count == len(values):
        return values
    if is_uniform(values):
        return pa.nulls(len(values), TEXT) if values[0].as_py() in EMPTY else values
    return pc.if_else(pc.is_in(values, pa.array(EMPTY)), None, values)


def where(mask: pa.Array, rows: Mapping[str, Any]) -> dict[str, Any]:
    """The columns for the rows in which the mask is true; single values stay."""
    if pc.all(mask).as_py() and not mask.null_count:
        return dict(rows)
    arrays = (pa.Array, pa.ChunkedArray)
    return {name: value.filter(mask) if isinstance(value, arrays) else value for name, value in rows.items()}
