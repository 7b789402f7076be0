"""Folders of an Nsight Systems export: one Parquet file per table, named after the table."""

from collections.abc import Iterator
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq

from .database_columns import TEXT
from .nsys_columnar import BATCH_ROWS, COMPLAINTS, implausible
from .nsys_values import declared
from .packing import PARQUET
from .parquet_pages import unpacked_bytes

__all__ = ["PARQUET", "ParquetTable", "columns_of", "open_table"]


class ParquetTable:
    """A table in a Parquet file; only the pages of the columns asked for are read."""

    def __init__(self, path: Path) -> None:
        self._path = path
        with self._open() as file:
            self.schema: pa.Schema = file.schema_arrow
            self.count: int = file.metadata.num_rows

    def batches(self, columns: list[str]) -> Iterator[pa.RecordBatch]:
        """The rows in stored order; `ArrowInvalid` where there are fewer than the file says: Arrow is silent."""
        texts = [name for name in columns if declared(self.schema.field(name).type) == TEXT]
        with self._open(texts) as file:
            rows = 0
            for batch in file.iter_batches(BATCH_ROWS, columns=columns, use_threads=False):
                rows += batch.num_rows
                yield batch
        if rows != self.count:
            raise pa.ArrowInvalid(f"{rows:,} rows where {self.count:,} should be")

    def damage(self) -> str | None:
        """What the file claims of itself that cannot be."""
        if len(set(self.schema.names)) < len(self.schema.names):
            return "two columns of one name"
        return implausible(self.count, unpacked_bytes(self._path), self._path.stat().st_size)

    def _open(self, texts: list[str] | None = None) -> pq.ParquetFile:
        """Opens the file; the texts in those columns stay in their dictionary, one each, as they are stored."""
        return pq.ParquetFile(self._path, read_dictionary=texts, memory_map=True, page_checksum_verification=True)


def open_table(path: Path) -> ParquetTable | str:
    """The table in the file, or what is wrong with it."""
    try:
        table = ParquetTable(path)
        return table.damage() or table
    except (*COMPLAINTS, ValueError) as error:
        return " ".join(str(error).split())[:200]


def columns_of(path: Path) -> set[str]:
    """The names of a Parquet file's columns; none where it is no such file."""
    try:
        with path.open("rb") as file:
            if file.read(len(PARQUET)) != PARQUET:
                return set()
        return set(pq.read_schema(path).names)
    except COMPLAINTS:
        return set()
