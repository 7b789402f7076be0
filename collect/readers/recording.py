"""Recordings by `tracelode record`: the folder of a process, or one of its files.

`events.spool` is of the event collector, `python.spool` of the agent in the program; either may be there alone.
Times are those of the machine's raw monotonic clock. Kernels without recorded calls have their launch by the numbers
that CUPTI gives calls in their order; `launch_ns` is then null.
"""

from pathlib import Path

from ...store.errors import UnreadableFile
from ...store.trace import Facts
from ..cupti_spans import read_managed, read_markers, read_overhead
from ..cupti_work import read_calls, read_work
from ..files import TraceFile
from ..local_file import local
from ..recording import NEEDED as OF_ACTIVITIES
from ..recording import Recording
from ..recording_chunks import MAGIC, Chunks
from ..recording_memory import read_memory
from ..recording_python import NEEDED as OF_THE_PROGRAM
from ..recording_python import read_python
from ..recording_state import Said, write_identities, write_notes
from ..recording_totals import NEEDED as OF_TOTALS
from ..recording_totals import read_totals
from ..sink import Sink

__all__ = ["VERSION", "read", "recognises"]

VERSION = 1
EVENTS, PYTHON = "events.spool", "python.spool"


def recognises(file: TraceFile) -> bool:
    """Whether it is a file of a recording, or a folder that holds some."""
    return file.head.startswith(MAGIC) or any(_begins(path) for path in file.members() if path.name in (EVENTS, PYTHON))


def read(file: TraceFile, sink: Sink) -> Facts:
    """Hands every event to the sink and returns the facts; `UnreadableFile` when there is nothing to save."""
    if file.path.is_dir():
        file.digest()
        return _read([path for path in file.members() if path.name in (EVENTS, PYTHON)], sink)
    with local(file) as path:
        return _read([path], sink)


def _begins(path: Path) -> bool:
    try:
        with path.open("rb") as file:
            return file.read(len(MAGIC)) == MAGIC
    except OSError:
        return False


def _read(paths: list[Path], sink: Sink) -> Facts:
    files = _opened(paths, sink)
    said = Said([chunks.texts for chunks in files])
    work = set[tuple[int, int]]()
    for chunks in files:
        chunks.require({**OF_ACTIVITIES, **OF_THE_PROGRAM, **OF_TOTALS})
        read_python(chunks, sink, said.pid, (said.apart_ns or 0) if said.on_wall_clock else 0)
        recording = Recording(chunks, sink, said.pid)
        read_calls(recording)
        read_work(recording)
        read_managed(recording)
        read_overhead(recording)
        read_markers(recording)
        read_memory(recording)
        read_totals(chunks, sink, said.pid)
        work |= recording.device_work
        _note_damage(chunks, sink)
    write_identities(said, work, sink)
    write_notes(said, sink)
    return said.facts()


def _opened(paths: list[Path], sink: Sink) -> list[Chunks]:
    """The files that can be read; `UnreadableFile` where none can."""
    files: list[Chunks] = []
    faults: list[UnreadableFile] = []
    for path in paths:
        try:
            files.append(Chunks(path))
        except UnreadableFile as error:
            faults.append(error)
    if not files:
        raise faults[0]
    for fault in faults:
        meaning = "a file of the recording cannot be read: what it holds is missing"
        sink.note("unreadable-companion", meaning, example=fault.message)
    return files


def _note_damage(chunks: Chunks, sink: Sink) -> None:
    name = chunks.path.name
    if chunks.damage:
        meaning = "the recording ends early, as where the program was killed: what came last is missing"
        sink.note("truncated", meaning, example=f"{name}: {chunks.damage}")
    if chunks.lost:
        sink.note("lost-chunk", "parts of the recording are missing", count=chunks.lost, example=name)
    if chunks.strange:
        meaning = "rows of tables that this version does not know: left out"
        sink.note("unknown-event", meaning, count=chunks.strange, example=name)
    if chunks.beyond:
        meaning = "numbers too large for what they stand for: read as the largest"
        sink.note("out-of-range", meaning, count=chunks.beyond, example=name)
    if chunks.broken:
        meaning = "texts with bytes that are not UTF-8: each shown as the replacement character"
        sink.note("invalid-utf8", meaning, count=len(chunks.broken), example=chunks.broken[0][:120])
