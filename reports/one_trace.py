"""One trace for a verb that takes one alone: a file, a trace of an archive, or a folder that holds a single trace."""

from pathlib import Path
from typing import TYPE_CHECKING

from ..store.errors import Error, UnreadableFile
from .options import cache_archive, progress

if TYPE_CHECKING:
    from ..store.archive import Archive
    from ..store.trace import Trace

__all__ = ["open_trace"]

LISTED = 3
"""Traces that are named, at most."""


def open_trace(trace: str, archive_path: Path) -> "tuple[Trace, Archive]":
    """The trace meant by a command's argument and the archive it lies in.

    A file, URL or member of an archive that was read into the archive is taken from there, any other is read into the
    cache archive; what is none of these is the beginning of an id in the archive. A folder, or an archive of files,
    that is no trace by itself stands for the single trace in it; where there are several the error names them.
    """
    from ..store.archive import Archive

    archive = Archive(archive_path)
    if "/" in trace or "." in trace or Path(trace).exists():
        try:
            return _read(trace, archive)
        except UnreadableFile:
            inside = _inside(trace)
            if inside is None:
                raise
        if len(inside) == 1:
            return _read(inside[0], archive)
        raise UnreadableFile(f"{trace}: no trace by itself, and {len(inside)} in it", _instead(trace, inside))
    if not archive.path.is_dir():
        raise Error(f"{trace}: no such file, and no archive at {archive_path}", "give a trace file, or --archive")
    return archive.open(trace), archive


def _read(file: str, archive: "Archive") -> "tuple[Trace, Archive]":
    from ..collect.ingest import known, look, read_in

    found = look(file)
    there = known(found, archive)
    if there is not None:
        return there, archive
    archive = cache_archive()
    with progress(f"reading {file.rpartition('/')[2]}", lambda: found.source.bytes) as heard:
        return read_in(found, archive, heard=heard)[0], archive


def _inside(name: str) -> list[str] | None:
    """The files in a folder or an archive of files that are traces; None where it is neither."""
    from ..collect.archives import address
    from ..collect.inputs import inputs, place_of

    files = [one for one in inputs(place_of(name), None, lambda _: None) if one.found]
    if not files:
        return [] if Path(name).is_dir() else None
    return [address(one.place) for one in files if one.fault is None and _is_trace(address(one.place))]


def _is_trace(file: str) -> bool:
    from ..collect.ingest import look

    try:
        look(file)
    except UnreadableFile:
        return False
    return True


def _instead(given: str, inside: list[str]) -> str:
    if not inside:
        return "give the one that holds the trace files"
    more = f" or one of {len(inside) - LISTED} others" if len(inside) > LISTED else ""
    return f"give one of them: {', '.join(inside[:LISTED])}{more}; tracelode report perf {given} takes them all"
