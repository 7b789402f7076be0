"""Holds the events of this process until they are written: bounded, from any thread, and without a thread of its own.

A thread of ours would make `fork` in the user's program warn, so rows are written by the thread that adds one: at once
where few come, else together with those before it, several times in each period of writing; and at the end.
"""

from __future__ import annotations

import itertools
import threading
import weakref
from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, TypeVar

from .chunks import NONE, ROWS, TABLES
from .process import clocks, now
from .spool import Spool

if TYPE_CHECKING:
    Entry = tuple["Place", int, int, int]  # whose, its depth, its name, and when it began
    Call = tuple[int, object, list[Entry]]  # the id of what is called, the code that calls, and its ranges

__all__ = ["LONGEST_NAME", "MODULE", "PHASE", "RANGE", "Place", "Recording"]

_Item = TypeVar("_Item")

RANGE, MODULE, PHASE, STEP, MARK = 0, 1, 2, 3, 4
"""What a row of `range` is."""

LIMIT = 100_000
"""Cells of a table after which they are written: 16,666 ranges, or 11,111 operators."""

MOST = 4 * LIMIT
"""Cells of a table after which further rows are dropped, as when another thread takes long to write."""

MOST_TEXT, TEXT_COST = 1 << 26, 100
"""Bytes of names, and what one costs beside its text, after which all others get one name: a program that numbers its
ranges may run for weeks."""

LONGEST_NAME, LONGEST_ERROR = 1 << 14, 500
PROMPT = 10
"""Writes of rows in a period, on average and at once: what a program does before it waits and crashes is there then."""

CLOCKS_NS = 1_000_000_000


class Place:
    """Where a thread stands: how deep, what it pushed, and in which modules and optimizers it is."""

    def __init__(self) -> None:
        self.ident = threading.get_ident()
        self.thread = threading.get_native_id()
        self.depth = 0
        self.pushed: list[Entry] = []
        self.modules: list[Call] = []
        self.optimizers: list[Call] = []
        self.sequence = -1
        self.observed = 0


class _Here(threading.local):
    """The place of the thread that asks."""

    def __init__(self, places: weakref.WeakSet[Place]) -> None:
        self.place = Place()
        places.add(self.place)


