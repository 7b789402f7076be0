"""One trace for a verb that takes one alone: of a folder of files it says which there are, and what takes them all."""

from pathlib import Path
from typing import TYPE_CHECKING

from ..store.errors import UnreadableFile
from .options import open_trace

if TYPE_CHECKING:
    from ..store.archive import Archive
    from ..store.trace import Trace

__all__ = ["open_one"]

LISTED = 3
"""Files that are named, at most."""


def open_one(trace: str, archive_path: Path) -> "tuple[Trace, Archive]":
    """As `options.open_trace`; for a folder that is no trace by itself, the error says what to give instead."""
    try:
        return open_trace(trace, archive_path)
    except UnreadableFile as error:
        if not Path(trace).is_dir():
            raise
        raise UnreadableFile(f"{trace}: a folder, and no trace by itself", _instead(Path(trace))) from error


def _instead(folder: Path) -> str:
    files = sorted(str(path) for path in folder.iterdir() if path.is_file() and not path.name.startswith("."))
    if not files:
        return "there is no file directly in it: give a trace file"
    more = f" or one of {len(files) - LISTED} others" if len(files) > LISTED else ""
    return f"give one of its files: {', '.join(files[:LISTED])}{more}; tracelode report perf {folder} takes them all"
