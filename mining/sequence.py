"""The operations of a trace as sequences of symbols, and back.

A symbol stands for equal operations: for a kernel its name, grid and block; for a copy its direction; for a fill the
fact that it is one; and the stream. Ordinals count the operations of a sequence from 0; runs are not folded here.
"""

from dataclasses import dataclass, field, replace
from functools import lru_cache
from itertools import accumulate
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
import numpy.typing as npt

from ..store.columns import NO_START
from ..store.errors import Error
from ..store.trace import Trace
from .columns import MISSING, Rows, Words, chosen, joined, numbers, state_of, words
from .numbering import numbered
from .order import merge_order
from .sorting import Ints, lexical_order, runs

if TYPE_CHECKING:
    import polars as pl

__all__ = ["ENCODINGS", "OPERATIONS", "SYMBOLS", "Sequence", "sequences"]

ENCODINGS = ("name", "grid", "block", "stream")
"""What equal operations have in common, each with all before it; docs/encoding.md says what each is good for."""
SYMBOLS = "stream"
"""The encoding that is used where none is asked for."""

GRID, BLOCK = ("grid_x", "grid_y", "grid_z"), ("block_x", "block_y", "block_z")
SHAPE = {"name": (), "grid": GRID, "block": (*GRID, *BLOCK), "stream": (*GRID, *BLOCK)}
"""The columns of a kernel that its symbol tells apart, by encoding."""
OPERATIONS = ("kernel", "copy", "fill")
"""The tables of device work."""
RANK = {"copy": 0, "fill": 1, "kernel": 2}
"""The order of operations that are alike in all times."""
NAMES = {"kernel": "name", "copy": "kind"}
"""The column that names an operation, in the tables that have one."""
COLUMNS = ("process", "device", "stream", "start_ns", "end_ns", "launch_ns", "launch_thread", "launch", "graph_node")
PLACE, KEPT = COLUMNS[:3], COLUMNS[2:7]


