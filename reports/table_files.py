"""Writes the tables of a trace as files, with the columns that the views of SQL show."""

from collections.abc import Collection
from pathlib import Path
from typing import TYPE_CHECKING

from ..store.trace import Trace

if TYPE_CHECKING:
    import duckdb

__all__ = ["table_files"]

_MEMORY = "1GB"
"""What DuckDB may hold; it writes row group by row group."""
_FORMULA = r"^[=+\-@\t\r]"
"""How a text begins that spreadsheets take for a formula."""
_FORMATS = {
    ".parquet": "format parquet, compression zstd",
    ".csv": "format csv, header true, quote '\"', escape '\"'",
}


def table_files(trace: Trace, path: Path, tables: Collection[str], suffix: str) -> None:
    """Writes each table (all there are when none is named) to a file in that folder; one alone to that file."""
    from ..store.query import connect, damage_told

    words = f"category {' '.join(tables or trace.files)}"  # views are made of the tables that these name
    with connect({trace.id: trace.files}, words) as connection, damage_told("export"):
        connection.execute(f"set memory_limit = '{_MEMORY}'; set temp_directory = ?", [str(path.parent)])
        for table in tables or sorted(trace.files):
            file = path / f"{table}{suffix}" if path.is_dir() else path
            source = _harmless(connection, table) if suffix == ".csv" else f'from "{table}"'
            quoted = str(file).replace("'", "''")
            connection.execute(f"copy ({source}) to '{quoted}' ({_FORMATS[suffix]})")


def _harmless(connection: "duckdb.DuckDBPyConnection", table: str) -> str:
    """The rows with an apostrophe before what a spreadsheet would run; lists as JSON."""
    columns = [(row[0], row[1]) for row in connection.execute(f'describe "{table}"').fetchall()]
    return f'select {", ".join(_cell(name, kind) for name, kind in columns)} from "{table}"'


def _cell(name: str, kind: str) -> str:
    column = f'"{name}"'
    if kind == "VARCHAR":
        return f"case when regexp_matches({column}, '{_FORMULA}') then '''' || {column} else {column} end as {column}"
    return f"to_json({column})::varchar as {column}" if kind.endswith("[]") else column
