"""Pairs the allocator's `[memory]` events: an allocation and the release of the same address are one life.

Newer events carry the address and what the allocator holds in total, older ones only the change in bytes. Profilers
write them thread by thread, some of them backwards: what belongs together is known when all are there.
"""

from collections.abc import Callable
from dataclasses import dataclass, fields
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute

from . import kineto_layout as layout
from .kineto_args import with_member
from .kineto_batch import Rows
from .kineto_process import Lanes, Processes
from .kineto_vocabulary import Role
from .memory import give_back
from .ordering import Lanes as Sorted
from .ordering import in_order
from .spool import NOTHING, Spool, compact, whole

__all__ = ["Lifetimes"]

pc: Any = pyarrow.compute  # its functions are made at import, so its types say nothing
Ints = npt.NDArray[np.int64]
Bools = npt.NDArray[np.bool_]
HOST = 0
"""`Device Type` of host memory; the others (1 CUDA, 6 HIP, ...) are devices."""
PIECE = 16_384
"""Events that are paired at once: their arguments are text."""
WORDS = pa.array(["", '{"allocation": ', '{"release": ', ', "release": '])
NO_WORD, ALLOCATION, RELEASE, AND_RELEASE = range(4)


@dataclass(frozen=True)
class _Events:
    """Memory events as columns of one length; NOTHING where a number is missing."""

    pid: Ints
    type: Ints
    device: Ints
    address: Ints
    time: Ints
    thread: Ints
    bytes: Ints
    args: pa.StringArray | pa.DictionaryArray

    @classmethod
    def of(cls, rows: pa.Table) -> "_Events":
        """The events as they were in a table."""

        def column(name: str) -> Any:
            return whole(rows[name]).cast(pa.string()) if name == "args" else rows[name].to_numpy()

        return cls._each(column)

    def __len__(self) -> int:
        return len(self.pid)

    def table(self) -> pa.Table:
        """A column for each field."""
        return pa.table({field.name: getattr(self, field.name) for field in fields(_Events)})

    def taken(self, which: Ints) -> "_Events":
        """Those of the events."""
        return self._each(lambda name: _taken(getattr(self, name), which))

    def after(self, earlier: "_Events") -> "_Events":
        """The earlier events, then these."""
        return self._each(lambda name: _joined(getattr(earlier, name), getattr(self, name)))

    @staticmethod
    def _each(column: Callable[[str], Any]) -> "_Events":
        return _Events(**{field.name: column(field.name) for field in fields(_Events)})

    def by_address(self) -> "_Events":
        """In the order of process, device and address, those of one address by time."""
        keys = [self.address, self.device, self.type, self.pid]
        keys = [key for key in keys if len(key) and (key != key[0]).any()]
        if (self.time[1:] < self.time[:-1]).any():
            keys.insert(0, self.time)
        return self.taken(np.lexsort(keys)) if keys else self

    def same_as_next(self) -> Bools:
        """Which of the sorted events are of the address of the one after them."""
        same = np.zeros(len(self), bool)
        keys = (self.address, self.device, self.type, self.pid)
        same[:-1] = np.logical_and.reduce([key[1:] == key[:-1] for key in keys])
        return same

    def devices(self) -> pa.Array:
        """The device of each; null for host memory."""
        return pa.array(self.device, mask=(self.type == HOST) | (self.device < 0)).cast(pa.int32())


