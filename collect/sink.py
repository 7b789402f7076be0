"""Where a reader hands its events: fills in what it left out, repairs, counts, links, and passes on to the archive."""

from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from ..store.tables import TABLES
from ..store.trace import Note
from .flaws import known_sizes, row_flaws
from .linking import DEVICE_WORK, LINKED, link
from .memory import give_back
from .spool import REPEATED, Spool, compact, joined, kept, nulls, taken, whole

if TYPE_CHECKING:
    from ..store.staging import Staging

__all__ = ["Sink", "piece_of"]

FLUSH_ROWS = 65_536
FIRST_TRIM, READ_TRIM, LINKED_TRIM = 100_000, 500_000, 100_000
"""Memory that lies free between what is in use goes back to the system after so many rows: for the first time early,
since the compiler is not needed any more then, and more often where rows are linked, which have all their columns."""


class Sink:
    """Takes the events of one trace, table by table, in any order and in pieces of any size.

    Rows of tables that are linked to one another wait on disk; of the others at most `FLUSH_ROWS` wait, in memory.
    """

    def __init__(self, staging: "Staging") -> None:
        self._staging = staging
        self._pending: dict[str, list[pa.Table]] = {}
        self._pending_rows: dict[str, int] = {}
        self._spools: dict[str, Spool] = {}
        self._notes: dict[str, Note] = {}
        self._since_trim = READ_TRIM - FIRST_TRIM
        self.rows: dict[str, int] = {}

    def write(self, table: str, columns: Mapping[str, Any]) -> None:
        """Appends rows: column name to Arrow array, NumPy array, list, or one value for all rows.

        Columns of the table that are not given are null. At least one column must be an array. Times that cannot be
        are marked (see `flaws`). A column the table does not have is a bug: `KeyError`.
        """
        piece = piece_of(table, columns)
        rows = len(piece)
        if not rows:
            return
        piece = known_sizes(row_flaws(piece, table, self.note), table, self.note)
        self.rows[table] = self.rows.get(table, 0) + rows
        self._trim(rows, READ_TRIM)
        if table in LINKED:
            self.spool(table).append(piece)
            return
        self._pending.setdefault(table, []).append(piece)
        self._pending_rows[table] = self._pending_rows.get(table, 0) + rows
        if self._pending_rows[table] >= FLUSH_ROWS:
            self._flush(table)

    def spool(self, name: str) -> Spool:
        """A place for rows that wait, by name; removed with all others when the trace is finished."""
        if name not in self._spools:
            self._spools[name] = Spool(self.scratch(name))
        return self._spools[name]

    def scratch(self, name: str) -> Path:
        """Where a file for what waits may be written, by name; gone when the trace is finished."""
        return self._staging.scratch() / name

    def note(self, kind: str, meaning: str, *, count: int = 1, example: str | None = None) -> None:
        """Counts a data-quality remark; the first example is kept, the meaning is the same for all of a kind."""
        before = self._notes.get(kind)
        total = count + (before.count if before else 0)
        self._notes[kind] = Note(kind, total, meaning, before.example if before and before.example else example)

    def finish(self) -> tuple[Note, ...]:
        """Links device work to host calls and operators, and writes out what is left; the notes of the trace."""
        for name in sorted(self._pending):
            self._flush(name)
            self._staging.end(name)
        give_back(sum(self.rows.values()))
        self._since_trim = 0
        linked = {name: spool for name, spool in self._spools.items() if name in LINKED and len(spool)}
        before = ""
        for name, rows in link(linked, self.note):
            if before not in (name, *DEVICE_WORK):
                self._staging.end(before)
            self._store(name, rows)
            before, count = name, len(rows)
            del rows  # the next ones need the room
            self._trim(count, LINKED_TRIM)
        for spool in self._spools.values():
            spool.close()
        notes = tuple(self._notes[kind] for kind in sorted(self._notes))
        if notes:
            rows = [{"kind": n.kind, "count": n.count, "example": n.example, "meaning": n.meaning} for n in notes]
            self._staging.write("note", pa.Table.from_pylist(rows, schema=TABLES["note"].schema))
        return notes

    def _trim(self, rows: int, most: int) -> None:
        """Counts rows, and gives free memory back to the system when they are so many."""
        self._since_trim += rows
        if self._since_trim >= most:
            give_back(self._since_trim)
            self._since_trim = 0

    def _flush(self, name: str) -> None:
        pieces = self._pending.pop(name, [])
        self._pending_rows[name] = 0
        if pieces:
            rows = joined(pieces)
            keys = [_key(whole(rows[column])) for column in TABLES[name].sort if column in rows.column_names]
            self._store(name, taken(rows, np.lexsort(keys[::-1])) if keys else rows)

    def _store(self, name: str, rows: pa.Table) -> None:
        columns = []
        for column in TABLES[name].columns:
            if column.name not in rows.column_names:
                columns.append(nulls(len(rows), kept(column.type)))
            else:
                there = whole(rows[column.name])
                columns.append(compact(there) if isinstance(there, pa.DictionaryArray) else there)
        self._staging.write(name, pa.table(columns, names=list(TABLES[name].names)))


def piece_of(table: str, columns: Mapping[str, Any]) -> pa.Table:
    """The columns as rows of the table, given as `Sink.write` takes them; those left out stay out."""
    contract = TABLES[table]
    unknown = set(columns) - set(contract.names)
    if unknown:
        raise KeyError(f"table {table} has no column {', '.join(sorted(unknown))}")
    rows = next(len(v) for v in columns.values() if not isinstance(v, int | float | str | bool | None))
    return pa.table(
        {c.name: _array(columns[c.name], c.type, rows) for c in contract.columns if columns.get(c.name) is not None}
    )


def _key(column: pa.Array) -> npt.NDArray[np.int64]:
    """Numbers in the order of the values, null last."""
    if isinstance(column, pa.DictionaryArray):
        words = column.dictionary
        rank = np.empty(len(words), np.int64)
        rank[np.array(sorted(range(len(words)), key=words.to_pylist().__getitem__), np.int64)] = np.arange(len(words))
        column = pa.array(rank).take(column.indices) if len(words) else nulls(len(column), pa.int64())
    column = column.cast(pa.int64())
    return (column.fill_null(np.iinfo(np.int64).max) if column.null_count else column).to_numpy()


def _array(value: Any, kind: pa.DataType, rows: int) -> pa.Array | pa.ChunkedArray:
    if isinstance(value, int | float | str | bool):
        if kind == pa.string():
            return pa.DictionaryArray.from_arrays(pa.repeat(pa.scalar(0, pa.int32()), rows), pa.array([str(value)]))
        return pa.repeat(pa.scalar(value, kind), rows)
    array = whole(value) if isinstance(value, pa.Array | pa.ChunkedArray) else pa.array(value, kind)
    if isinstance(array, pa.DictionaryArray):
        return compact(array if array.type == REPEATED else array.cast(REPEATED))
    return array if array.type == kind else array.cast(kind)
