"""Writes the tables of an Nsight Systems recording in each form that `nsys export` has besides SQLite."""

import json
import sqlite3
from collections.abc import Callable, Mapping, Sequence
from contextlib import closing
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq

from .nsys import write_nsys
from .run import Run

__all__ = ["arrow", "in_form", "tables_of", "write_arrow", "write_arrow_folder", "write_lines", "write_parquet"]

Row = Mapping[str, Any]
Tables = Mapping[str, Sequence[Row]]

KINDS = {int: pa.int64(), str: pa.string(), float: pa.float64(), bytes: pa.binary()}
BATCH_ROWS = 20


def tables_of(path: Path) -> dict[str, list[dict[str, Any]]]:
    """Returns all tables of a database, with the rows as they are stored; empty ones too."""
    with closing(sqlite3.connect(path)) as database:
        database.row_factory = sqlite3.Row
        names = [name for (name,) in database.execute("select name from sqlite_master where type = 'table'")]
        return {name: [dict(row) for row in database.execute(f'select * from "{name}"')] for name in names}


def in_form(write: Callable[[Path, Tables], None]) -> Callable[[Run, Path], None]:
    """Returns a function that writes a run as its SQLite export has it, but in another form."""

    def written(run: Run, path: Path) -> None:
        with TemporaryDirectory() as folder:
            database = Path(folder) / "run.sqlite"
            write_nsys(run, database)
            write(path, tables_of(database))

    return written


def arrow(rows: Sequence[Row]) -> pa.Table:
    """Returns the rows as an exporter could type them: numbers without a sign and of 32 bits where all of them fit."""
    columns: dict[str, pa.Array] = {}
    for name in dict.fromkeys(name for row in rows for name in row):
        values = [row.get(name) for row in rows]
        said = [value for value in values if value is not None]
        kind = KINDS[type(said[-1])] if said else pa.int64()
        if kind == pa.int64() and all(0 <= value < 2**32 for value in said):
            kind = pa.uint32()
        columns[name] = pa.array(values, kind)
    return pa.table(columns)


def write_parquet(path: Path, tables: Tables) -> None:
    """Writes `--type parquetdir`: a folder with a file for each table."""
    path.mkdir(parents=True, exist_ok=True)
    for name, rows in tables.items():
        file = path / f"{name}.parquet"
        pq.write_table(arrow(rows), file, compression="zstd", write_statistics=False, store_schema=False)


def write_arrow(path: Path, tables: Tables, *, batch_rows: int = BATCH_ROWS) -> None:
    """Writes `--type arrow`: a stream for each table, with texts as indices into dictionaries."""
    with pa.OSFile(str(path), "wb") as sink:
        for name, rows in tables.items():
            table = arrow(rows).replace_schema_metadata({"table_name": name})
            for at, field in enumerate(table.schema):
                if field.type == pa.string():
                    table = table.set_column(at, field.name, table[field.name].dictionary_encode())
            with pa.ipc.new_stream(sink, table.schema) as stream:
                stream.write_table(table, max_chunksize=batch_rows)


def write_arrow_folder(path: Path, tables: Tables) -> None:
    """Writes `--type arrowdir`, half of its files in the form with a footer."""
    path.mkdir(parents=True, exist_ok=True)
    for number, (name, rows) in enumerate(tables.items()):
        table = arrow(rows)
        begin = pa.ipc.new_file if number % 2 else pa.ipc.new_stream
        with begin(str(path / f"{name}.arrow"), table.schema) as stream:
            stream.write_table(table)


def write_lines(path: Path, tables: Tables) -> None:
    """Writes `--type jsonlines`: no key where there is no value, keys in order."""
    lines = [
        json.dumps({**{n: v for n, v in row.items() if v is not None}, "table": name}, sort_keys=True)
        for name, rows in tables.items()
        for row in rows
    ]
    path.write_text("\n".join(lines) + "\n")
