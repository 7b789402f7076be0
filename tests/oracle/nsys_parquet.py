"""Parquet exports of Nsight Systems: each file of the folder is a table. Arrow decodes the files, and nothing else."""

from pathlib import Path

import pyarrow.parquet as pq

from tests.oracle.nsys_tables import TABLE, USED, Cells, read_tables
from tests.oracle.rows import Damaged, Rows


def read(path: Path) -> Rows:
    tables: dict[str, list[Cells]] = {}
    for member in sorted(path.glob("*.parquet")):
        if TABLE.fullmatch(member.stem):
            tables[member.stem] = cells(member)
    return read_tables(tables)


def cells(member: Path, wanted: set[str] = USED) -> list[Cells]:
    """The rows of a Parquet file with those of the wanted columns that it has."""
    with pq.ParquetFile(member, page_checksum_verification=True) as file:
        names = file.schema_arrow.names
        if len(set(names)) < len(names):
            raise Damaged("two columns of one name")
        return file.read(sorted(wanted.intersection(names))).to_pylist()
