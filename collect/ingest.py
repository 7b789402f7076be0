"""Reads a trace file into an archive: the whole way from a path to a committed trace."""

import multiprocessing
from collections.abc import Iterator
from concurrent.futures import ProcessPoolExecutor
from dataclasses import dataclass
from pathlib import Path

from ..store.archive import Archive, Source, absolute
from ..store.errors import Error, UnreadableFile
from ..store.tables import TABLES, Kind
from ..store.trace import Trace
from .files import open_file, reader_of
from .sink import Sink

__all__ = ["Outcome", "known", "read", "read_all"]


@dataclass(frozen=True)
class Outcome:
    """What became of one file: its trace and whether that is new, or the error."""

    path: Path
    trace: Trace | None
    new: bool
    error: Error | None


def read_all(files: list[tuple[Path, str | None]], archive: Path, *, jobs: int = 1) -> Iterator[Outcome]:
    """Reads the files, each with its run, into the archive in that many processes; outcomes in the order of the files.

    One file that cannot be read does not stop the others. Files are independent: nothing is shared but the archive.
    """
    if jobs == 1 or len(files) == 1:
        yield from (_outcome(path, run, archive) for path, run in files)
        return
    # Spawned, not forked: Arrow and Numba hold threads that a fork would leave behind.
    with ProcessPoolExecutor(min(jobs, len(files)), multiprocessing.get_context("spawn")) as pool:
        waiting = [pool.submit(_outcome, path, run, archive) for path, run in files]
        yield from (one.result() for one in waiting)


def _outcome(path: Path, run: str | None, archive: Path) -> Outcome:
    try:
        trace, new = read(path, Archive(archive), run=run)
    except Error as error:
        return Outcome(path, None, False, error)
    return Outcome(path, trace, new, None)


def read(path: str | Path, archive: Archive, *, run: str | None = None) -> tuple[Trace, bool]:
    """Reads the file into the archive; the trace, and whether it is new there.

    A file that was read before (same path, size and time, same reader) is not read again; other files with the same
    content give the same trace. Raises `Error` for a missing path, `UnreadableFile` for what is not a trace: then
    nothing is left in the archive.
    """
    file = open_file(Path(path))
    name, reader = reader_of(file)
    there = archive.find(file.path, name, reader.VERSION)
    if there is not None:
        return there, False
    status = file.path.stat()
    with archive.stage() as staging:
        sink = Sink(staging)
        facts = reader.read(file, sink)
        if file.damage:
            sink.note("truncated", "the file ends early: events after that point are missing", example=file.damage)
        if not any(TABLES[t].kind is Kind.EVENT for t in sink.rows):
            if file.damage:
                raise UnreadableFile(f"{path}: {file.damage}, before any event", "copy or record the trace again")
            sink.note("no-events", "the file is a trace but holds no event")
        notes = sink.finish()
        source = Source(str(absolute(file.path)), status.st_size, status.st_mtime_ns, name, reader.VERSION)
        new = not archive.holds(file.sha256)
        return archive.commit(staging, id=file.sha256, source=source, facts=facts, notes=notes, run=run), new


def known(path: str | Path, archive: Archive) -> Trace | None:
    """The trace that reading the file into that archive would give without reading it; raises as `read` does."""
    file = open_file(Path(path))
    name, reader = reader_of(file)
    return archive.find(file.path, name, reader.VERSION)
