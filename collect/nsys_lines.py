"""JSON Lines of an Nsight Systems export, sorted by table into Arrow streams: one pass, one block in memory at a time.

A line is a row with its table's name as `table`, or, in older files, a message (see `nsys_messages`). Arrow's own
parser takes blocks of rows whose values are flat and of one kind per column; all other lines are parsed one by one.
"""

import json
import re
from collections import Counter
from collections.abc import Iterator
from io import BytesIO
from typing import Any

import pyarrow as pa
import pyarrow.compute
from pyarrow import json as arrow_json

from .nsys_columnar import COMPLAINTS
from .nsys_messages import rows_of

__all__ = ["TABLE_KEY", "Sorter", "rows_in"]

pc: Any = pyarrow.compute  # its functions are made at import, so its types say nothing

Row = dict[str, Any]

TABLE_KEY = "table"
BLOCK_BYTES = 8 << 20
LONGEST_LINE = 64 << 20
MOST_TABLES, MOST_COLUMNS = 1_000, 500
MOST_BRACKETS = 32
"""A line with more of them goes the slow way, which survives any depth: Arrow's parser calls itself for each."""

NO_BRACKETS = bytes(set(range(256)) - set(b"[{\n"))
CROWDED = re.compile(rb"[^\n]{%d}" % MOST_BRACKETS)
MESSAGES = (b'{"Type"', b'{"data"', b'{"type"')
BROKEN = "\N{REPLACEMENT CHARACTER}"
EXACT = 2.0**53
"""Whole numbers up to here are exact as real ones."""


class Sorter:
    """Takes blocks of the file and writes each table's rows into streams, as many as there are blocks with some.

    `lost` counts what could not be kept, by reason, `mended` the lines that were not UTF-8 and are kept with those
    bytes replaced; `cut` tells whether the file ended within a line.
    """

    def __init__(self, sink: pa.NativeFile) -> None:
        self._sink = sink
        self._tables: dict[str, set[str]] = {}
        self.lost: Counter[str] = Counter()
        self.mended = 0
        self.cut = False

    def take(self, blocks: Iterator[bytes]) -> None:
        """Writes all rows of the blocks."""
        waiting: list[bytes] = []
        size = 0
        for block in blocks:
            head, end, rest = block.rpartition(b"\n")
            if end and size + len(block) >= BLOCK_BYTES:
                self._write(b"".join((*waiting, head)))
                waiting, size = [rest], len(rest)
                continue
            waiting.append(block)
            size += len(block)
            if size > LONGEST_LINE:
                self.lost["lines of more than 64 MiB"] += 1
                waiting, size = [], 0
        before, _, final = b"".join(waiting).rpartition(b"\n")
        self._write(before)
        kept = self.lost.total()
        self._write(final)
        self.cut = self.lost.total() > kept

    def _write(self, chunk: bytes) -> None:
        if not chunk.strip():
            return
        for name, table in _quick(chunk) or self._slow(chunk):
            columns = self._columns(name, table)
            if not columns:
                continue
            named = table.select(columns).replace_schema_metadata({b"table_name": _text(name).encode()})
            with pa.ipc.new_stream(self._sink, named.schema) as stream:
                stream.write_table(named)

    def _columns(self, name: str, table: pa.Table) -> list[str]:
        """The table's columns that may be kept: no export has so many tables, or columns, as a made file could."""
        if name not in self._tables and len(self._tables) >= MOST_TABLES:
            self.lost["rows of more than 1,000 tables"] += len(table)
            return []
        known = self._tables.setdefault(name, set())
        for column in table.column_names:
            if len(known) < MOST_COLUMNS:
                known.add(column)
        kept = [column for column in table.column_names if column in known]
        if len(kept) < len(table.column_names):
            self.lost["values of more than 500 columns"] += len(table)
        return kept

    def _slow(self, chunk: bytes) -> list[tuple[str, pa.Table]]:
        found: dict[str, list[Row]] = {}
        for line in chunk.split(b"\n"):
            for name, row in self._rows(line) if line.strip() else ():
                found.setdefault(name, []).append(row)
        return [(name, self._table(rows)) for name, rows in found.items()]

    def _rows(self, line: bytes) -> list[tuple[str, Row]]:
        text = line.decode("utf-8", "replace")
        try:
            said: Any = json.loads(text)
        except (ValueError, RecursionError):
            self.lost["lines that are not JSON"] += 1
            return []
        rows = rows_in(said)
        if rows is None:
            self.lost["lines that are neither row nor message"] += 1
        elif BROKEN in text and text.encode() != line:
            self.mended += 1
        return rows or []

    def _table(self, rows: list[Row]) -> pa.Table:
        names = list(dict.fromkeys(name for row in rows for name in row)) or ["nothing"]
        return pa.table({_text(name): self._column([row.get(name) for row in rows]) for name in names})

    def _column(self, values: list[Any]) -> pa.Array:
        said = [value for value in values if value is not None]
        if all(isinstance(value, int) for value in said):
            numbers = [None if value is None else _signed(value) for value in values]
            self.lost["numbers of more than 64 bits"] += len(said) - sum(number is not None for number in numbers)
            return pa.array(numbers, pa.int64())
        if all(isinstance(value, int | float) for value in said):
            return pa.array([None if value is None else _real(value) for value in values], pa.float64())
        return pa.array([None if value is None else _text(value) for value in values], pa.string())


