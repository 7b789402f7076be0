"""Measures for every launch how long its operation waits, and what is ahead of it on the device."""

from collections.abc import Mapping
from typing import TYPE_CHECKING

import numpy as np
import numpy.typing as npt

from ...store.tables import TABLES
from ...store.trace import Trace
from ..launch_queue import ahead, places

if TYPE_CHECKING:
    import polars as pl
    import pyarrow as pa

VERSION = 1
NEEDS = ()

WORK = ("kernel", "copy", "fill")
COLUMNS = "process, device, stream, start_ns, end_ns, launch, launch_ns, launch_thread"
CALLS = """
select process, thread, start_ns, duration_ns
from api
where thread is not null and duration_ns is not null
"""
NO_CALL = -1

Ints = npt.NDArray[np.int64]
Calls = Mapping[tuple[int, int], tuple[Ints, Ints]]
"""Start and time of the host calls by process and thread, in order; of those that begin together the longest last."""


def mine(trace: Trace) -> Mapping[str, "pa.Table"]:
    """The table `launch_delay`; nothing where no launch is known.

    Operations whose start is not to be trusted are left out. Cost: a few sorts.
    """
    import polars as pl

    there = [name for name in WORK if trace.has(name)]
    if not there:
        return {}
    work = trace.sql(
        " union all ".join(
            f"select {COLUMNS}, '{name}' as kind from {name} where flaw is distinct from 'no start'" for name in there
        )
    )
    if work["launch_ns"].null_count() == len(work):
        return {}
    work = work.sort("process", "device", "launch_ns", "start_ns", "end_ns", "stream", "kind")
    calls = _calls(trace)
    found = pl.concat(_measured(part, calls) for part in work.partition_by("process", "device", maintain_order=True))
    schema = TABLES["launch_delay"].schema
    return {"launch_delay": found.select(schema.names).to_arrow().cast(schema)}


def _calls(trace: Trace) -> Calls:
    if not trace.has("api"):
        return {}
    rows = trace.sql(CALLS).sort("process", "thread", "start_ns", "duration_ns")
    return {
        (int(part["process"][0]), int(part["thread"][0])): (part["start_ns"].to_numpy(), part["duration_ns"].to_numpy())
        for part in rows.partition_by("process", "thread", maintain_order=True)
    }


def _measured(work: "pl.DataFrame", calls: Calls) -> "pl.DataFrame":
    """The operations of a device that have a launch, with what was ahead of them."""
    import polars as pl

    known = (work["launch_ns"].is_not_null() & work["launch"].is_not_null()).to_numpy()
    launch, start, end, stream = (
        work[name].fill_null(0).to_numpy() for name in ("launch_ns", "start_ns", "end_ns", "stream")
    )
    found = ahead(launch, start, end, stream, known)
    rows = work.filter(known)
    call = pl.Series("call_ns", _call_ns(rows, calls))
    return rows.with_columns(
        delay_ns=start[known] - launch[known],
        place=places(rows["launch"].to_numpy(), start[known]),
        queue=found.queue,
        stream_queue=found.stream_queue,
        running=found.running,
        call_ns=pl.when(call != NO_CALL).then(call),
    )


def _call_ns(rows: "pl.DataFrame", calls: Calls) -> Ints:
    """The time of the call that launched each of some operations of a process; of several at once the outer one's."""
    launch, thread = rows["launch_ns"].to_numpy(), rows["launch_thread"].fill_null(NO_CALL).to_numpy()
    result = np.full(len(launch), NO_CALL)
    for (process, one), (start, length) in calls.items():
        index = np.flatnonzero(thread == one) if process == rows["process"].first() else []
        if len(index):
            at = np.searchsorted(start, launch[index], "right") - 1
            result[index] = np.where((at >= 0) & (start[at] == launch[index]), length[at], NO_CALL)
    return result
