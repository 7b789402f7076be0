"""Pairs the allocator's `[memory]` events: an allocation and the release of the same address are one life.

Newer events carry the address and what the allocator holds in total, older ones only the change in bytes.
"""

from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute

from . import kineto_layout as layout
from .kineto_args import in_object, with_member
from .kineto_batch import Rows
from .kineto_process import Lanes, Processes
from .kineto_vocabulary import Role
from .spool import NOTHING

__all__ = ["Lifetimes"]

pc: Any = pyarrow.compute  # its functions are made at import, so its types say nothing
Ints = npt.NDArray[np.int64]
HOST = 0
"""`Device Type` of host memory; the others (1 CUDA, 6 HIP, ...) are devices."""
KEYS = ("pid", "type", "device", "address")


class Lifetimes:
    """Takes memory events batch by batch; keeps only the allocations still open. One sort a batch."""

    def __init__(self, processes: Processes) -> None:
        self._processes = processes
        self._open: pa.Table | None = None

    def add(self, rows: Rows, thread: Ints, lanes: Lanes) -> None:
        """Writes the totals as counters, and the lives that end within the batch."""
        table = pa.table(
            {
                "pid": lanes.pid,
                "type": rows.numbers(Role.DEVICE_TYPE),
                "device": rows.numbers(Role.DEVICE),
                "address": rows.numbers(Role.ADDRESS),
                "time": rows.values(layout.TS),
                "thread": thread,
                "bytes": rows.numbers(Role.BYTES),
                "args": rows.leftovers().dictionary_decode(),
            }
        )
        self._counters(table, "memory allocated", rows.numbers(Role.ALLOCATED), lanes)
        self._counters(table, "memory reserved", rows.numbers(Role.RESERVED), lanes)
        addressed = rows.has_role(Role.ADDRESS)
        change = np.where(addressed, NOTHING, table["bytes"].to_numpy())
        self._counters(table, "memory change", change, lanes)
        new = table.filter(pa.array(addressed))
        self._open = self._pair(pa.concat_tables([self._open, new] if self._open else [new]), last=False)

    def finish(self) -> None:
        """Writes the allocations that were never released."""
        if self._open:
            self._pair(self._open, last=True)

    def _counters(self, table: pa.Table, name: str, values: Ints, lanes: Lanes) -> None:
        there = values != NOTHING
        if there.any():
            device = _device(table).filter(pa.array(there))
            columns = {
                "device": device,
                "name": name,
                "time_ns": table["time"].filter(pa.array(there)),
                "value": values[there].astype(np.float64),
                "unit": "bytes",
            }
            self._processes.write_host("counter", columns, Lanes(lanes.pid[there], lanes.rank[there]))

    def _pair(self, table: pa.Table, *, last: bool) -> pa.Table:
        """Writes the lives that are complete; the allocations that a later release may still belong to."""
        columns = [table[key].to_numpy() for key in KEYS]
        order = np.lexsort((table["time"].to_numpy(), *reversed(columns)))
        table = table.take(pa.array(order)).combine_chunks()
        columns = [column[order] for column in columns]
        size = table["bytes"].to_numpy()
        following = np.zeros(len(size), bool)  # the next row is of the same address
        following[:-1] = np.logical_and.reduce([column[1:] == column[:-1] for column in columns])
        ended = np.zeros(len(size), bool)
        ended[:-1] = following[:-1] & (size[:-1] >= 0) & (size[1:] < 0)
        ends = np.zeros(len(size), bool)
        ends[1:] = ended[:-1]
        waits = (size >= 0) & ~following & (not last)
        self._write(table, np.flatnonzero(~ends & ~waits), ended, size)
        return table.filter(pa.array(waits))

    def _write(self, table: pa.Table, chosen: Ints, ended: npt.NDArray[np.bool_], size: Ints) -> None:
        if not len(chosen):
            return
        rows = table.take(pa.array(chosen))
        released = size[chosen] < 0  # without its allocation, which came before the recording
        pairs = ended[chosen]
        after = table.take(pa.array(np.where(pairs, chosen + 1, 0), mask=~pairs))
        time = rows["time"].to_numpy()
        columns = {
            "device": _device(rows),
            "kind": "tensor",
            "address": rows["address"],
            "bytes": np.abs(size[chosen]),
            "birth_ns": pa.array(time, mask=released),
            "death_ns": pc.if_else(pa.array(released), rows["time"], after["time"]),
            "thread": pa.array(rows["thread"].to_numpy(), mask=rows["thread"].to_numpy() == NOTHING),
            "args": _both(rows, after, released),
        }
        self._processes.write_host("allocation", columns, Lanes.of(rows["pid"].to_numpy()))


def _device(table: pa.Table) -> pa.Array:
    device = table["device"].to_numpy()
    return pa.array(device, mask=(table["type"].to_numpy() == HOST) | (device < 0)).cast(pa.int32())


def _both(rows: pa.Table, after: pa.Table, released: npt.NDArray[np.bool_]) -> pa.Array:
    """What the two events said besides, as `{"allocation": ..., "release": ...}`."""
    nothing = pa.nulls(len(rows), pa.string())
    first, second = rows["args"].combine_chunks(), after["args"].combine_chunks()
    elsewhere = pc.not_equal(after["thread"], rows["thread"]).combine_chunks()
    thread = pc.if_else(elsewhere, after["thread"].combine_chunks().cast(pa.string()), nothing)
    second = with_member(second, "tid", thread)
    swapped = pa.array(released)
    birth = in_object("allocation", pc.if_else(swapped, nothing, first))
    return pc.coalesce(
        with_member(birth, "release", pc.if_else(swapped, nothing, second)),
        in_object("release", pc.if_else(swapped, first, nothing)),
    )
