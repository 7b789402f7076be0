"""SQLite files of samples: tables declared as text, pages small enough for a small file."""

import sqlite3
from collections.abc import Iterable, Mapping
from contextlib import closing
from pathlib import Path
from typing import Any

__all__ = ["shrink", "write_database"]

PAGE = 1024


def write_database(path: Path, declarations: Iterable[str], rows: Mapping[str, Iterable[tuple[Any, ...]]]) -> None:
    """Writes a new database: its tables and views as declared, and the rows of each table."""
    path.unlink(missing_ok=True)
    with closing(sqlite3.connect(path, isolation_level=None)) as database:
        for statement in (f"PRAGMA page_size = {PAGE}", "PRAGMA journal_mode = OFF", "BEGIN", *declarations):
            database.execute(statement)
        for table, content in rows.items():
            for row in content:
                database.execute(f'INSERT INTO "{table}" VALUES ({",".join("?" * len(row))})', row)
        database.execute("COMMIT")


def shrink(path: Path) -> None:
    """Writes the database anew with small pages."""
    with closing(sqlite3.connect(path, isolation_level=None)) as database:
        database.execute(f"PRAGMA page_size = {PAGE}")
        database.execute("VACUUM")
