"""Links device work to the host calls that caused it, and both to the framework operators around them.

One sort and one pass per table. A call and its device work share (process, correlation); where several calls carry
one id (a driver call inside a runtime call, an export that lists each launch twice) the outermost, earliest one counts.
"""

from collections.abc import Callable
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute

from ..store.tables import TABLES
from .nesting import innermost

__all__ = ["DEVICE_WORK", "link"]

pc: Any = pyarrow.compute  # its functions are made at import, so its types say nothing

DEVICE_WORK = ("kernel", "copy", "fill")
Ints = npt.NDArray[np.int64]
NOTHING = np.iinfo(np.int64).min


def link(tables: dict[str, pa.Table], note: Callable[..., None]) -> dict[str, pa.Table]:
    """The same tables, sorted, with `op.id`, `op.parent`, `op.depth`, `api.op` and the launch columns filled in."""
    linked = {name: _sorted(name, table) for name, table in tables.items()}
    if "op" in linked:
        linked["op"] = _nest(linked["op"])
    if "api" in linked and "op" in linked:
        linked["api"] = _around(linked["api"], linked["op"])
    if "api" in linked:
        calls = _causes(linked)
        for name in DEVICE_WORK:
            if name in linked:
                linked[name] = _launched(linked[name], linked["api"], calls)
    _count_unlinked(linked, note)
    return linked


def _sorted(name: str, table: pa.Table) -> pa.Table:
    order = "descending" if name == "op" else "ascending"
    keys = [(c, order if c == "end_ns" else "ascending") for c in TABLES[name].sort]
    return table.sort_by(keys).combine_chunks()


def _nest(op: pa.Table) -> pa.Table:
    """Numbers the operators and gives each the one around it: they are sorted by thread, start, and end descending."""
    starts, ends = _ints(op, "start_ns"), _ints(op, "end_ns")
    parent, depth = innermost(_lane(op), starts, ends, _lane(op), starts, own=True)
    op = _set(op, "id", pa.array(np.arange(len(op), dtype=np.int64)))
    op = _set(op, "parent", _nullable(parent, parent >= 0))
    return _set(op, "depth", pa.array(depth.astype(np.int32)))


def _around(api: pa.Table, op: pa.Table) -> pa.Table:
    """Gives each host call the innermost operator that runs on its thread when it starts."""
    around, _ = innermost(
        _lane(op), _ints(op, "start_ns"), _ints(op, "end_ns"), _lane(api), _ints(api, "start_ns"), own=False
    )
    return _set(api, "op", _nullable(around, around >= 0))


def _causes(tables: dict[str, pa.Table]) -> dict[str, Ints]:
    """The calls that caused device work, by (process, correlation): their row in `api`, and their ordinal."""
    api = tables["api"]
    process, correlation, start = _ints(api, "process"), _ints(api, "correlation"), _ints(api, "start_ns")
    usable = correlation != NOTHING
    row = np.flatnonzero(usable)
    order = row[np.lexsort((-_ints(api, "end_ns")[row], start[row], correlation[row], process[row]))]
    first = np.ones(len(order), bool)
    first[1:] = (correlation[order][1:] != correlation[order][:-1]) | (process[order][1:] != process[order][:-1])
    call = order[first]
    caused = np.zeros(len(call), bool)
    for name in DEVICE_WORK:
        if name in tables:
            at = _find(process[call], correlation[call], tables[name])
            caused[at[at >= 0]] = True
    ordinal = np.full(len(call), NOTHING, np.int64)
    chosen = np.flatnonzero(caused)
    by_time = chosen[np.lexsort((call[chosen], start[call[chosen]], process[call[chosen]]))]
    owner = process[call[by_time]]
    begins = np.r_[True, owner[1:] != owner[:-1]] if len(owner) else np.zeros(0, bool)
    ordinal[by_time] = np.arange(len(by_time)) - np.maximum.accumulate(np.where(begins, np.arange(len(by_time)), 0))
    return {"row": call, "process": process[call], "correlation": correlation[call], "ordinal": ordinal}


def _launched(work: pa.Table, api: pa.Table, calls: dict[str, Ints]) -> pa.Table:
    at = _find(calls["process"], calls["correlation"], work)
    found = at >= 0
    at = np.where(found, at, 0)
    row = calls["row"][at] if len(calls["row"]) else np.zeros(len(work), np.int64)
    work = _set(work, "launch", _nullable(calls["ordinal"][at] if len(calls["row"]) else row, found))
    indices = _nullable(row, found)
    for column, source in (("launch_ns", "start_ns"), ("launch_thread", "thread"), ("op", "op")):
        work = _set(work, column, api[source].take(indices))
    return work


def _find(process: Ints, correlation: Ints, work: pa.Table) -> Ints:
    """Position of each row's call among calls sorted by (process, correlation); -1 where there is none."""
    if not len(process):
        return np.full(len(work), -1, np.int64)
    wanted_process, wanted = _ints(work, "process"), _ints(work, "correlation")
    position = np.full(len(work), -1, np.int64)
    for owner in np.unique(wanted_process):
        low, high = np.searchsorted(process, [owner, owner + 1])
        rows = np.flatnonzero((wanted_process == owner) & (wanted != NOTHING))
        if low == high or not len(rows):
            continue
        at = low + np.searchsorted(correlation[low:high], wanted[rows])
        at = np.minimum(at, high - 1)
        hit = correlation[at] == wanted[rows]
        position[rows[hit]] = at[hit]
    return position


def _count_unlinked(tables: dict[str, pa.Table], note: Callable[..., None]) -> None:
    for name in DEVICE_WORK:
        missing = _unlinked(tables[name]) if name in tables else 0
        if missing:
            note(
                "no-launch",
                "device work without a host call that caused it: no launch time, no operator",
                count=missing,
                example=f"{missing} of {len(tables[name])} rows of {name}",
            )


def _unlinked(work: pa.Table) -> int:
    """Rows without a call; the driver's own migrations of managed pages have none by nature."""
    missing = work["launch"].is_null()
    if "kind" in work.column_names:
        migrated = pc.fill_null(pc.starts_with(work["kind"].cast(pa.string()), "UVM_"), False)
        missing = pc.and_not(missing, migrated)
    return int(pc.sum(missing).as_py() or 0)


def _lane(table: pa.Table) -> Ints:
    """The pair (process, thread) of each row, shape (2, rows)."""
    process, thread = _ints(table, "process"), _ints(table, "thread")
    return np.stack([process, thread])


def _ints(table: pa.Table, column: str) -> Ints:
    return pc.fill_null(table[column], NOTHING).to_numpy().astype(np.int64, copy=False)


def _nullable(values: Ints, valid: npt.NDArray[np.bool_]) -> pa.Array:
    return pa.array(values, mask=~valid)


def _set(table: pa.Table, column: str, values: pa.Array | pa.ChunkedArray) -> pa.Table:
    at = table.schema.get_field_index(column)
    return table.set_column(at, table.schema.field(at), values)