class Recording:
    """The events of one process since `begin`, of which those not written yet are held here."""

    def __init__(self, directory: str, hooks: Sequence[str], *, period_ns: int, limit: int = 0) -> None:
        self._places: weakref.WeakSet[Place] = weakref.WeakSet()
        self._pushed: set[Place] = set()  # those of threads that may have ended with it
        self.here = _Here(self._places)
        self.began = self.stepped = self.due = self._prompt = now()
        self._period = period_ns
        self.sources: list[Callable[[Recording, bool], None]] = []
        self.counts = dict.fromkeys(("unmatched_pops", "open", "errors", "skipped_threads", "allocator_overruns"), 0)
        self.stepper: object = None
        self._error: str | None = None
        self.spool = Spool(directory, hooks)
        self._limit = limit
        self._full = False
        self._closed = False  # says nothing more before the end
        # Cells, row after row: a tuple for each row would have the garbage collector run for every 700 of them.
        self._tables: dict[str, list[int]] = {table: [] for table in ROWS}
        self._taken = dict.fromkeys(ROWS, 0)
        self._lost = dict.fromkeys(ROWS, 0)
        self._texts: list[Mapping[str, object]] = []
        self._numbers = itertools.count()
        self._names: dict[str, int] = {}
        self._room = MOST_TEXT
        self._new_names: list[tuple[int, bytes]] = []
        self._writing = threading.Lock()
        self._told_clocks = self.began

    def begin(self) -> None:
        """Begins or goes on: what began earlier is not recorded."""
        self.began = self.stepped = now()
        self.due, self._prompt = self.began + self._period, self.began - self._period

    def enter(self, name: object) -> Entry:
        """Opens a range of this thread."""
        place = self.here.place
        place.depth += 1
        return place, place.depth - 1, self.name(name), now()

    def leave(self, entry: Entry, kind: int = RANGE) -> None:
        """Closes a range, in whatever order and from whatever thread."""
        end = now()
        place, depth, name, start = entry
        place.depth -= 1
        if start < self.began:
            self.counts["open"] += 1
        else:
            self.keep("range", (start, end, place.thread, depth, name, kind), end)

    def push(self, name: object) -> None:
        """Opens a range that the same thread's `pop` closes."""
        place = self.here.place
        place.pushed.append(self.enter(name))
        self._pushed.add(place)

    def pop(self) -> None:
        """Closes the range that was pushed last, if any."""
        place = self.here.place
        if not place.pushed:
            self.counts["unmatched_pops"] += 1
            return
        self.leave(place.pushed.pop())
        if not place.pushed:
            self._pushed.discard(place)

    def pop_all(self) -> None:
        """Closes what this thread pushed and the end of the program leaves open."""
        while self.here.place.pushed:
            self.pop()

    def mark(self, name: object) -> None:
        """Records a moment."""
        place, time = self.here.place, now()
        self.keep("range", (time, time, place.thread, place.depth, self.name(name), MARK), time)

    def step(self, by: object) -> None:
        """Ends an iteration, which began where the one before ended. `by` keeps who said so."""
        self.stepper = by
        place, end = self.here.place, now()
        start, self.stepped = self.stepped, end
        self.keep("range", (start, end, place.thread, 0, self.name("step"), STEP), end)

    def keep(self, table: str, row: tuple[int, ...], time: int) -> None:
        """Holds a row, and writes what there is if it is time."""
        cells = self._tables[table]
        if len(cells) < MOST:
            cells.extend(row)
        else:
            self._lost[table] += 1
        if time >= self.due or len(cells) >= LIMIT:
            self.flush()
        elif time >= self._prompt:
            self._prompt = max(self._prompt, time - self._period) + self._period // PROMPT
            self.flush(rows_only=True)

    def hold(self, table: str, row: tuple[int, ...]) -> None:
        """Holds a row that a source gives while all are being written."""
        self._tables[table].extend(row)

    def tell(self, said: Mapping[str, object]) -> None:
        """Holds a JSON object, which is written with the next rows."""
        self._texts.append(said)

    def name(self, text: object) -> int:
        """The number of a text, which is written before the rows that use it."""
        try:
            if type(text) is not str:
                text = str(text)
            number = self._names.get(text)
            return self._new_name(text) if number is None else number
        except Exception as error:  # noqa: BLE001 an object whose text cannot be made must not stop the program
            self.trouble(error)
            return NONE

    def trouble(self, error: Exception) -> None:
        """Counts what went wrong in the agent, and keeps the last of it to be told in the file."""
        self.counts["errors"] += 1
        self._error = type(error).__name__
        try:
            self._error += f": {error}"[:LONGEST_ERROR]
        except Exception:  # noqa: BLE001 an error of the program's own kind, which fails again when it is asked
            return

    def flush(self, stopped: str | None = None, final: bool = False, rows_only: bool = False) -> None:
        """Writes what is held, unless another thread is at it; the last time waits a second for that one."""
        if not self._writing.acquire(timeout=1.0 if final else 0):
            return
        try:
            self._write_rows(rows_only, final)
            if self._closed and not final:
                return
            if not rows_only or self._full or self.spool.error:
                self._write_state(stopped, final)
        except Exception as error:  # noqa: BLE001 nothing that goes wrong here may stop the program
            self.trouble(error)
        finally:
            self._writing.release()

    def _new_name(self, text: str) -> int:
        # Without a lock, which code that a signal or the garbage collector runs in between would wait for forever: two
        # threads that meet a text at once number it twice, which the file allows.
        self._room -= len(text) + TEXT_COST
        if self._room < 0:
            text = "(too many names)"
            if text in self._names:
                return self._names[text]
        number = next(self._numbers)
        self._new_names.append((number, text[:LONGEST_NAME].encode("utf-8", "replace")))
        self._names[text] = number
        return number

    def _write_rows(self, rows_only: bool, final: bool) -> None:
        if not rows_only:
            self.due = now() + self._period
        for source in () if rows_only else self.sources:
            try:
                source(self, final)
            except Exception as error:  # noqa: BLE001 what one source cannot give must not keep back the rows of others
                self.trouble(error)
        batches = {table: _taken(cells) for table, cells in self._tables.items()}
        names = _taken(self._new_names)  # after the rows, so that no name of theirs is missing
        if not any(batches.values()) and not self.spool.bytes:
            self._new_names[:0] = names  # no folder for a process without events
            return
        texts = _taken(self._texts)
        for table, cells in batches.items():
            self._taken[table] += len(cells) // len(TABLES[table][1])
        if not self._full:
            self._add(names, self._fitting(names, batches), texts)
        for error in self.spool.write():
            self.trouble(error)

    def _add(
        self,
        names: Sequence[tuple[int, bytes]],
        batches: Mapping[str, Sequence[int]],
        texts: Sequence[Mapping[str, object]],
    ) -> None:
        if names:
            self.spool.names(names)
        for table, cells in batches.items():
            if cells:
                self.spool.rows(table, cells)
        for said in texts:
            self.spool.text(said)

    def _fitting(self, names: Sequence[tuple[int, bytes]], batches: Mapping[str, list[int]]) -> dict[str, list[int]]:
        """As many rows as there is room for below the limit; the others are counted as dropped."""
        if not self._limit:
            return dict(batches)
        room = self._limit - self.spool.bytes - sum(8 + len(text) for _, text in names)
        fitting: dict[str, list[int]] = {}
        for table, cells in batches.items():
            width = len(TABLES[table][1])
            rows = min(len(cells) // width, max(room, 0) // ROWS[table])
            room -= rows * ROWS[table]
            fitting[table] = cells[: rows * width]
            self._full = self._full or len(fitting[table]) < len(cells)
        self._full = self._full or room <= 0
        return fitting

    def _write_state(self, stopped: str | None, final: bool) -> None:
        time = now()
        if not self.spool.bytes:
            return
        if final or time - self._told_clocks > CLOCKS_NS:
            self._told_clocks = time
            self.spool.text(clocks())
        self.spool.text(self._state(final, stopped))
        self.spool.write()
        if self.spool.error is not None:
            self.spool.last_text(self._state(final, stopped))
        self._closed = self._full or self.spool.error is not None

    def _state(self, final: bool, stopped: str | None) -> Mapping[str, object]:
        failed, kept = self.spool.error is not None, self.spool.kept
        records = {table: taken + self._lost[table] for table, taken in self._taken.items()}
        counts = dict(self.counts)
        if final:  # what the end of the program leaves open
            counts["open"] += sum(place.depth for place in {*self._places, *self._pushed})
        return {
            "what": "state",
            "final": final or failed,
            "records": records,
            "kept": dict(kept),
            "dropped": sum(records.values()) - sum(kept.values()),
            **counts,
            "error": self.spool.error or self._error,
            "spool_bytes": self.spool.bytes,
            "stopped": "disk" if failed else "limit" if self._full else stopped,
        }


def _taken(items: list[_Item]) -> list[_Item]:
    """Takes what the list holds now; threads that append meanwhile lose nothing."""
    count = len(items)
    taken = items[:count]
    del items[:count]
    return taken
