"""JSON Lines of an Nsight Systems export: its rows put into a database, which the oracle of databases reads."""

import json
import sqlite3
from contextlib import closing
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from tests.oracle import nsys
from tests.oracle.rows import Damaged, Odd, Rows, unpacked

Cells = dict[str, Any]


def read(path: Path) -> Rows:
    content = unpacked(path).decode(errors="replace")
    tables: dict[str, list[Cells]] = {}
    for line in filter(str.strip, content.split("\n")):
        row = json.loads(line, object_pairs_hook=_row)
        if not isinstance(row, dict):
            raise Damaged("a line that is no row")
        name = row.pop("table", None)
        if not isinstance(name, str) or not name.isidentifier():
            raise Odd("a row of no table")
        tables.setdefault(name, []).append(row)
    with TemporaryDirectory() as folder:
        file = Path(folder) / "tables.sqlite"
        with closing(sqlite3.connect(file)) as database:
            for name, rows in tables.items():
                columns = dict.fromkeys(column for row in rows for column in row)
                _one_kind_each(columns, rows)
                declared = ", ".join(f'"{column}"' for column in columns)
                database.execute(f'create table "{name}" ({declared})')
                marks = ", ".join("?" * len(columns))
                cells = [[row.get(column) for column in columns] for row in rows]
                database.executemany(f'insert into "{name}" values ({marks})', cells)
            database.commit()
        return nsys.read(file)


def _row(pairs: list[tuple[str, Any]]) -> Cells:
    if len(dict(pairs)) < len(pairs):
        raise Odd("a key twice")
    return dict(pairs)


def _one_kind_each(columns: Cells, rows: list[Cells]) -> None:
    if len({column.lower() for column in columns}) < len(columns):
        raise Odd("two columns that a database cannot tell apart")
    for column in columns:
        values = [row[column] for row in rows if row.get(column) is not None]
        if not column.isidentifier() or {type(value) for value in values} not in ({int}, {str}):
            raise Odd("a column of neither whole numbers nor text alone")
        if any(isinstance(value, int) and not -(2**63) <= value < 2**63 for value in values):
            raise Odd("a number of more than 64 bits")
        if any(isinstance(value, str) and value.encode(errors="ignore").decode() != value for value in values):
            raise Odd("half a character")
