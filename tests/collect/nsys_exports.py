"""The same tables of an Nsight Systems recording, written in each form that it can be exported in."""

import json
import sqlite3
from collections.abc import Callable
from contextlib import closing
from pathlib import Path
from types import ModuleType
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq

from tests.collect.reading import Row, Tables, write
from tracelode.collect.readers import nsys, nsys_arrow, nsys_jsonl, nsys_parquet

__all__ = ["FORMS", "arrow", "tables_of", "write_arrow", "write_arrow_folder", "write_lines", "write_parquet"]

KINDS = {int: pa.int64(), str: pa.string(), float: pa.float64(), bytes: pa.binary()}


def arrow(rows: list[Row]) -> pa.Table:
    """The rows as an exporter could type them: numbers without a sign and of 32 bits where all of them fit."""
    columns: dict[str, pa.Array] = {}
    for name in dict.fromkeys(name for row in rows for name in row):
        values = [row.get(name) for row in rows]
        said = [value for value in values if value is not None]
        kind = KINDS[type(said[-1])] if said else pa.int64()
        if kind == pa.int64() and all(0 <= value < 2**32 for value in said):
            kind = pa.uint32()
        columns[name] = pa.array(values, kind)
    return pa.table(columns)


def write_parquet(folder: Path, tables: Tables) -> Path:
    """Writes `--type parquetdir`."""
    path = folder / "report_pqtdir"
    path.mkdir()
    for name, rows in tables.items():
        pq.write_table(arrow(rows), path / f"{name}.parquet", compression="zstd")
    return path


def write_arrow(folder: Path, tables: Tables) -> Path:
    """Writes `--type arrow`, with texts as indices into dictionaries, in small batches."""
    path = folder / "report.arrows"
    with pa.OSFile(str(path), "wb") as sink:
        for name, rows in tables.items():
            table = arrow(rows).replace_schema_metadata({"table_name": name})
            for at, field in enumerate(table.schema):
                if field.type == pa.string():
                    table = table.set_column(at, field.name, table[field.name].dictionary_encode())
            with pa.ipc.new_stream(sink, table.schema) as stream:
                stream.write_table(table, max_chunksize=3)
    return path


def write_arrow_folder(folder: Path, tables: Tables) -> Path:
    """Writes `--type arrowdir`, half of its files in the form with a footer."""
    path = folder / "report_arwdir"
    path.mkdir()
    for number, (name, rows) in enumerate(tables.items()):
        table = arrow(rows)
        begin = pa.ipc.new_file if number % 2 else pa.ipc.new_stream
        with begin(str(path / f"{name}.arrow"), table.schema) as stream:
            stream.write_table(table)
    return path


def write_lines(folder: Path, tables: Tables) -> Path:
    """Writes `--type jsonlines`: no key where there is no value, keys in order."""
    lines = [
        json.dumps({**{n: v for n, v in row.items() if v is not None}, "table": name}, sort_keys=True)
        for name, rows in tables.items()
        for row in rows
    ]
    path = folder / "report.jsonl"
    path.write_text("\n".join(lines) + "\n")
    return path


def write_database(folder: Path, tables: Tables) -> Path:
    """Writes `--type sqlite`."""
    return write(folder / "report.sqlite", tables)


FORMS: dict[str, tuple[ModuleType, Callable[[Path, Tables], Path]]] = {
    "sqlite": (nsys, write_database),
    "parquetdir": (nsys_parquet, write_parquet),
    "arrow": (nsys_arrow, write_arrow),
    "arrowdir": (nsys_arrow, write_arrow_folder),
    "jsonlines": (nsys_jsonl, write_lines),
}
"""Each form's reader, and how it is written into a folder."""


def tables_of(path: Path) -> Tables:
    """All tables of a database, with the rows as they are stored; empty ones too."""
    with closing(sqlite3.connect(path)) as database:
        database.row_factory = sqlite3.Row
        names = [name for (name,) in database.execute("select name from sqlite_master where type = 'table'")]
        return {name: [dict(row) for row in _rows(database, name)] for name in names}


def _rows(database: sqlite3.Connection, name: str) -> list[Any]:
    return database.execute(f'select * from "{name}"').fetchall()
