"""An nvprof database as its readers see it: tables of activities by their kind, strings, processes."""

import struct
from collections.abc import Iterator, Mapping
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute

from ..store.errors import UnreadableFile
from .cupti_calls import call_name
from .database_columns import INT, TEXT, Rows, fitting, near, placed
from .nsys_columns import dictionary, nonzero
from .sink import Sink
from .sqlite import Database

__all__ = ["NEEDED", "PREFIX", "STRINGS", "Activities"]

pc: Any = pyarrow.compute  # its functions are made at import, so its types say nothing

PREFIX, STRINGS = "CUPTI_ACTIVITY_KIND_", "StringTable"
NEEDED = (
    STRINGS,
    *(PREFIX + kind for kind in ("RUNTIME", "DRIVER", "KERNEL", "CONCURRENT_KERNEL", "MEMCPY", "MEMSET")),
)
"""Tables without which the rest would tell a wrong story."""

PROCESS_OBJECT, THREAD_OBJECT = 1, 2


class Activities:
    """One database being read into a sink.

    `calls` maps a process to the correlation ids of its host calls, `device_work` holds the devices that did
    something by process, `read` the kinds that were read, `first_ns` is the earliest time.
    """

    def __init__(self, database: Database, sink: Sink) -> None:
        self.database = database
        self.sink = sink
        self.calls: dict[int, list[pa.Array]] = {}
        self.device_work: set[tuple[int, int]] = set()
        self.read: set[str] = set()
        self.first_ns: int | None = None
        self.main = 0
        self._owners: tuple[npt.NDArray[np.int64], npt.NDArray[np.int64]] | None = None
        self._sound: dict[str, bool] = {}
        for view in sorted(database.views.intersection(NEEDED)):
            raise UnreadableFile(f"{database.path}: {view} is a view, not a table", "profile again")
        self._ids, self._values = self._strings()

    def kinds(self) -> list[str]:
        """The kinds of activities there are tables of, in order."""
        return sorted(name.removeprefix(PREFIX) for name in self.database.tables if name.startswith(PREFIX))

    def rows(self, kind: str) -> list[dict[str, Any]]:
        """A small table as dictionaries, numbers and blobs as they were declared; empty when it is not there."""
        self.read.add(kind)
        table = PREFIX + kind
        if not self.holds(table):
            return []
        columns = {name: held for name, held in self.database.tables[table].items() if name != "_id_"}
        return [row for batch in self.database.batches(table, columns) for row in batch.to_pylist()]

    def events(
        self, kind: str, columns: Mapping[str, pa.DataType], left_out: frozenset[str] = frozenset()
    ) -> Iterator[Rows]:
        """The activities of a kind in batches; the first column is the time that each must have.

        `rest` holds what else the table says that is not null or zero, but for the columns left out. Activities
        whose time could not be taken (start and end are 0) or cannot be are left out and counted.
        """
        self.read.add(kind)
        table = PREFIX + kind
        if not self.holds(table):
            return
        there = self.database.tables[table]
        rest = {n: held for n, held in there.items() if n not in columns and n not in left_out and n != "_id_"}
        for batch in self.database.batches(table, {**columns, **rest}):
            held = {name: batch.column(name) for name in columns}
            more = {name: nonzero(batch.column(name)) for name in rest}
            rows = self._timed(kind, Rows(held, more, batch.num_rows), next(iter(columns)))
            if rows.count:
                yield rows

    def holds(self, table: str) -> bool:
        """Whether the table is there, sound, and has rows. `UnreadableFile` when one that all depends on is damaged."""
        if table not in self._sound:
            self._sound[table] = table in self.database.tables and self._is_sound(table)
        return self._sound[table] and self.database.count(table) > 0

    def text(self, ids: pa.Array) -> pa.DictionaryArray:
        """The strings of the ids; null where there is none of that id, and for 0, which stands for none."""
        encoded = ids.dictionary_encode()
        wanted: npt.NDArray[np.int64] = encoded.dictionary.to_numpy()
        if not len(self._ids):
            return dictionary(encoded.indices, pa.nulls(len(wanted), TEXT))
        at = np.minimum(np.searchsorted(self._ids, wanted), len(self._ids) - 1)
        missing = (self._ids[at] != wanted) | (wanted == 0)
        return dictionary(encoded.indices, self._values.take(pa.array(at, mask=missing)))

    def string(self, id: Any) -> str | None:
        """The string of one id."""
        return self.text(pa.array([id], INT))[0].as_py() if isinstance(id, int) else None

    def function(self, interface: str, number: int) -> str:
        """The name of a call: databases have only its number."""
        return call_name(interface, number)

    def process(self, correlation: pa.Array) -> pa.Array:
        """The process of device work: of the call with its correlation id where there are several processes."""
        if len(self.calls) < 2:
            return pa.repeat(pa.scalar(self.main, INT), len(correlation))
        if self._owners is None:
            ids = np.concatenate([pc.fill_null(a, 0).to_numpy() for arrays in self.calls.values() for a in arrays])
            owners = np.repeat([*self.calls], [sum(map(len, arrays)) for arrays in self.calls.values()])
            known, first = np.unique(ids, return_index=True)
            self._owners = known, owners[first]
        known, owners = self._owners
        wanted = pc.fill_null(correlation, -1).to_numpy()
        at = np.minimum(np.searchsorted(known, wanted), len(known) - 1)
        return pa.array(np.where(known[at] == wanted, owners[at], self.main), INT)

    def threads(self, rows: Rows) -> tuple[pa.Array, pa.Array]:
        """The process and the thread from the records of objects: two 32-bit numbers, the thread signed as in calls."""
        processes: list[int] = []
        threads: list[int | None] = []
        kinds = rows["objectKind"].to_pylist()
        for kind, data in zip(kinds, rows["objectId"].to_pylist(), strict=True):
            known = kind in (PROCESS_OBJECT, THREAD_OBJECT) and len(data or b"") >= 8
            process, thread = struct.unpack_from("<Ii", data or b"") if known else (self.main, None)
            processes.append(process)
            threads.append(thread if kind == THREAD_OBJECT else None)
        return pa.array(processes, INT), pa.array(threads, INT)

    def launch(self, correlation: pa.Array) -> pa.Array | None:
        """None: the calls tell it."""

    def external(self, correlation: pa.Array) -> pa.Array | None:
        """None: there are no such ids."""

    def place(self, values: pa.Array, column: str) -> pa.Array:
        """A device or stream, which all device work must have: 0 where none is given that fits."""
        return placed(self.fitting(values, column) if column == "device" else values, column, self.sink.note)

    def fitting(self, values: pa.Array, column: str) -> pa.Array:
        """Numbers that must fit 32 bits: null, and counted, where they do not."""
        return fitting(values, column, self.sink.note)

    def _is_sound(self, table: str) -> bool:
        damage = self.database.damage(table)
        if damage is None:
            return True
        if table in NEEDED:
            raise UnreadableFile(
                f"{self.database.path}: table {table} is damaged: {damage}", "copy the file again, or profile again"
            )
        meaning = "a table of the file is damaged: none of it is read"
        self.sink.note("damaged-table", meaning, example=f"{table}: {damage}")
        return False

    def _strings(self) -> tuple[npt.NDArray[np.int64], pa.Array]:
        if not self.holds(STRINGS):
            return np.zeros(0, np.int64), pa.array([], TEXT)
        batches = list(self.database.batches(STRINGS, {"_id_": INT, "value": TEXT}))
        strings = pa.Table.from_batches(batches).drop_null().sort_by("_id_").combine_chunks()
        return strings["_id_"].to_numpy(), strings["value"].combine_chunks()

    def _timed(self, kind: str, rows: Rows, time: str) -> Rows:
        good = pc.fill_null(near(rows[time]), False)
        if "end" in rows.columns:
            never = pc.and_(pc.equal(rows[time], 0), pc.equal(pc.fill_null(rows["end"], 0), 0))
            good = pc.and_not(pc.and_(good, pc.fill_null(near(rows["end"]), True)), pc.fill_null(never, False))
        kept = rows.filter(good)
        if lost := rows.count - kept.count:
            meaning = "events whose time the profiler could not take, or that cannot be: left out"
            self.sink.note("no-time", meaning, count=lost, example=PREFIX + kind)
        if kept.count:
            first = pc.min(kept[time]).as_py()
            self.first_ns = first if self.first_ns is None else min(first, self.first_ns)
        return kept
