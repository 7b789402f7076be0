"""An Nsight Systems export as its readers see it: tables by their plain names, strings, processes, enumerations.

Any table and any column may be missing: the exporter makes them when the first row of their kind comes. A newer
layout of a table may carry a suffix (`NVTX_EVENTS_V2`).
"""

import re
from collections.abc import Iterator, Mapping
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute

from ..store.errors import UnreadableFile
from .database_columns import FARTHEST, INT, TEXT, Rows, fitting, near, placed
from .nsys_columns import dictionary, nonzero
from .nsys_source import NEEDED, STORED, Source
from .sink import Sink

__all__ = ["Export"]

pc: Any = pyarrow.compute  # its functions are made at import, so its types say nothing

VERSION = re.compile(r"(.+)_V(\d+)")
THREAD_BITS, THREAD = pa.scalar(24), pa.scalar(0xFFFFFF)
"""How many bits of a global thread id are its thread, and the bits themselves."""


class Export:
    """One export being read into a sink.

    What the events told, for the tables of identities: `processes` maps the upper bits of a global id to the process
    we call it, `device_work` holds the pairs (process, device) that did something, `ranks` the ranks that were named,
    `last_ns` is the latest time, `read` the plain names of the tables that were read.
    """

    def __init__(self, source: Source, sink: Sink) -> None:
        self.source = source
        self.sink = sink
        self.processes: dict[int, int] = {}
        self.device_work: set[tuple[int, int]] = set()
        self.ranks: dict[int, int] = {}
        self.last_ns = 0
        self.read: set[str] = set()
        self._tables: dict[str, str | None] = {}
        self._names: dict[str, list[tuple[int, str]]] = {}
        for name in sorted(source.tables.keys() | source.views):
            versioned = VERSION.fullmatch(name)
            base, version = (versioned[1], int(versioned[2])) if versioned else (name, 0)
            self._names.setdefault(base, []).append((version, name))
        self._ids, self._values = self._strings()

    def names(self) -> list[str]:
        """The plain names of all tables, in order."""
        return sorted(self._names)

    def table(self, base: str) -> str | None:
        """The table of that plain name that is to be read: the newest version that holds rows; None when none does.

        Raises `UnreadableFile` for a view where a table of events or names should be, and for damage in a table that
        the rest depends on; other damaged tables are left out, with a note.
        """
        if base not in self._tables:
            self._tables[base] = self._choose(base)
        return self._tables[base]

    def columns(self, base: str) -> Mapping[str, pa.DataType]:
        """The columns of the table that is to be read."""
        table = self.table(base)
        return self.source.tables[table] if table else {}

    def layout(self, base: str) -> set[str]:
        """The columns of the table in any of its versions, without looking at its rows."""
        return {column for _, name in self._names[base] for column in self.source.tables.get(name, ())}

    def rows(self, base: str, column: str = "", values: tuple[int, ...] = ()) -> list[dict[str, Any]]:
        """A small table as dictionaries, or its rows with those values; empty when it is not there."""
        self.read.add(base)
        table = self.table(base)
        return self.source.rows(table, column, values) if table else []

    def events(
        self, base: str, columns: Mapping[str, pa.DataType], left_out: frozenset[str] = frozenset()
    ) -> Iterator[Rows]:
        """The events of a table in batches. Those without a start, or beyond 2^62 ns, are left out and counted.

        `left_out` are the columns that `rest` shall not hold.
        """
        self.read.add(base)
        table = self.table(base)
        if table is None:
            return
        there = self.source.tables[table]
        rest = {name: kind for name, kind in there.items() if name not in columns and name not in left_out}
        for batch in self.source.batches(table, {**columns, **rest}):
            held = {name: batch.column(name) for name in columns}
            more = {name: nonzero(batch.column(name)) for name in rest}
            yield self._timed(table, Rows(held, more, batch.num_rows))

    def text(self, ids: pa.Array) -> pa.DictionaryArray:
        """The strings of the ids; null where there is none of that id."""
        encoded = ids.dictionary_encode()
        wanted: npt.NDArray[np.int64] = encoded.dictionary.to_numpy()
        if not len(self._ids):
            return dictionary(encoded.indices, pa.nulls(len(wanted), TEXT))
        at = np.minimum(np.searchsorted(self._ids, wanted), len(self._ids) - 1)
        return dictionary(encoded.indices, self._values.take(pa.array(at, mask=self._ids[at] != wanted)))

    def string(self, id: Any) -> str | None:
        """The string of one id."""
        return self.text(pa.array([id], INT))[0].as_py() if isinstance(id, int) else None

    def process(self, serial: pa.Array) -> pa.Array:
        """The process of each global process or thread id; the only one there is where the export gives none."""
        encoded = pc.shift_right(serial, THREAD_BITS).dictionary_encode()
        known = pa.array([self.process_of(key) for key in encoded.dictionary.to_pylist()], INT).take(encoded.indices)
        if not known.null_count:
            return known
        alone = len(self.processes) == 1
        if not alone or known.null_count < len(known):  # of one process an export need not say which
            meaning = "events of no stated process: counted as the only one there is, or as process 0"
            self.sink.note("no-process", meaning, count=known.null_count)
        return pc.fill_null(known, next(iter(self.processes.values())) if alone else 0)

    def process_of(self, key: int) -> int:
        """The process of a global id without its thread bits: the process id of the operating system, if it is unique.

        Two machines or containers can have given the same one: then the second is called by all bits of its key.
        """
        if key not in self.processes:
            pid = key & 0xFFFFFF
            taken = pid in self.processes.values()
            self.processes[key] = key if taken else pid
            if taken:
                self.sink.note(
                    "process-id", "two processes share one process id: the second is renamed", example=str(pid)
                )
        return self.processes[key]

    def thread(self, serial: pa.Array) -> pa.Array:
        """The thread of each global thread id."""
        return pc.bit_wise_and(serial, THREAD)

    def on_thread(self, rows: Rows, ends: pa.Array | None = None) -> dict[str, pa.Array]:
        """The columns that all spans on the host share, with other ends where given."""
        return {
            "process": self.process(rows["globalTid"]),
            "thread": self.thread(rows["globalTid"]),
            "start_ns": rows["start"],
            "end_ns": rows["end"] if ends is None else ends,
        }

    def place(self, values: pa.Array, column: str) -> pa.Array:
        """A device or stream, which every device operation must have: 0 where the export gives none that fits."""
        return placed(self.fitting(values, column) if column == "device" else values, column, self.sink.note)

    def fitting(self, values: pa.Array, column: str) -> pa.Array:
        """Numbers that must fit 32 bits: null, and counted, where they do not."""
        return fitting(values, column, self.sink.note)

    def _choose(self, base: str) -> str | None:
        versions = [name for _, name in sorted(self._names.get(base, ()), reverse=True)]
        views = [name for name in versions if name in self.source.views]
        if views and views == versions and base.startswith(STORED):
            raise UnreadableFile(
                f"{self.source.path}: {views[0]} is a view, not a table", "export the report again with nsys export"
            )
        sound = [name for name in versions if name not in views and not self._damaged(name)]
        held = {name: rows for name in sound if (rows := self.source.count(name))}
        if len(held) > 1:
            counts = ", ".join(f"{name} {rows:,}" for name, rows in held.items())
            self.sink.note("table-versions", "one table in several versions: the newest is read", example=counts)
        return next(iter(held), None)

    def _damaged(self, name: str) -> bool:
        damage = self.source.damage(name)
        if damage is None:
            return False
        if name.startswith(NEEDED):
            raise UnreadableFile(
                f"{self.source.path}: table {name} is damaged: {damage}",
                "copy the file again, or export the report again with nsys export",
            )
        self.sink.note(
            "damaged-table", "a table of the file is damaged: none of it is read", example=f"{name}: {damage}"
        )
        return True

    def _strings(self) -> tuple[npt.NDArray[np.int64], pa.Array]:
        self.read.add("StringIds")
        table = self.table("StringIds")
        if table is None:
            return np.zeros(0, np.int64), pa.array([], TEXT)
        batches = list(self.source.batches(table, {"id": INT, "value": TEXT}))
        strings = pa.Table.from_batches(batches).drop_null().sort_by("id").combine_chunks()
        ids, values = strings["id"].to_numpy(), strings["value"].combine_chunks()
        again = pa.array(np.flatnonzero(ids[1:] == ids[:-1]) + 1)
        others = values.take(again)
        others = others.filter(pc.not_equal(others, values.take(pc.subtract(again, 1))))
        if len(others):
            meaning = "texts given under an id that another has: names may be those of others"
            self.sink.note("repeated-id", meaning, count=len(others), example=others[0].as_py())
        return ids, values

    def _timed(self, table: str, rows: Rows) -> Rows:
        times = [name for name in ("start", "end") if name in rows.columns]
        extents = [pc.min_max(rows[name]).as_py() for name in times]
        if any(e["min"] is not None and (e["min"] <= -FARTHEST or e["max"] >= FARTHEST) for e in extents) or (
            times and rows[times[0]].null_count
        ):
            return self._timed(table, self._within(table, rows, times))
        self.last_ns = max(self.last_ns, *(e["max"] or 0 for e in extents), 0)
        return rows

    def _within(self, table: str, rows: Rows, times: list[str]) -> Rows:
        inside = pc.fill_null(near(rows[times[0]]), False)
        for name in times[1:]:
            inside = pc.and_(inside, pc.fill_null(near(rows[name]), True))
        kept = rows.filter(inside)
        lost = rows.count - kept.count
        self.sink.note("no-time", "events without a time that can be: left out", count=lost, example=table)
        return kept