class Lifetimes:
    """Takes memory events batch by batch, which wait on disk. One sort by time in the end, and one a piece by address;
    only the allocations that are open at a time are in memory.
    """

    def __init__(self, processes: Processes) -> None:
        self._processes = processes
        self._waiting: Spool | None = None

    def add(self, rows: Rows, thread: Ints, lanes: Lanes) -> None:
        """Writes the totals as counters; keeps what has an address."""
        events = _Events(
            pid=lanes.pid,
            type=rows.numbers(Role.DEVICE_TYPE),
            device=rows.numbers(Role.DEVICE),
            address=rows.numbers(Role.ADDRESS),
            time=rows.values(layout.TS),
            thread=thread,
            bytes=rows.numbers(Role.BYTES),
            args=compact(rows.leftovers()),
        )
        addressed = rows.has_role(Role.ADDRESS)
        self._counters(events, "memory allocated", rows.numbers(Role.ALLOCATED), lanes)
        self._counters(events, "memory reserved", rows.numbers(Role.RESERVED), lanes)
        self._counters(events, "memory change", np.where(addressed, NOTHING, events.bytes), lanes)
        if addressed.any():
            self._waiting = self._waiting or self._processes.sink.spool("memory")
            kept = events if addressed.all() else events.taken(np.flatnonzero(addressed))
            self._waiting.append(kept.table())

    def finish(self) -> None:
        """Writes the lives, and the allocations that were never released."""
        if self._waiting is None:
            return
        give_back(len(self._waiting))
        places = Sorted([self._waiting], ("pid", "type", "device"))
        order = in_order(places.codes.pop(), self._waiting.numbers("time"))
        still_open: _Events | None = None
        for _, rows in self._waiting.ordered(order, at_once=PIECE):
            events = _Events.of(rows)
            still_open = self._pair(events.after(still_open) if still_open else events, last=False)
        if still_open:
            self._pair(still_open, last=True)
        self._waiting.close()

    def _counters(self, events: _Events, name: str, values: Ints, lanes: Lanes) -> None:
        there = values != NOTHING
        if not there.all():
            which = np.flatnonzero(there)
            events, values, lanes = events.taken(which), values[which], Lanes(lanes.pid[which], lanes.rank[which])
        if len(values):
            columns = {
                "device": events.devices(),
                "name": name,
                "time_ns": events.time,
                "value": values.astype(np.float64),
                "unit": "bytes",
            }
            self._processes.write_host("counter", columns, lanes)

    def _pair(self, events: _Events, *, last: bool) -> _Events:
        """Writes the lives that are complete; the allocations that a later release may still belong to."""
        events = events.by_address()
        following = events.same_as_next()
        born = events.bytes >= 0
        ended = np.zeros(len(events), bool)
        ended[:-1] = following[:-1] & born[:-1] & ~born[1:]
        ends = np.zeros(len(events), bool)
        ends[1:] = ended[:-1]
        waits = born & ~following & (not last)
        self._write(events, np.flatnonzero(~ends & ~waits), ended)
        return events.taken(np.flatnonzero(waits))

    def _write(self, events: _Events, chosen: Ints, ended: Bools) -> None:
        if not len(chosen):
            return
        rows, pairs = events.taken(chosen), ended[chosen]
        released = rows.bytes < 0  # without its allocation, which came before the recording
        after = chosen + pairs
        columns = {
            "device": rows.devices(),
            "kind": "tensor",
            "address": rows.address,
            "bytes": np.abs(rows.bytes),
            "birth_ns": pa.array(rows.time, mask=released),
            "death_ns": pa.array(events.time[after], mask=~pairs & ~released),
            "thread": pa.array(rows.thread, mask=rows.thread == NOTHING),
            "args": _both(rows, events.args.take(pa.array(after, mask=~pairs)), events.thread[after], released, pairs),
        }
        self._processes.write_host("allocation", columns, Lanes.of(rows.pid))


def _taken(column: Any, which: Ints) -> Any:
    return column.take(pa.array(which)) if isinstance(column, pa.Array) else column[which]


def _joined(first: Any, second: Any) -> Any:
    return pa.concat_arrays([first, second]) if isinstance(first, pa.Array) else np.concatenate([first, second])


def _both(rows: _Events, release: pa.Array, thread: Ints, released: Bools, pairs: Bools) -> pa.Array:
    """What the two events said besides, as `{"allocation": ..., "release": ...}`.

    `release` and `thread` are what the second events of `pairs` say; rows that are `released` are a release themselves.
    """
    elsewhere = pairs & (thread != rows.thread) & (thread != NOTHING)
    if elsewhere.any():
        text = pa.array(np.where(elsewhere, thread, 0), mask=~elsewhere).cast(pa.string())
        release = with_member(release, "tid", text).cast(pa.string())
    first = rows.args.is_valid().to_numpy(zero_copy_only=False)
    second = release.is_valid().to_numpy(zero_copy_only=False)
    begin = WORDS.take(pa.array(np.where(first & ~released, ALLOCATION, RELEASE)))
    between = WORDS.take(pa.array(np.where(first & second, AND_RELEASE, NO_WORD)))
    parts = (begin, pc.fill_null(rows.args, ""), between, pc.fill_null(release, ""))
    joined = pc.binary_join_element_wise(*parts, pa.scalar("}"), pa.scalar(""))
    return joined if (first | second).all() else pc.if_else(pa.array(first | second), joined, None)
