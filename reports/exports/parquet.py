"""Parquet: a folder with a file for each table, as SQL shows it; one table alone as a file (.parquet)."""

from collections.abc import Collection
from pathlib import Path

from ...store.trace import Trace
from ..table_files import table_files

__all__ = ["FOLDER", "NEEDS", "SUFFIXES", "write"]

SUFFIXES = (".parquet",)
FOLDER = True
NEEDS: tuple[str, ...] = ()


def write(trace: Trace, path: Path, tables: Collection[str]) -> tuple[str, ...]:
    """Writes the tables into the folder, or the one named to the file."""
    table_files(trace, path, tables, ".parquet")
    return ()
