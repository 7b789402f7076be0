"""Reads trace files into an archive: the whole way from a path, a URL or an archive's member to a committed trace."""

import os
from collections.abc import Callable, Iterator, Mapping, Sequence
from concurrent.futures import Future
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path

from .memory import take_sparingly  # before Arrow is loaded

# isort: split
from ..store.archive import Archive
from ..store.errors import Error, OpaqueFile, UnreadableFile
from ..store.sources import Membership, Source
from ..store.tables import TABLES, Kind
from ..store.trace import Trace
from .archives import address
from .files import Reader, TraceFile, open_file, reader_of
from .inputs import Input, place_of
from .packing import ALTERED
from .places import Place, Status, StatusLike
from .ranks import rank_of
from .remote import looked_up
from .sink import Sink
from .workers import do_all

__all__ = ["Look", "Outcome", "known", "look", "read", "read_all", "read_in", "read_one", "size_of", "status_of"]

Heard = Callable[[int], None]
"""Is told how many bytes more were read."""


@dataclass(frozen=True)
class Outcome:
    """What became of one input: its trace and whether that is new, or the error.

    `left_out`: it was found, not named by the user, and the error says that it is no trace.
    """

    input: Input
    trace: Trace | None
    new: bool
    error: Error | None
    left_out: bool = False


def read_all(inputs: Sequence[Input], archive: Path, *, jobs: int = 1, heard: Heard | None = None) -> Iterator[Outcome]:
    """Reads the inputs into the archive in that many processes; outcomes in the order of the inputs.

    One that cannot be read does not stop the others. They are independent: nothing is shared but the archive.
    """
    here = jobs == 1 or len(inputs) == 1
    work = partial(_read_metered if here else read_one, archive=archive, heard=heard if here else None)
    waiting: dict[int, Outcome] = {}
    following = 0
    for number, answer in do_all(work, inputs, jobs=jobs):
        waiting[number] = _of(inputs[number], answer)
        if heard and not here:
            heard(size_of(inputs[number].place))
        while following in waiting:
            yield waiting.pop(following)
            following += 1


def _of(one: Input, answer: "Future[Outcome]") -> Outcome:
    """What became of an input in another process, which may have been killed."""
    error = answer.exception()
    if isinstance(error, Error):
        return Outcome(one, None, False, type(error)(f"{one.place}: {error.message}", error.hint))
    return answer.result()


def _read_metered(one: Input, archive: Path, *, heard: Heard | None) -> Outcome:
    """Reads an input in this process; what is read of it is heard as it is read."""
    if heard is None:
        return read_one(one, archive)
    meter = _Meter(one, heard)
    outcome = read_one(one, archive, heard=meter.hear)
    meter.finish()
    return outcome


class _Meter:
    """Passes on what is heard of an input, each byte once and in the end all of them, however often it was read."""

    def __init__(self, one: Input, heard: Heard) -> None:
        self._left, self._heard = size_of(one.place), heard

    def hear(self, count: int) -> None:
        count = min(count, self._left)
        self._left -= count
        self._heard(count)

    def finish(self) -> None:
        self.hear(self._left)


def size_of(place: Place) -> int:
    """Bytes of the input where it lies, as far as it can be told without reading it."""
    return status_of(place).st_size


def status_of(place: Place) -> StatusLike:
    """Size and time of the input where it lies, both 0 as far as they cannot be told without reading it."""
    try:
        return TraceFile(place, b"", None).status()
    except (OSError, Error):
        return Status(0, 0)


def read_one(one: Input, archive: Path, *, heard: Heard | None = None) -> Outcome:
    """Reads an input into the archive, and says what became of it."""
    if one.fault:
        return Outcome(one, None, False, one.fault)
    try:
        found = _look(one.place)
    except Error as error:
        no_trace = isinstance(error, UnreadableFile) and not isinstance(error, OpaqueFile)
        return Outcome(one, None, False, error, left_out=one.found and no_trace)
    try:
        trace, new = read_in(found, Archive(archive), run=one.run, labels=one.labels, heard=heard)
    except Error as error:
        return Outcome(one, None, False, error)
    return Outcome(one, trace, new, None)


@dataclass(frozen=True)
class Look:
    """An input that a reader recognises: opened and looked at once, for whatever is to be done with it."""

    file: TraceFile
    reader: Reader
    source: Source


def look(path: str | os.PathLike[str]) -> Look:
    """Opens the file, URL or member of an archive and finds its reader.

    Raises `Error` for a missing path, `UnreadableFile` for what is not a trace.
    """
    return _look(place_of(path))


def _look(place: Place) -> Look:
    file = open_file(looked_up(place))
    name, reader = reader_of(file)
    status = file.status()
    return Look(file, reader, Source(address(place), status.st_size, status.st_mtime_ns, name, reader.VERSION))


def read(
    path: str | os.PathLike[str], archive: Archive, *, run: str | None = None, heard: Heard | None = None
) -> tuple[Trace, bool]:
    """Reads the file, URL or member of an archive into the archive; the trace, and whether it is new there.

    A file that was read before (same path, size and time, same reader) is not read again; other files with the same
    content give the same trace. Raises `Error` for a missing path, `UnreadableFile` for what is not a trace: then
    nothing is left in the archive.
    """
    return read_in(look(path), archive, run=run, heard=heard)


def read_in(
    found: Look,
    archive: Archive,
    *,
    run: str | None = None,
    labels: Mapping[str, str] | None = None,
    heard: Heard | None = None,
) -> tuple[Trace, bool]:
    """Reads what was looked at into the archive, as `read` does; the labels become facts of a trace that is new."""
    found.file.heard = heard
    there = known(found, archive)
    trace, new = (there, False) if there is not None else _into(archive, found, run, labels or {})
    rank, rank_from = rank_of(trace, found.source.path)
    archive.remember(Membership(trace.id, found.source, run, rank, rank_from))
    return trace, new


def known(found: Look, archive: Archive) -> Trace | None:
    """The trace that reading it into that archive would give without reading it."""
    return archive.find(found.source)


def _into(archive: Archive, found: Look, run: str | None, labels: Mapping[str, str]) -> tuple[Trace, bool]:
    file = found.file
    take_sparingly()
    with archive.stage() as staging:
        sink = Sink(staging)
        facts = found.reader.read(file, sink)
        facts = replace(facts, labels={**facts.labels, **labels})
        if not file.whole:  # the reader stopped at damage: a trace is known by the hash of all there is
            file.digest()
        if file.damage and ALTERED in file.damage:
            meaning = "the content does not have the checksum that was packed with it: any of it may be wrong"
            sink.note("wrong-checksum", meaning, example=file.damage)
        elif file.damage:
            sink.note("truncated", "the file ends early: events after that point are missing", example=file.damage)
        if not any(TABLES[t].kind is Kind.EVENT for t in sink.rows):
            if file.damage:
                raise UnreadableFile(f"{file.path}: {file.damage}, before any event", "copy or record the trace again")
            sink.note("no-events", "the file is a trace but holds no event")
        notes = sink.finish()
        new = not archive.holds(file.sha256)
        return archive.commit(staging, id=file.sha256, source=found.source, facts=facts, notes=notes, run=run), new
