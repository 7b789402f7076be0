"""JSON Lines of an Nsight Systems export by the json module: each row names its table."""

import json
from pathlib import Path
from typing import Any

from tests.oracle.nsys_tables import Cells, read_tables
from tests.oracle.rows import Damaged, Odd, Rows, unpacked


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
        if any(not column.isidentifier() for column in row) or len({c.lower() for c in row}) < len(row):
            raise Odd("a column that a database would not have")
        tables.setdefault(name, []).append(row)
    return read_tables(tables)


def _row(pairs: list[tuple[str, Any]]) -> Cells:
    if len(dict(pairs)) < len(pairs):
        raise Odd("a key twice")
    return dict(pairs)
