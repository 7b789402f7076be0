"""What was recorded of managed memory as one table, with the kernels and iterations that it happened in."""

from typing import TYPE_CHECKING

import numpy as np

from ..store.trace import Trace
from .levels import STEP
from .managed_kernels import Kernels, lanes, times
from .managed_pages import FROM_DEVICE, TO_DEVICE, moved_before

if TYPE_CHECKING:
    import polars as pl

__all__ = ["events", "moved_again", "where"]

FAULTS = """
select
    process,
    device,
    processor || '_fault' as kind,
    kind as access,
    null::varchar as cause,
    start_ns,
    if(end_ns > start_ns, end_ns, null) as end_ns,
    address,
    null::bigint as bytes,
    pages
from fault
"""
MOVES = """
select
    process,
    device,
    replace(kind, 'UVM_', '') as kind,
    null::varchar as access,
    cause,
    start_ns,
    if({timed} and end_ns > start_ns, end_ns, null) as end_ns,
    address,
    bytes,
    null::bigint as pages
from {table}
"""
COPIES = "copy\nwhere kind like 'UVM\\_%' escape '\\' and flaw is distinct from 'no start'"
PARTS = {
    "fault": FAULTS,
    "copy": MOVES.format(timed="flaw is null", table=COPIES),
    "migration": MOVES.format(timed="true", table="migration"),
}
"""SQL: what each table says of managed memory. A GPU fault whose end is 0 has none; nsys writes such."""
ORDER = "process, start_ns, kind, address, end_ns, bytes"

PLACED = f"""
with event as (%s),
{STEP.strip()}
select event.*, if(event.start_ns < step.end_ns, step.iteration, null) as iteration
from event
asof left join step on step.process = event.process and event.start_ns >= step.from_ns
order by {ORDER}
"""


def events(trace: Trace) -> "pl.DataFrame":
    """All faults, moves, thrashing, throttling and remote maps, in the order of time, with their iterations."""
    import polars as pl

    there = [sql.strip() for table, sql in PARTS.items() if trace.has(table)]
    if not there:
        return pl.DataFrame()
    query = " union all ".join(there)
    if not trace.has("iteration"):
        rows = trace.sql(f"select *, null::integer as iteration from ({query}) order by {ORDER}")
    else:
        rows = trace.sql((PLACED % query).strip())
    return rows.with_row_index("event").with_columns(pl.col("event").cast(pl.Int64))


def where(found: "pl.DataFrame", kernels: Kernels) -> "pl.DataFrame":
    """The events with the kernel that ran on their device at their start; of several the one that started last.

    On one stream kernels follow each other, so each stream is asked for the last that started.
    """
    import polars as pl

    start = found["start_ns"].to_numpy()
    lane = {key: part["event"].to_numpy() for key, part in lanes(found.filter(pl.col("device").is_not_null())).items()}
    kernel, latest = np.full(len(found), -1), np.full(len(found), np.iinfo(np.int64).min)
    at = 0
    for part in kernels.rows.partition_by("process", "device", "stream", maintain_order=True):
        index = lane.get((part["process"][0], part["device"][0]))
        if index is not None:
            begin, end = times(part)
            last = np.searchsorted(begin, start[index], "right") - 1
            fits = (last >= 0) & (start[index] < end[last]) & (begin[last] > latest[index])
            kernel[index[fits]], latest[index[fits]] = at + last[fits], begin[last[fits]]
        at += len(part)
    columns = ("kernel", "occurrence", "operator")
    if not len(kernels.rows):
        return found.with_columns(pl.lit(None).alias(name) for name in columns)
    picked = kernels.rows.select(columns)[np.maximum(kernel, 0)]
    return found.with_columns(pl.when(pl.Series(kernel) >= 0).then(picked[name]).alias(name) for name in columns)


def moved_again(found: "pl.DataFrame") -> "pl.DataFrame":
    """The events with `again_bytes` and `returned_bytes`, for the moves between the host and each device.

    Each range is looked at by itself: another object at the same addresses has other pages.
    """
    import polars as pl

    way = found["kind"].replace_strict({"HtoD": TO_DEVICE, "DtoH": FROM_DEVICE}, default=0, return_dtype=pl.Int64)
    again, returned = np.full(len(found), -1), np.full(len(found), -1)
    moves = found.with_columns(way=way).filter(way != 0)
    for part in moves.partition_by("process", "device", "range", maintain_order=True):
        address, size = (part[name].fill_null(-1).to_numpy() for name in ("address", "bytes"))
        before = moved_before(address, size, part["way"].to_numpy())
        again[part["event"].to_numpy()], returned[part["event"].to_numpy()] = before.again, before.returned
    known, to_device = pl.Series(returned >= 0), way == TO_DEVICE
    return found.with_columns(
        again_bytes=pl.when(known & to_device).then(pl.Series(again)),
        returned_bytes=pl.when(known).then(pl.Series(returned)),
    )
