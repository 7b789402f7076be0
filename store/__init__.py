"""Keeps events: one schema for every vendor, immutable Parquet, SQL through DuckDB, frames through Polars."""

import importlib
from typing import TYPE_CHECKING

from .errors import ArchiveError, Error, NotCollected, UnreadableFile

if TYPE_CHECKING:
    from .archive import Archive, Damage, Manifest
    from .sources import Membership, Source
    from .tables import COPY_KINDS, TABLES, Column, Kind, Table
    from .trace import Facts, Note, Trace

__all__ = [
    "COPY_KINDS",
    "TABLES",
    "Archive",
    "ArchiveError",
    "Column",
    "Damage",
    "Error",
    "Facts",
    "Kind",
    "Manifest",
    "Membership",
    "NotCollected",
    "Note",
    "Source",
    "Table",
    "Trace",
    "UnreadableFile",
]

_HOME: dict[str, str] = {
    **dict.fromkeys(("Archive", "Damage", "Manifest"), "archive"),
    **dict.fromkeys(("Membership", "Source"), "sources"),
    **dict.fromkeys(("COPY_KINDS", "TABLES", "Column", "Kind", "Table"), "tables"),
    **dict.fromkeys(("Facts", "Note", "Trace"), "trace"),
}


def __getattr__(name: str) -> object:
    """Imports a public name when it is first used: Arrow takes a third of a second, and not every verb needs it."""
    if name not in _HOME:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(importlib.import_module(f".{_HOME[name]}", __name__), name)
