"""Perfetto trace (.pftrace): streams, threads, counters, and above them the mined iterations and patterns."""

from collections.abc import Collection, Iterator, Mapping
from itertools import pairwise
from pathlib import Path
from typing import TYPE_CHECKING, Any

from ...store.columns import NO_START
from ...store.errors import NotCollected
from ...store.trace import Trace
from ..export_file import opened
from ..perfetto_file import CATEGORIES, NAMES, TEXTS, PerfettoFile, Slices, Track
from ..perfetto_rows import (
    ANNOTATIONS,
    COUNTERS,
    FAULT,
    OVERLAY,
    SHADOW,
    STREAM,
    THREAD,
    WAIT,
    earliest_sql,
    slices_sql,
)
from ..perfetto_rows import TEXTS as TEXT_COLUMNS
from ..perfetto_slices import NOTHING
from ..units import show

if TYPE_CHECKING:
    import duckdb
    import numpy as np
    import numpy.typing as npt
    import pyarrow as pa

__all__ = ["FOLDER", "NEEDS", "SUFFIXES", "write"]

SUFFIXES = (".pftrace", ".pftrace.gz", ".perfetto-trace")
FOLDER = False
NEEDS = ("iteration_times", "repeats")
"""Analyses whose tables are drawn above the operations."""

BATCH = 1 << 17
"""Rows held at a time."""
MEMORY = "512MB"
"""What DuckDB may hold of rows that it sorts; beyond that it uses the disk."""
KEY = ("process", "sort", "device", "stream", "thread", "label")
"""Columns that tell a track."""
Key = tuple[Any, ...]


def write(trace: Trace, path: Path, tables: Collection[str]) -> tuple[str, ...]:
    """Writes the trace's slices and counters; tracks are written one after the other, in bounded memory.

    Times stand as in the tables, counted from the trace's zero; where some lie before it, all are shifted.
    `NotCollected` where there is nothing to draw.
    """
    from ...store.query import connect, damage_told

    wanted = frozenset(tables or trace.files)
    query, earliest = slices_sql(trace, wanted) or "", earliest_sql(trace, wanted)
    counted = "counter" in wanted and trace.has("counter")
    if not query and not counted:
        raise NotCollected(f"{trace.source}: no event that a timeline shows", "export its tables: --to parquet")
    words = f"{query} {earliest}"  # views are made of the tables that these name
    with connect({trace.id: trace.files}, words) as connection, damage_told("export"), opened(path) as out:
        connection.execute(f"set memory_limit = '{MEMORY}'; set temp_directory = ?", [str(path.parent)])
        first = connection.execute(earliest).fetchall()[0][0]
        shift = max(0, -(first or 0))  # Perfetto has no times before zero
        base = trace.facts.base_unix_ns
        file = PerfettoFile(out, None if base is None else base - shift)
        tracks = _Tracks(trace, file)
        if query:
            _slices(connection, query, tracks, shift)
        if counted:
            _counters(connection, tracks, shift)
    return tuple(_remarks(trace, wanted, shift))


class _Tracks:
    """The tracks of a trace as they are needed: each process and device is described once."""

    def __init__(self, trace: Trace, file: PerfettoFile) -> None:
        self.file = file
        self._processes: dict[int, int] = {}
        self._devices: dict[tuple[int, int | None], int] = {}
        self._rank = 0
        self._names: Mapping[str, dict[Key, str]] = {
            "process": _named(trace, "process", ("process",)),
            "device": _named(trace, "device", ("process", "device")),
            "track": _named(trace, "track", ("process", "track")),
        }

    def begin(self, key: Key) -> Track:
        """Begins the track of rows with that key."""
        process, sort, device, stream, thread, label = key
        self._rank += 1  # tracks come in the order in which they are to stand
        if sort == THREAD:
            return self._thread(process, thread)
        parent = self._process(process) if device is None else self._device(process, device)
        return self.file.track(parent, _label(sort, stream, label), self._rank, nested=sort == SHADOW)

    def counter(self, process: int, device: int | None, name: str, unit: str | None) -> Track:
        """Begins the track of a counter."""
        self._rank += 1
        parent = self._process(process) if device is None else self._device(process, device)
        return self.file.counter(parent, name, unit, self._rank)

    def _process(self, process: int) -> int:
        if process not in self._processes:
            name = self._names["process"].get((process,)) or "process"
            self._processes[process] = self.file.process(process, f"{name} ({process})")
        return self._processes[process]

    def _device(self, process: int, device: int) -> int:
        if (process, device) not in self._devices:
            name = self._names["device"].get((process, device))
            title = f"GPU {device} ({name})" if name else f"GPU {device}"
            self._devices[process, device] = self.file.group(self._process(process), title, self._rank)
        return self._devices[process, device]

    def _thread(self, process: int, thread: int | None) -> Track:
        parent = self._process(process)
        if thread is None:
            return self.file.track(parent, "events of no thread", self._rank, nested=True)
        name = self._names["track"].get((process, thread)) or f"thread {thread}"
        return self.file.thread(parent, process, thread, name, self._rank)