def rows_in(said: Any) -> list[tuple[str, Row]] | None:
    """The rows, each with its table, that a parsed line stands for; None for what is neither row nor message."""
    if not isinstance(said, dict):
        return None
    row: Row = {str(name): value for name, value in said.items()}  # pyright: ignore[reportUnknownVariableType, reportUnknownArgumentType] - JSON
    name = row.pop(TABLE_KEY, None)
    return [(name, row)] if isinstance(name, str) else rows_of(row)


def _quick(chunk: bytes) -> list[tuple[str, pa.Table]] | None:
    """The tables of a block of flat rows; None where the block holds anything else."""
    if chunk.startswith(MESSAGES) or CROWDED.search(chunk.translate(None, NO_BRACKETS)):
        return None
    try:
        options = arrow_json.ReadOptions(use_threads=False, block_size=len(chunk) + 1)
        rows = arrow_json.read_json(BytesIO(chunk), read_options=options)
        names = rows[TABLE_KEY]
        if names.type != pa.string() or names.null_count or not all(map(_is_flat, rows.columns)):
            return None
        rows = rows.drop_columns([TABLE_KEY])
        held = pc.unique(names).to_pylist()
        tables = [(name, rows if len(held) == 1 else rows.filter(pc.equal(names, name))) for name in held]
        return [(name, _without_empty(table)) for name, table in tables]
    except (*COMPLAINTS, KeyError):
        return None


def _is_flat(column: pa.ChunkedArray) -> bool:
    """Whether the parser took the column as it is: a number of 64 bits without a sign it makes a real one."""
    kinds = pa.types
    if kinds.is_float64(column.type):
        most = pc.max(pc.abs(column)).as_py()
        return most is None or most < EXACT
    return kinds.is_string(column.type) or kinds.is_int64(column.type) or kinds.is_null(column.type)


def _without_empty(table: pa.Table) -> pa.Table:
    kept = [name for name in table.column_names if table[name].null_count < len(table)]
    return table.select(kept or table.column_names[:1])


def _signed(value: int) -> int | None:
    """The number in 64 bits; from 2^63 on as the SQLite export shows it."""
    value = value - 2**64 if 2**63 <= value < 2**64 else value
    return int(value) if -(2**63) <= value < 2**63 else None


def _real(value: float) -> float | None:
    try:
        return float(value)
    except OverflowError:
        return None


def _text(value: Any) -> str:
    text = value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)
    return text.encode("utf-8", "replace").decode()  # JSON can hold halves of characters, which are no text
