"""Where a reader hands its events: fills in what it left out, repairs, counts, links, and passes on to the archive."""

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

import pyarrow as pa
import pyarrow.compute

from ..store.tables import TABLES
from ..store.trace import Note

if TYPE_CHECKING:
    from ..store.staging import Staging

__all__ = ["Sink"]

pc: Any = pyarrow.compute  # its functions are made at import, so its types say nothing

FLUSH_ROWS = 262_144
LINKED = frozenset({"kernel", "copy", "fill", "api", "op"})
"""Tables kept until the end: their rows are linked to one another."""

REPEATED = pa.dictionary(pa.int32(), pa.string())
"""Texts that repeat, as a reader may give them; kept so until they are written: sorting then moves numbers."""


class Sink:
    """Takes the events of one trace, table by table, in any order and in pieces of any size."""

    def __init__(self, staging: "Staging") -> None:
        self._staging = staging
        self._pending: dict[str, list[pa.Table]] = {}
        self._pending_rows: dict[str, int] = {}
        self._notes: dict[str, Note] = {}
        self.rows: dict[str, int] = {}

    def write(self, table: str, columns: Mapping[str, Any]) -> None:
        """Appends rows: column name to Arrow array, NumPy array, list, or one value for all rows.

        Columns of the table that are not given are null. At least one column must be an array. An end before its
        start is set to the start and counted in a note. A column the table does not have is a bug: `KeyError`.
        """
        contract = TABLES[table]
        unknown = set(columns) - set(contract.names)
        if unknown:
            raise KeyError(f"table {table} has no column {', '.join(sorted(unknown))}")
        rows = next(len(v) for v in columns.values() if not isinstance(v, int | float | str | bool | None))
        if not rows:
            return
        arrays = [_array(columns.get(c.name), c.type, rows, keep=table in LINKED) for c in contract.columns]
        fields = [
            pa.field(c.name, a.type, nullable=not c.required) for c, a in zip(contract.columns, arrays, strict=True)
        ]
        piece = self._repair(pa.table(arrays, schema=pa.schema(fields)), table)
        self._pending.setdefault(table, []).append(piece)
        self._pending_rows[table] = self._pending_rows.get(table, 0) + rows
        self.rows[table] = self.rows.get(table, 0) + rows
        if table not in LINKED and self._pending_rows[table] >= FLUSH_ROWS:
            self._flush(table)

    def note(self, kind: str, meaning: str, *, count: int = 1, example: str | None = None) -> None:
        """Counts a data-quality remark; the first example is kept, the meaning is the same for all of a kind."""
        before = self._notes.get(kind)
        total = count + (before.count if before else 0)
        self._notes[kind] = Note(kind, total, meaning, before.example if before and before.example else example)

    def finish(self) -> tuple[Note, ...]:
        """Links device work to host calls and operators, and writes out what is left; the notes of the trace."""
        from .linking import link

        linked = {name: _joined(self._pending.pop(name)) for name in sorted(LINKED) if name in self._pending}
        for name, table in link(linked, self.note).items():
            for first in range(0, len(table), FLUSH_ROWS):
                self._staging.write(name, table.slice(first, FLUSH_ROWS))
        for name in sorted(self._pending):
            self._flush(name)
        notes = tuple(self._notes[kind] for kind in sorted(self._notes))
        if notes:
            rows = [{"kind": n.kind, "count": n.count, "example": n.example, "meaning": n.meaning} for n in notes]
            self._staging.write("note", pa.Table.from_pylist(rows, schema=TABLES["note"].schema))
        return notes

    def _flush(self, name: str) -> None:
        pieces = self._pending.pop(name, [])
        self._pending_rows[name] = 0
        if not pieces:
            return
        table = pa.concat_tables(pieces)
        if TABLES[name].sort:
            table = table.sort_by([(column, "ascending") for column in TABLES[name].sort])
        self._staging.write(name, table)

    def _repair(self, piece: pa.Table, table: str) -> pa.Table:
        if "start_ns" not in piece.column_names or "end_ns" not in piece.column_names:
            return piece
        inverted = pc.less(piece["end_ns"], piece["start_ns"])
        count = pc.sum(inverted).as_py()
        if not count:
            return piece
        first = piece.filter(inverted).slice(0, 1).to_pylist()[0]
        self.note(
            "negative-duration",
            "ends before it starts: kept with its start and a duration of 0",
            count=count,
            example=f"{table} {first.get('name') or first.get('kind') or ''} at {first['start_ns']} ns",
        )
        ends = pc.max_element_wise(piece["end_ns"], piece["start_ns"], skip_nulls=False)
        return piece.set_column(piece.column_names.index("end_ns"), piece.schema.field("end_ns"), ends)


def _joined(pieces: list[pa.Table]) -> pa.Table:
    """The pieces as one table; a column of repeated texts in one piece is one in all."""
    repeated = {field.name for piece in pieces for field in piece.schema if field.type == REPEATED}
    for at, piece in enumerate(pieces):
        for name in repeated:
            place = piece.schema.get_field_index(name)
            if piece.schema.field(place).type != REPEATED:
                field = piece.schema.field(place).with_type(REPEATED)
                piece = piece.set_column(place, field, piece[name].dictionary_encode())
        pieces[at] = piece
    return pa.concat_tables(pieces).unify_dictionaries()


def _array(value: Any, kind: pa.DataType, rows: int, *, keep: bool) -> pa.Array | pa.ChunkedArray:
    if value is None:
        return pa.nulls(rows, kind)
    if isinstance(value, int | float | str | bool):
        return pa.repeat(pa.scalar(value, kind), rows)
    if isinstance(value, pa.Array | pa.ChunkedArray):
        return value if value.type == kind or (keep and value.type == REPEATED) else value.cast(kind)
    return pa.array(value, kind)
