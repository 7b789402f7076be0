"""Measures for every launch how long its operation waits, and what is ahead of it on the device."""

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

import numpy as np

from ...store.columns import NO_START
from ...store.tables import TABLES
from ...store.trace import Trace
from ..columns import MISSING, Rows, chosen, joined, numbers, words
from ..launch_queue import ahead, places
from ..lookup import until
from ..sorting import Ints, lexical_order, runs

if TYPE_CHECKING:
    import pyarrow as pa

VERSION = 1
NEEDS = ()

KINDS = ("copy", "fill", "kernel")
COLUMNS = ("process", "device", "stream", "start_ns", "end_ns", "launch", "launch_ns", "launch_thread")
ORDER = ("process", "device", "launch_ns", "start_ns", "end_ns", "stream", "kind")
NO_CALL = -1

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
    work, calls = joined(there), _calls(trace)
    known = (work["launch_ns"] != MISSING) & (work["launch"] != MISSING)
    rows = work if known.all() else chosen(work, known)
    rows = chosen(rows, lexical_order(*(rows[name] for name in ORDER)))
    devices = runs(rows["process"], rows["device"])
    tables = [_measured(chosen(rows, slice(*ends)), work, calls) for ends in devices]
    return {"launch_delay": pa.concat_tables(tables) if tables else TABLES["launch_delay"].schema.empty_table()}


def _work(trace: Trace, kind: str) -> Rows:
    """The operations of a table whose start is known, with `kind`, an index of `KINDS`."""
    lost = words(trace.files[kind], "flaw").are(NO_START)
    rows = {**numbers(trace.files[kind], COLUMNS), "kind": np.full(len(lost), KINDS.index(kind), np.int8)}
    return chosen(rows, ~lost) if lost.any() else rows


def _calls(trace: Trace) -> Calls:
    if not trace.has("api"):
        return {}
    file = trace.files["api"]
    rows = numbers(file, ("process", "thread", "start_ns", "duration_ns"))
    rows = chosen(rows, words(file, "flaw").are(None) & (rows["thread"] != MISSING))
    process, thread, start, length = chosen(rows, lexical_order(*rows.values())).values()
    return {
        (int(process[begin]), int(thread[begin])): (start[begin:stop], length[begin:stop])
        for begin, stop in runs(process, thread)
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
