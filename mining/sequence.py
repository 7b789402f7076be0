"""The operations of a trace as sequences of symbols, and back.

A symbol stands for equal operations: for a kernel its name, grid and block; for a copy its direction; for a fill the
fact that it is one; and the stream. Ordinals count the operations of a sequence from 0; runs are not folded here.
"""

from collections.abc import Sequence as Several
from dataclasses import dataclass, field
from functools import lru_cache
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
import numpy.typing as npt

from ..store.errors import Error
from ..store.query import run
from ..store.trace import Trace
from .order import MISSING, merge_order

if TYPE_CHECKING:
    import polars as pl

__all__ = ["ENCODINGS", "OPERATIONS", "SYMBOLS", "Sequence", "sequences"]

Ints = npt.NDArray[np.int64]

ENCODINGS = ("name", "grid", "block", "stream")
"""What equal operations have in common, each with all before it; docs/encoding.md says what each is good for."""
SYMBOLS = "stream"
"""The encoding that is used where none is asked for."""

GRID, BLOCK = ("grid_x", "grid_y", "grid_z"), ("block_x", "block_y", "block_z")
SHAPE = {"name": (), "grid": GRID, "block": (*GRID, *BLOCK), "stream": (*GRID, *BLOCK)}
"""The columns of a kernel that its symbol tells apart, by encoding."""
KERNEL = 2
"""The rank of kernels among operations that are alike in all times."""
NONE = ", ".join(f"null::integer as {name}" for name in (*GRID, *BLOCK))
OPERATIONS = {
    "kernel": f"'kernel' as kind, {KERNEL} as rank, name, {', '.join((*GRID, *BLOCK))}",
    "copy": f"'copy' as kind, 0 as rank, kind as name, {NONE}",
    "fill": f"'fill' as kind, 1 as rank, null::varchar as name, {NONE}",
}
"""The tables of device work, and what of them makes symbols, as SQL."""
COLUMNS = "process, device, stream, start_ns, end_ns, launch, launch_ns, launch_thread, graph_node"
KEPT = ("process", "device", "stream", "start_ns", "end_ns", "launch", "launch_ns", "launch_thread", "kind", "row")
WIDEST = 1 << 62


@dataclass(frozen=True)
class Sequence:
    """Operations of one process in one order; all arrays have one entry per operation.

    `stream` is None where the streams of the device are merged in launch order; `launch_ns` is None where they are not,
    and where only the order of the launches is known.
    `labels[symbols[i]]` names operation i for a reader, `keys[symbols[i]]` is its symbol as text, which is the same in
    every trace. `rows` holds the operations themselves, in order: `row` counts those of the table `kind` from 1.
    """

    number: int
    process: int
    device: int
    stream: int | None
    symbols: npt.NDArray[np.int32]
    start_ns: Ints
    end_ns: Ints
    launch_ns: Ints | None
    labels: list[str]
    rows: "pl.DataFrame"
    keys: list[str] = field(default_factory=list[str])


def sequences(trace: Trace, *, symbols: str = SYMBOLS) -> list[Sequence]:
    """The sequences of a trace, numbered by process, device and first operation; empty without device work with times.

    `symbols` is one of `ENCODINGS`. The streams of a device merge in launch order where the launches are known, else
    each stands alone (`mining.order` says when). Operations that were queued before the recording began are in none
    of the merged ones. A stream that stands alone is mined for its kernels: copies are the work of other engines, and
    only launches say where they belong. The arrays are not to be changed. Cost: one pass over the operations, and sorts
    of what is nearly sorted.
    """
    if symbols not in ENCODINGS:
        raise Error(f"there are no symbols by {symbols}", f"there are: {', '.join(ENCODINGS)}")
    files = tuple((name, trace.files[name]) for name in OPERATIONS if trace.has(name))
    state = tuple(_state(path) for _, path in files)
    return list(_read(trace.id, files, state, symbols)) if files else []


def _state(path: Path) -> tuple[int, ...]:
    """What is different when a file is another one: an archive never changes one, but may put one in its place."""
    if not path.is_file():
        return ()
    found = path.stat()
    return found.st_ino, found.st_size, found.st_mtime_ns


@lru_cache(maxsize=1)  # one analysis after the other asks for those of the same trace
def _read(
    trace_id: str, files: tuple[tuple[str, Path], ...], state: tuple[tuple[int, ...], ...], encoding: str
) -> tuple[Sequence, ...]:
    """The sequences from those files in that state."""
    query = " union all ".join(
        f"select {COLUMNS}, {OPERATIONS[name]}, row from (select *, row_number() over () as row from {name}) "
        "where flaw is distinct from 'no start'"
        for name, _ in files
    )
    work = run({trace_id: dict(files)}, query)
    return tuple(_sequences(work, encoding)) if len(work) else ()