@dataclass(frozen=True)
class Sequence:
    """Operations of one process in one order; all arrays have one entry per operation.

    `stream` is None where the streams of the device are merged in launch order; `launch_ns` is None where they are not,
    and where only the order of the launches is known.
    `labels[symbols[i]]` names operation i for a reader, `keys[symbols[i]]` is its symbol as text, which is the same in
    every trace. `rows` holds the operations themselves, in order: `row` counts those of the table `kind` from 1, and
    `launch_ns` and `launch_thread` are `MISSING` where they are not known.
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
    state = tuple(state_of(path) for _, path in files)
    return list(_read(files, state, symbols)) if files else []


@lru_cache(maxsize=1)  # one analysis after the other asks for those of the same trace
def _read(
    files: tuple[tuple[str, Path], ...], state: tuple[tuple[int, ...], ...], encoding: str
) -> tuple[Sequence, ...]:
    """The sequences from those files in that state."""
    parts = [part for name, path in files if len((part := _work(name, path, SHAPE[encoding])).row)]
    return tuple(_sequences(_joined(parts), encoding == "stream")) if parts else ()


@dataclass(frozen=True, eq=False)
class _Work:
    """Operations as their files have them: columns, rank, row in the table, and what each is, apart from its stream.

    `what` numbers what there is, and `shown` tells its kind, name and shape.
    """

    columns: Rows
    rank: Ints
    row: Ints
    what: Ints
    shown: list[tuple[str | int | None, ...]]


def _work(name: str, path: Path, shape: tuple[str, ...]) -> _Work:
    """The operations of a table whose start is known."""
    own = shape if name == "kernel" else ()
    columns, row = numbers(path, (*COLUMNS, *own)), np.flatnonzero(~words(path, "flaw").are(NO_START))
    called = words(path, NAMES[name]) if name in NAMES else Words(np.zeros(len(columns["process"]), np.int32), [None])
    code = called.code
    if len(row) < len(code):
        columns, code = chosen(columns, row), code[row]
    if not len(row):
        return _Work(columns, row, row, row, [])
    what, first = numbered([code, *(columns[one] for one in own)])
    forms = [columns.pop(one)[first].tolist() for one in own] or [[MISSING] * len(first) for _ in shape]
    shown = [
        (name, called.texts[one], *(None if number == MISSING else number for number in form))
        for one, *form in zip(code[first].tolist(), *forms, strict=True)
    ]
    return _Work(columns, np.full(len(row), RANK[name]), row + 1, what, shown)


def _joined(parts: list[_Work]) -> _Work:
    """The operations of several tables, one after the other."""
    if len(parts) == 1:
        return parts[0]
    before = accumulate((len(part.shown) for part in parts), initial=0)
    return _Work(
        joined([part.columns for part in parts]),
        np.concatenate([part.rank for part in parts]),
        np.concatenate([part.row for part in parts]),
        np.concatenate([part.what + more for part, more in zip(parts, before, strict=False)]),
        [one for part in parts for one in part.shown],
    )


def _sequences(work: _Work, by_stream: bool) -> list[Sequence]:
    columns = work.columns
    process, device, stream, start, end = (columns[name] for name in COLUMNS[:5])
    order = lexical_order(process, device, start, end, stream, work.rank, work.row)
    symbol, labels, keys = _symbols(work, order, by_stream)
    timed = bool((columns["launch_ns"] != MISSING).any())
    launch, node = columns["launch_ns" if timed else "launch"], columns["graph_node"]
    node = np.where(node == MISSING, 0, node)
    found: list[Sequence] = []
    for begin, stop in runs(process[order], device[order]):
        part = order[begin:stop]
        for ordered in merge_order(launch[part], start[part], stream[part], node[part]).sequences:
            index = part[ordered.index]
            if ordered.launch_ns is None:
                index = index[work.rank[index] == RANK["kernel"]]
            if len(index):
                one = _sequence(len(found), work, index, ordered.launch_ns, symbol[index], labels, keys)
                found.append(one if timed else replace(one, launch_ns=None))
    return found


def _sequence(
    number: int,
    work: _Work,
    index: Ints,
    launch_ns: Ints | None,
    symbols: npt.NDArray[np.int32],
    labels: list[str],
    keys: list[str],
) -> Sequence:
    """The sequence of those operations, in that order."""
    import polars as pl

    process, device, stream = (int(work.columns[name][index[0]]) for name in PLACE)
    columns = {"process": np.full(len(index), process), "device": np.full(len(index), device)}
    columns |= {name: work.columns[name][index] for name in KEPT}
    kinds = pl.Series(work.rank[index].astype(np.uint8)).cat.to(pl.Enum(list(RANK)))
    rows = pl.DataFrame({**columns, "kind": kinds, "row": work.row[index], "symbol": symbols})
    one_stream = launch_ns is None and bool((columns["stream"] == stream).all())
    start, end = columns["start_ns"], columns["end_ns"]
    return Sequence(
        number, process, device, stream if one_stream else None, symbols, start, end, launch_ns, labels, rows, keys
    )


def _symbols(work: _Work, order: Ints, by_stream: bool) -> tuple[npt.NDArray[np.int32], list[str], list[str]]:
    """The symbol of each operation, numbered by first appearance in that order; what names each, and its key."""
    # Streams are told apart by place among the streams of their device, so that ranks have the same symbols.
    lanes = _lanes(work) if by_stream else None
    number, _ = numbered([work.what] if lanes is None else [work.what, lanes])
    again, first = numbered([number[order]])
    symbol = np.empty(len(order), np.int32)
    symbol[order] = again
    firsts = order[first]
    shown = [work.shown[what] for what in work.what[firsts].tolist()]
    labels = [_label(str(kind), None if name is None else str(name)) for kind, name, *_ in shown]
    keys = ["/".join("" if part is None else str(part) for part in row) for row in shown]
    if lanes is not None:
        keys = [f"{lane}/{key}" for lane, key in zip(lanes[firsts].tolist(), keys, strict=True)]
    return symbol, labels, keys


def _label(kind: str, name: str | None) -> str:
    if kind == "kernel":
        return "(no name)" if name is None else name
    return kind if name is None else f"{kind} {name}"


def _lanes(work: _Work) -> Ints:
    """The place of each operation's stream among the streams of its device."""
    columns = [work.columns[name] for name in PLACE]
    number, first = numbered(columns)
    process, device, stream = (column[first] for column in columns)
    order = np.lexsort((stream, device, process))
    lane = np.empty(len(order), np.int64)
    for begin, stop in runs(process[order], device[order]):
        lane[order[begin:stop]] = np.arange(stop - begin) + 1
    return lane[number]
