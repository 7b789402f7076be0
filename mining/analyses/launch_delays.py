"""Measures for every launch how long its operation waits, and what is ahead of it on the device."""

from collections.abc import Mapping
from itertools import pairwise
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from ...store.columns import NO_START
from ...store.tables import TABLES
from ...store.trace import Trace
from ..columns import MISSING, numbers, words
from ..launch_queue import ahead, places
from ..lookup import until
from ..sorting import Ints, lexical_order

if TYPE_CHECKING:
    import pyarrow as pa

VERSION = 1
NEEDS = ()

KINDS = ("copy", "fill", "kernel")
COLUMNS = ("process", "device", "stream", "start_ns", "end_ns", "launch", "launch_ns", "launch_thread")
ORDER = ("process", "device", "launch_ns", "start_ns", "end_ns", "stream", "kind")
NO_CALL = -1

Rows = Mapping[str, npt.NDArray[Any]]
Calls = Mapping[tuple[int, int], tuple[Ints, Ints]]
"""Start and time of the host calls by process and thread, in order; of those that begin together the longest last."""


def mine(trace: Trace) -> Mapping[str, "pa.Table"]:
    """The table `launch_delay`; nothing where no launch is known.

    Operations whose start is not to be trusted are left out. Cost: a few sorts.
    """
    import pyarrow as pa

    there = [_work(trace, kind) for kind in KINDS if trace.has(kind)]
    if not any((part["launch_ns"] != MISSING).any() for part in there):
        return {}
    work = there[0]
    if len(there) > 1:
        work = {name: np.concatenate([part[name] for part in there]) for name in work}
    known = (work["launch_ns"] != MISSING) & (work["launch"] != MISSING)
    rows = work if known.all() else _kept(work, known)
    rows = _kept(rows, lexical_order(*(rows[name] for name in ORDER)))
    process, device, calls = rows["process"], rows["device"], _calls(trace)
    cuts = np.flatnonzero((process[1:] != process[:-1]) | (device[1:] != device[:-1])) + 1
    parts = [_kept(rows, slice(*ends)) for ends in pairwise([0, *cuts.tolist(), len(process)])]
    tables = [_measured(part, work, calls) for part in parts if len(part["process"])]
    return {"launch_delay": pa.concat_tables(tables) if tables else TABLES["launch_delay"].schema.empty_table()}


def _work(trace: Trace, kind: str) -> Rows:
    """The operations of a table whose start is known, with `kind`, an index of `KINDS`."""
    columns: dict[str, npt.NDArray[Any]] = {**numbers(trace.files[kind], COLUMNS)}
    columns["kind"] = np.full(len(columns["process"]), KINDS.index(kind), np.int8)
    lost = words(trace.files[kind], "flaw").are(NO_START)
    return _kept(columns, ~lost) if lost.any() else columns


def _kept(rows: Rows, which: Any) -> Rows:
    return {name: column[which] for name, column in rows.items()}


def _calls(trace: Trace) -> Calls:
    if not trace.has("api"):
        return {}
    file = trace.files["api"]
    rows = numbers(file, ("process", "thread", "start_ns", "duration_ns"))
    rows = _kept(rows, words(file, "flaw").are(None) & (rows["thread"] != MISSING))
    rows = _kept(rows, lexical_order(*rows.values()))
    process, thread = rows["process"], rows["thread"]
    cuts = np.flatnonzero((process[1:] != process[:-1]) | (thread[1:] != thread[:-1])) + 1
    return {
        (int(process[begin]), int(thread[begin])): (rows["start_ns"][begin:stop], rows["duration_ns"][begin:stop])
        for begin, stop in pairwise([0, *cuts.tolist(), len(process)])
        if begin < stop
    }


def _measured(rows: Rows, work: Rows, calls: Calls) -> "pa.Table":
    """The operations of a device that have a launch, in its order, with what was ahead of them."""
    import pyarrow as pa

    size, launch, start = len(rows["process"]), rows["launch_ns"], rows["start_ns"]
    others = (work["process"] == rows["process"][0]) & (work["device"] == rows["device"][0])
    others &= (work["launch_ns"] == MISSING) | (work["launch"] == MISSING)
    times = {name: np.r_[rows[name], work[name][others]] for name in ("launch_ns", "start_ns", "end_ns", "stream")}
    known = np.arange(size + int(others.sum())) < size
    found = ahead(times["launch_ns"], times["start_ns"], times["end_ns"], times["stream"], known)
    call = _call_ns(rows, calls)
    columns: dict[str, Any] = {
        **rows,
        "kind": pa.DictionaryArray.from_arrays(rows["kind"].astype(np.int32), list(KINDS)),
        "delay_ns": start - launch,
        "place": places(rows["launch"], start),
        "queue": found.queue,
        "stream_queue": found.stream_queue,
        "running": found.running,
        "call_ns": pa.array(call, mask=call == NO_CALL),
    }
    schema = TABLES["launch_delay"].schema
    return pa.table([columns[name] for name in schema.names], names=schema.names).cast(schema)


def _call_ns(rows: Rows, calls: Calls) -> Ints:
    """The time of the call that launched each of some operations of a process; of several at once the outer one's."""
    launch, thread = rows["launch_ns"], rows["launch_thread"]
    result = np.full(len(launch), NO_CALL)
    for (process, one), (start, length) in calls.items():
        index = np.flatnonzero(thread == one) if process == rows["process"][0] else []
        if len(index):
            at = until(start, launch[index], including=True) - 1
            result[index] = np.where((at >= 0) & (start[at] == launch[index]), length[at], NO_CALL)
    return result