def _sequences(work: "pl.DataFrame", encoding: str) -> list[Sequence]:
    columns = ("process", "device", "stream", "start_ns", "end_ns", "rank", "row")
    process, device, stream, start, end, rank, row = (work[name].cast(int).to_numpy() for name in columns)
    order = np.lexsort((row, rank, stream, end, start, device, process))
    symbol, labels, keys = _symbols(work, encoding, order)
    timed = work["launch_ns"].null_count() < len(work)
    launch = work["launch_ns" if timed else "launch"].cast(int).fill_null(MISSING).to_numpy()
    node = work["graph_node"].fill_null(0).to_numpy()
    place = process[order], device[order]
    cuts = np.flatnonzero((place[0][1:] != place[0][:-1]) | (place[1][1:] != place[1][:-1])) + 1
    kept = work.select(KEPT)
    found: list[Sequence] = []
    for part in np.split(order, cuts):
        for ordered in merge_order(launch[part], start[part], stream[part], node[part]).sequences:
            index = part[ordered.index]
            merged = ordered.launch_ns is not None
            if not merged:
                index = index[rank[index] == KERNEL]
            if len(index):
                rows = _rows(kept, index, symbol[index])
                times = start[index], end[index], ordered.launch_ns if timed else None
                found.append(_sequence(len(found), symbol[index], times, labels, rows, keys, merged=merged))
    return found


def _sequence(
    number: int,
    symbols: npt.NDArray[np.int32],
    times: tuple[Ints, Ints, Ints | None],
    labels: list[str],
    rows: "pl.DataFrame",
    keys: list[str],
    *,
    merged: bool,
) -> Sequence:
    one_stream = not merged and rows["stream"].n_unique() == 1
    process, device, stream = (int(rows[name][0]) for name in ("process", "device", "stream"))
    return Sequence(number, process, device, stream if one_stream else None, symbols, *times, labels, rows, keys)


def _rows(work: "pl.DataFrame", index: Ints, symbols: npt.NDArray[np.int32]) -> "pl.DataFrame":
    """Those of the operations, in that order, with their symbols."""
    import polars as pl

    rows = work if _in_place(index, len(work)) else work[index]
    return rows.with_columns(pl.Series("symbol", symbols))


def _in_place(index: Ints, count: int) -> bool:
    return len(index) == count and bool((index[1:] > index[:-1]).all())


def _symbols(work: "pl.DataFrame", encoding: str, order: Ints) -> tuple[npt.NDArray[np.int32], list[str], list[str]]:
    """The symbol of each operation, numbered by first appearance in that order; what names each, and its key."""
    import polars as pl

    names = work["name"].cast(pl.Categorical).to_physical().cast(pl.Int64)
    columns = [names.fill_null(-1).to_numpy(), work["rank"].to_numpy()]
    columns += [work[name].fill_null(-1).to_numpy() for name in SHAPE[encoding]]
    # Streams are told apart by place among the streams of their device, so that ranks have the same symbols.
    lanes = _lanes(work) if encoding == "stream" else None
    columns += [] if lanes is None else [lanes]
    number, _ = _numbered(columns)
    again, first = _numbered([number[order]])
    symbol = np.empty(len(order), np.int32)
    symbol[order] = again
    firsts = order[first]
    shown = work.select("kind", "name", *SHAPE[encoding])[firsts].rows()
    labels = [_label(kind, name) for kind, name, *_ in shown]
    keys = ["/".join("" if part is None else str(part) for part in row) for row in shown]
    if lanes is not None:
        keys = [f"{lane}/{key}" for lane, key in zip(lanes[firsts].tolist(), keys, strict=True)]
    return symbol, labels, keys


def _label(kind: str, name: str | None) -> str:
    if kind == "kernel":
        return "(no name)" if name is None else name
    return kind if name is None else f"{kind} {name}"


def _lanes(work: "pl.DataFrame") -> Ints:
    """The place of each operation's stream among the streams of its device."""
    columns = [work[name].to_numpy() for name in ("process", "device", "stream")]
    number, first = _numbered(columns)
    process, device, stream = (column[first] for column in columns)
    order = np.lexsort((stream, device, process))
    fresh = (process[order][1:] != process[order][:-1]) | (device[order][1:] != device[order][:-1])
    at = np.arange(len(order))
    begin = np.maximum.accumulate(np.where(np.r_[True, fresh], at, 0))
    lane = np.empty(len(order), np.int64)
    lane[order] = at - begin + 1
    return lane[number]


def _numbered(columns: Several[npt.NDArray[np.integer]]) -> tuple[npt.NDArray[np.int32], Ints]:
    """Numbers the different rows of some columns by first appearance, and where each appears first.

    Columns are packed into one integer as far as it holds them; then what is there so far is numbered.
    """
    key, size = np.zeros(len(columns[0]), np.int64), 1
    for column in columns:
        low, high = int(column.min()), int(column.max())
        if size * (high - low + 1) >= WIDEST:
            key, size = _encoded(key)
        if size * (high - low + 1) >= WIDEST:
            column, count = _encoded(column.astype(np.int64))
            low, high = 0, count - 1
        if high > low:
            key = key * (high - low + 1) + (column.astype(np.int64, copy=False) - low)  # in 32 bits it can overflow
            size *= high - low + 1
    number, count = _encoded(key)
    first = np.empty(count, np.int64)
    first[number[::-1]] = np.arange(len(number))[::-1]  # of several the last assignment stays: the first appearance
    return number.astype(np.int32), first


def _encoded(values: Ints) -> tuple[Ints, int]:
    """The values numbered by first appearance, and how many there are."""
    import pyarrow as pa

    found = pa.array(values).dictionary_encode()
    return found.indices.to_numpy().astype(np.int64), len(found.dictionary)
