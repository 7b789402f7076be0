"""Reads a trace file into an archive: the whole way from a path to a committed trace."""

from pathlib import Path

from ..store.archive import Archive, Source, absolute
from ..store.errors import UnreadableFile
from ..store.tables import TABLES, Kind
from ..store.trace import Trace
from .files import open_file, reader_of
from .sink import Sink

__all__ = ["is_known", "read"]


def read(path: str | Path, archive: Archive, *, run: str | None = None) -> tuple[Trace, bool]:
    """Reads the file into the archive; the trace, and whether it is new there.

    A file that was read before (same path, size and time, same reader) is not read again; other files with the same
    content give the same trace. Raises `Error` for a missing path, `UnreadableFile` for what is not a trace: then
    nothing is left in the archive.
    """
    file = open_file(Path(path))
    name, reader = reader_of(file)
    known = archive.find(file.path, name, reader.VERSION)
    if known is not None:
        return known, False
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
        there = {m.id for m in archive.manifests()}
        trace = archive.commit(staging, id=file.sha256, source=source, facts=facts, notes=notes, run=run)
        return trace, trace.id not in there


def is_known(path: str | Path, archive: Archive) -> bool:
    """Whether reading the file into that archive would change nothing; raises as `read` does."""
    file = open_file(Path(path))
    name, reader = reader_of(file)
    return archive.find(file.path, name, reader.VERSION) is not None
