"""How a table lies in Parquet: the end of an event is kept as its distance from the start, in `duration_ns`.

Durations repeat and are small numbers: they take two thirds of the room of ends, which makes a kernel of a large
trace 7 bytes. Readers of the files add the start; the functions here do, and the views of `store.query`.
"""

from pathlib import Path
from typing import TYPE_CHECKING, Any

from .tables import Table

if TYPE_CHECKING:
    import polars as pl
    import pyarrow as pa

__all__ = ["LENGTH", "has_length", "packed", "read", "scan", "stored_names"]

START, END, LENGTH = "start_ns", "end_ns", "duration_ns"


def has_length(table: Table) -> bool:
    """Whether ends of the table are kept as durations."""
    return {START, END} <= set(table.names)


def stored_names(table: Table) -> list[str]:
    """The columns as they lie in the file, in order."""
    return [LENGTH if name == END and has_length(table) else name for name in table.names]


def packed(rows: "pa.Table", table: Table) -> "pa.Table":
    """The rows with the columns of the table as they lie in the file."""
    import pyarrow as pa
    import pyarrow.compute

    pc: Any = pyarrow.compute  # its functions are made at import, so its types say nothing
    if not has_length(table):
        return rows
    at = rows.schema.get_field_index(END)
    field = pa.field(LENGTH, pa.int64(), nullable=table.schema.field(END).nullable)
    return rows.set_column(at, field, pc.subtract(rows[END], rows[START]))


def read(path: Path, columns: list[str] | None = None) -> "pa.Table":
    """The table of a file, or those columns of it, with ends."""
    import pyarrow as pa
    import pyarrow.compute
    import pyarrow.parquet as pq

    pc: Any = pyarrow.compute  # its functions are made at import, so its types say nothing
    file = pq.ParquetFile(path)
    there = file.schema_arrow.names
    wanted = [END if name == LENGTH else name for name in there] if columns is None else columns
    if END not in wanted or LENGTH not in there:
        return file.read(columns=wanted)
    rows = file.read(columns=list(dict.fromkeys([*(name for name in wanted if name != END), START, LENGTH])))
    field = pa.field(END, pa.int64(), nullable=rows.schema.field(LENGTH).nullable)
    return rows.append_column(field, pc.add(rows[START], rows[LENGTH])).select(wanted)


def scan(path: Path) -> "pl.LazyFrame":
    """The table of a file, with ends, read when it is asked for."""
    import polars as pl

    rows = pl.scan_parquet(path)
    names = rows.collect_schema().names()
    if LENGTH not in names:
        return rows
    columns = [(pl.col(START) + pl.col(LENGTH)).alias(END) if name == LENGTH else pl.col(name) for name in names]
    return rows.select(columns)
