"""Adds up what runs on each device at once, and what each of its streams does, in one pass over the operations."""

from collections.abc import Mapping
from dataclasses import dataclass
from functools import reduce
from typing import TYPE_CHECKING, Any

import numpy as np

from ...store.tables import TABLES
from ...store.trace import Trace
from ..categories import LEAVES, kernel_categories
from ..columns import words
from ..concurrency import KINDS, Kinds, StreamUse, concurrency
from ..lanes import Lanes, lanes_of
from ..sorting import Ints

if TYPE_CHECKING:
    import pyarrow as pa

VERSION = 1
NEEDS = ()

WORK = ("kernel", "copy", "fill")
PLACE = ["process", "device", "stream"]
COPY = KINDS.index("copy")


@dataclass(frozen=True, eq=False)
class _Work:
    """The operations of a table in its order, those without times to be trusted left out, and their lanes."""

    lanes: Lanes
    start_ns: Ints
    end_ns: Ints
    kind: Kinds


def mine(trace: Trace) -> Mapping[str, "pa.Table"]:
    """The tables `device_time` and `stream_time`; nothing without device work whose times are to be trusted.

    Cost: what it takes to read the columns of times, and one pass over the operations in their stored order.
    """
    import pyarrow as pa

    there = [name for name in WORK if trace.has(name)]
    if not there:
        return {}
    work = reduce(_joined, (_read(trace, name) for name in there))
    devices = sorted(set(zip(work.lanes.process.tolist(), work.lanes.device.tolist(), strict=True)))
    if not devices:
        return {}
    tables: dict[str, list[pa.Table]] = {"device_time": [], "stream_time": []}
    for process, device in devices:
        found = concurrency(work.lanes.of(process, device), work.start_ns, work.end_ns, work.kind)
        for name, columns in (("device_time", _times(found.time_ns)), ("stream_time", _streams(found.streams))):
            size = len(next(iter(columns.values())))
            place = {"process": np.full(size, process), "device": np.full(size, device, np.int32)}
            tables[name].append(pa.table({**place, **columns}).select(TABLES[name].names).cast(TABLES[name].schema))
    return {name: pa.concat_tables(pieces) for name, pieces in tables.items()}


def _times(time: Ints) -> dict[str, Any]:
    kinds, streams = np.nonzero(time)
    sets = {name: kinds >> number & 1 for number, name in enumerate(KINDS)}
    return {**sets, "streams": streams, "time_ns": time[kinds, streams]}


def _streams(use: StreamUse) -> dict[str, Any]:
    import pyarrow as pa

    names = ("stream", "start_ns", "end_ns", "computing", "communicating", "copying", "busy_ns", "gaps", "gap_ns")
    return {
        **{name: getattr(use, name) for name in names},
        "operations": use.computing + use.communicating + use.copying,
        "longest_gap_ns": use.longest_ns,
        "longest_gap_at_ns": pa.array(use.longest_at_ns, mask=use.gaps == 0),
    }


def _joined(one: _Work, other: _Work) -> _Work:
    """The operations of two tables, one after the other."""
    return _Work(
        one.lanes.beside(other.lanes, len(one.start_ns)),
        np.concatenate((one.start_ns, other.start_ns)),
        np.concatenate((one.end_ns, other.end_ns)),
        np.concatenate((one.kind, other.kind)),
    )


def _read(trace: Trace, name: str) -> _Work:
    kept = trace.arrow(name, ["flaw"])["flaw"].is_null().to_numpy()
    columns = [column.to_numpy() for column in trace.arrow(name, PLACE).columns]
    start, end = (column.to_numpy() for column in trace.arrow(name, ["start_ns", "end_ns"]).columns)
    kind = _kinds(trace) if name == "kernel" else np.full(len(start), COPY, np.int8)
    if not kept.all():
        columns, start, end, kind = [column[kept] for column in columns], start[kept], end[kept], kind[kept]
    return _Work(lanes_of(*columns), start, end, kind)


def _kinds(trace: Trace) -> Kinds:
    """The kind of each kernel. Names are few: each is judged once, and they are read as numbers."""
    categories, names = kernel_categories(trace), words(trace.files["kernel"], "name")
    return np.array([LEAVES.get(categories.get(text, ""), 0) for text in names.texts], np.int8)[names.code]
