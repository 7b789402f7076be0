"""Tables on their way into an archive: Parquet files in a folder nobody lists yet."""

import hashlib
import os
import shutil
import uuid
from pathlib import Path
from typing import TYPE_CHECKING, Any

from .stored import LENGTH, has_length, packed, stored_names
from .tables import TABLES, Table

if TYPE_CHECKING:
    import pyarrow as pa
    import pyarrow.parquet as pq

__all__ = ["Staging", "put_whole", "sync_folder"]

ROW_GROUP = 262_144
LEAST_ROWS = 65_536
FIRST_TIME = -(1 << 63)
SCRATCH = "scratch"
DELTA, SPLIT = "DELTA_BINARY_PACKED", "BYTE_STREAM_SPLIT"
REPEATED_NUMBERS = frozenset({"shared_bytes"})
"""64-bit columns of few values, for which a dictionary is smaller."""
FEW_WORDS = 1024


class Staging:
    """A folder that becomes a trace or an analysis' result when the archive renames it."""

    def __init__(self, path: Path) -> None:
        self.path = path
        path.mkdir()
        self._writers: dict[str, pq.ParquetWriter] = {}
        self._waiting: dict[str, list[pa.Table]] = {}
        self._last: dict[str, int] = {}

    def write(self, name: str, table: "pa.Table") -> None:
        """Appends rows to a table. They must have its columns; the order of rows is the caller's.

        Few rows wait for more, so that no row group is small but the last.
        """
        waiting = self._waiting.setdefault(name, [])
        waiting.append(table.select(list(TABLES[name].names)))
        if sum(len(piece) for piece in waiting) >= LEAST_ROWS:
            self._flush(name)

    def _flush(self, name: str) -> None:
        import pyarrow as pa
        import pyarrow.compute
        import pyarrow.parquet as pq
        from pyarrow.fs import LocalFileSystem

        pc: Any = pyarrow.compute  # its functions are made at import, so its types say nothing
        contract = TABLES[name]
        table = pa.concat_tables(self._waiting.pop(name)).unify_dictionaries()
        if has_length(contract) and table["end_ns"].null_count < len(table):
            self._last[name] = max(pc.max(table["end_ns"]).as_py(), self._last.get(name, FIRST_TIME))
        table = packed(table, contract)
        if name not in self._writers:
            path, schema = self.path / f"{name}.parquet", _as_written(contract, table)
            # The filesystem is said, since Arrow would look for packages that might know the path of a new file.
            local = LocalFileSystem()
            self._writers[name] = pq.ParquetWriter(path, schema, filesystem=local, **_layout(contract, table))
        self._writers[name].write_table(table.cast(self._writers[name].schema), row_group_size=ROW_GROUP)

    def end(self, name: str) -> None:
        """Says that no more rows of a table come: what waits is written, and the memory for more given back."""
        if name in self._waiting:
            self._flush(name)
        if name in self._writers:
            self._writers[name].close()

    def scratch(self) -> Path:
        """A folder for what waits to be written; gone when the tables are finished."""
        folder = self.path / SCRATCH
        folder.mkdir(exist_ok=True)
        return folder

    def write_text(self, name: str, text: str) -> None:
        """Writes a small file beside the tables, fsynced."""
        with (self.path / name).open("wb") as file:
            file.write(text.encode("utf-8", "replace"))
            file.flush()
            os.fsync(file.fileno())

    def finish(self) -> dict[str, dict[str, Any]]:
        """Closes and fsyncs the files; what the manifest says of each table."""
        import pyarrow.parquet as pq

        for name in list(self._waiting):
            self._flush(name)
        files: dict[str, dict[str, Any]] = {}
        for name, writer in sorted(self._writers.items()):
            writer.close()
            path = self.path / f"{name}.parquet"
            with path.open("rb") as file:
                digest = hashlib.file_digest(file, "sha256").hexdigest()
                os.fsync(file.fileno())
            metadata = pq.read_metadata(path)
            files[name] = {
                "file": path.name,
                "sha256": digest,
                "bytes": path.stat().st_size,
                "rows": metadata.num_rows,
                "first_ns": _first(metadata),
                "last_ns": self._last.get(name),
            }
        self._writers = {}
        shutil.rmtree(self.path / SCRATCH, ignore_errors=True)
        sync_folder(self.path)
        return files

    def discard(self) -> None:
        """Removes the folder, if it was not renamed into an archive."""
        for writer in self._writers.values():
            writer.close()
        shutil.rmtree(self.path, ignore_errors=True)