def _label(sort: int, stream: int | None, label: str | None) -> str:
    if sort in (OVERLAY, FAULT):
        return label or ""
    whose = "device" if stream is None else f"stream {stream}"
    return whose if sort == STREAM else f"waits of {whose}" if sort == WAIT else f"annotations of {whose}"


def _named(trace: Trace, table: str, key: tuple[str, ...]) -> dict[Key, str]:
    if not trace.has(table):
        return {}
    kinds = " and kind in ('thread', 'lane')" if table == "track" else ""
    rows = trace.sql(
        f"select {', '.join(key)}, any_value(name) from {table} where name is not null{kinds} group by all"
    )
    return {tuple(row[:-1]): row[-1] for row in rows.iter_rows()}


def _slices(connection: "duckdb.DuckDBPyConnection", query: str, tracks: _Tracks, shift: int) -> None:
    now: Key | None = None
    track: Track | None = None
    for batch in connection.sql(query).to_arrow_reader(BATCH):
        slices = _slices_of(batch, tracks.file, shift)
        for key, begin, end in _runs(batch, KEY):
            if key != now:
                if track is not None:
                    track.close()
                now, track = key, tracks.begin(key)
            if track is not None:
                track.add(_part(slices, begin, end))
    if track is not None:
        track.close()


def _counters(connection: "duckdb.DuckDBPyConnection", tracks: _Tracks, shift: int) -> None:
    now: Key | None = None
    track: Track | None = None
    for batch in connection.sql(COUNTERS).to_arrow_reader(BATCH):
        times, values = batch["time_ns"].to_numpy() + shift, batch["value"].to_numpy()
        for key, begin, end in _runs(batch, ("process", "device", "name", "unit")):
            if track is None or key != now:
                now, track = key, tracks.counter(*key)
            track.samples(times[begin:end], values[begin:end])


def _runs(batch: "pa.RecordBatch", columns: tuple[str, ...]) -> Iterator[tuple[Key, int, int]]:
    """The stretches of rows with the same values in those columns."""
    import numpy as np

    if not batch.num_rows:
        return
    changed = np.zeros(batch.num_rows - 1, bool)
    for name in columns:
        codes = batch[name].dictionary_encode().indices.fill_null(-1).to_numpy(zero_copy_only=False)
        changed |= codes[1:] != codes[:-1]
    edges = [0, *(np.flatnonzero(changed) + 1).tolist(), batch.num_rows]
    for begin, end in pairwise(edges):
        yield tuple(batch[name][begin].as_py() for name in columns), begin, end


def _slices_of(batch: "pa.RecordBatch", file: PerfettoFile, shift: int) -> Slices:
    return Slices(
        start_ns=batch["start_ns"].to_numpy() + shift,
        end_ns=batch["end_ns"].to_numpy() + shift,
        name=_numbers(batch["name"], file, NAMES),
        category=_numbers(batch["category"], file, CATEGORIES),
        values={n: batch[n].fill_null(NOTHING).to_numpy() for n in ANNOTATIONS if _any(batch[n])},
        texts={n: _numbers(batch[n], file, TEXTS) for n in TEXT_COLUMNS if _any(batch[n])},
    )


def _any(column: "pa.Array") -> bool:
    return column.null_count < len(column)


def _numbers(column: "pa.Array", file: PerfettoFile, table: int) -> "npt.NDArray[np.int64]":
    """The numbers of interned texts; one look-up for each distinct text."""
    import numpy as np

    encoded = column.dictionary_encode()
    known = [file.number(table, text) for text in encoded.dictionary.to_pylist()]
    return np.array([*known, NOTHING], np.int64)[encoded.indices.fill_null(-1).to_numpy(zero_copy_only=False)]


def _part(slices: Slices, begin: int, end: int) -> Slices:
    """A stretch of the slices, without annotations that none of them has."""
    values = {n: v[begin:end] for n, v in slices.values.items() if (v[begin:end] != NOTHING).any()}
    texts = {n: v[begin:end] for n, v in slices.texts.items() if (v[begin:end] != NOTHING).any()}
    times = slices.start_ns[begin:end], slices.end_ns[begin:end]
    return Slices(*times, slices.name[begin:end], slices.category[begin:end], values, texts)


def _remarks(trace: Trace, wanted: Collection[str], shift: int) -> Iterator[str]:
    if shift:
        yield f"times are {shift} ns later than in the trace, since Perfetto has none before zero"
    for table in ("kernel", "copy", "fill", "op", "api", "range"):
        if table in wanted and trace.has(table):
            lost = trace.sql(f"select count(*) from {table} where flaw = '{NO_START}'").item()
            if lost:
                yield f"{table}: {show(lost, 'count')} events without a start to be trusted are left out"
