"""Tables of an Nsight Systems export, however stored: put into a database, which the oracle of databases reads.

Only what that oracle asks for is looked at: what is odd about another column does not matter.
"""

import re
import sqlite3
from contextlib import closing
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from tests.oracle import nsys
from tests.oracle.rows import Odd, Rows

__all__ = ["TABLE", "USED", "Cells", "read_tables"]

Cells = dict[str, Any]
TABLE = re.compile(r"StringIds|ENUM_CUDA_MEMCPY_OPER|CUPTI_ACTIVITY_KIND_\w+|NVTX_EVENTS\w*")
USED = {
    "globalPid", "globalTid", "deviceId", "streamId", "start", "end", "correlationId", "demangledName", "nameId",
    "copyKind", "bytes", "id", "value", "name",
}  # fmt: skip


def read_tables(tables: dict[str, list[Cells]]) -> Rows:
    """The rows of those tables of an export that matter."""
    with TemporaryDirectory() as folder:
        file = Path(folder) / "tables.sqlite"
        with closing(sqlite3.connect(file)) as database:
            for name, rows in tables.items():
                if TABLE.fullmatch(name) and rows:
                    _write(database, name, rows)
            database.commit()
        return nsys.read(file)


def _write(database: sqlite3.Connection, name: str, rows: list[Cells]) -> None:
    columns = list(dict.fromkeys(column for row in rows for column in row if column in USED))
    for column in columns:
        _of_one_kind([row[column] for row in rows if row.get(column) is not None])
    declared = ", ".join(f'"{column}"' for column in columns) or "nothing"
    database.execute(f'create table "{name}" ({declared})')
    marks = ", ".join("?" * max(len(columns), 1))
    cells = [[row.get(column) for column in columns] or [None] for row in rows]
    database.executemany(f'insert into "{name}" values ({marks})', cells)


def _of_one_kind(values: list[Any]) -> None:
    """Raises `Odd` for a column that a database would not hold as it is."""
    if values and {type(value) for value in values} not in ({int}, {str}):
        raise Odd("a column of neither whole numbers nor text alone")
    if any(isinstance(value, int) and not -(2**63) <= value < 2**63 for value in values):
        raise Odd("a number of more than 64 bits")
    if any(isinstance(value, str) and value.encode(errors="ignore").decode() != value for value in values):
        raise Odd("half a character")