def put_whole(path: Path, text: str, staging: Path, *, durable: bool = False) -> None:
    """Writes a small file whole or not at all: into the folder `staging` first, which is on the same disk.

    With `durable` its content is on the disk before its name is.
    """
    temporary = staging / f"{uuid.uuid4().hex}.text"
    with temporary.open("w") as file:
        file.write(text)
        if durable:
            file.flush()
            os.fsync(file.fileno())
    temporary.replace(path)


def sync_folder(path: Path) -> None:
    """Makes the folder's entries durable."""
    descriptor = os.open(path, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)


def _as_written(contract: Table, first: "pa.Table") -> "pa.Schema":
    """The schema to write with: text that comes as a dictionary is written from it, a third faster than from strings.

    Parquet has one type for both, so readers see no difference. Text that hardly repeats is written as strings: the
    writer would take ten times the room of its dictionary.
    """
    import pyarrow as pa

    schema = first.schema.remove_metadata()
    for at, field in enumerate(schema):
        if pa.types.is_dictionary(field.type) and not _repeats(first.column(at)):
            field = field.with_type(pa.string())
        required = field.name in contract.names and not contract.schema.field(field.name).nullable
        schema = schema.set(at, field.with_nullable(not required and field.nullable))
    return schema


def _repeats(column: "pa.ChunkedArray") -> bool:
    """Whether text comes back often; its chunks have one dictionary."""
    return len(column.chunk(0).dictionary) <= max(FEW_WORDS, len(column) // 4)


def _first(metadata: Any) -> int | None:
    """The least start, from the statistics of the row groups."""
    groups = [metadata.row_group(g) for g in range(metadata.num_row_groups)]
    chunks = [group.column(c) for group in groups for c in range(group.num_columns)]
    starts = [c.statistics for c in chunks if c.path_in_schema == "start_ns" and c.statistics]
    return min((s.min for s in starts if s.has_min_max), default=None)


def _layout(table: Table, first: "pa.Table") -> dict[str, Any]:
    """How Parquet stores the table: deltas for 64-bit whole numbers, dictionaries for the rest, zstd level 1.

    Measured on kernels sorted by (device, stream, start): 7 bytes a row, against 12 with the library's defaults.
    Durations are noise that deltas would double: their bytes are stored apart, which leaves zstd the upper ones.
    Operators jump from thread to thread in some traces and climb in others: where there are many, the first decide.
    """
    import pyarrow as pa

    whole = {c.name for c in table.columns if c.type == pa.int64() and c.name not in REPEATED_NUMBERS}
    nested = [c.name for c in table.columns if pa.types.is_list(c.type)]
    numbers = {c.name for c in table.columns if c.type == pa.float64()}
    names = stored_names(table)
    encoding = {name: DELTA for name in names if name in whole}
    if has_length(table):
        encoding[LENGTH] = SPLIT
    if "op" in encoding and len(first) >= LEAST_ROWS:
        encoding["op"] = min(DELTA, SPLIT, key=lambda way: _size(first.select(["op"]), way))
    return {
        "compression": "zstd",
        "compression_level": 1,
        "use_dictionary": [name for name in names if name not in encoding and name not in (*nested, *numbers)]
        + [f"{name}.list.element" for name in nested],
        "column_encoding": encoding,
        "store_schema": False,
        "write_statistics": list(encoding),
    }


def _size(column: "pa.Table", encoding: str) -> int:
    """Bytes of a table of one column when stored that way."""
    import pyarrow as pa
    import pyarrow.parquet as pq

    sink = pa.BufferOutputStream()
    pq.write_table(column, sink, use_dictionary=False, column_encoding=encoding, compression="zstd")
    return sink.getvalue().size
