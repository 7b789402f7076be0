"""What was recorded of managed memory as one table, with the kernels it happened in and the time it took of them."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from ..store.tables import TABLES
from ..store.trace import Trace
from .covered import Cover, cover
from .levels import STEP
from .managed_pages import FROM_DEVICE, TO_DEVICE, moved_before
from .sorting import Ints

if TYPE_CHECKING:
    import polars as pl

__all__ = ["ASKED", "Work", "events", "measured", "moved_again", "stalls", "where"]

ASKED = "user"
"""The cause of moves that the program asked for."""

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
COPIES = """
select
    process,
    device,
    replace(kind, 'UVM_', '') as kind,
    null::varchar as access,
    cause,
    start_ns,
    if(flaw is null and end_ns > start_ns, end_ns, null) as end_ns,
    address,
    bytes,
    null::bigint as pages
from copy
where kind like 'UVM\\_%' escape '\\' and flaw is distinct from 'no start'
"""
MIGRATIONS = """
select
    process,
    device,
    replace(kind, 'UVM_', '') as kind,
    null::varchar as access,
    cause,
    start_ns,
    if(end_ns > start_ns, end_ns, null) as end_ns,
    address,
    bytes,
    null::bigint as pages
from migration
"""
PARTS = {"fault": FAULTS, "copy": COPIES, "migration": MIGRATIONS}
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

KERNELS = """
with {step}launched as (
select
    kernel.process,
    kernel.device,
    kernel.stream,
    kernel.start_ns,
    kernel.end_ns,
    coalesce(kernel.name, '(no name)') as kernel,
    row_number() over (
        partition by kernel.process, coalesce(kernel.name, '(no name)')
        order by kernel.launch nulls last, kernel.start_ns, kernel.device, kernel.stream
    ) - 1 as occurrence,
    {operator} as operator
from kernel{joined}
where kernel.flaw is null
)
select launched.*, {iteration} as iteration
from launched{steps}
order by process, device, stream, start_ns, end_ns
"""
JOINED = """
left join op on op.id = kernel.op"""
STEPS = """
asof left join step on step.process = launched.process and launched.start_ns >= step.from_ns"""
IN_STEP = "if(launched.start_ns < step.end_ns, step.iteration, null)"

Lane = tuple[int, int]
"""A process and a device."""


@dataclass(frozen=True)
class Work:
    """The kernels of a trace by process, device and stream, and the time in which any of them runs on a device."""

    rows: "pl.DataFrame"
    busy: Mapping[Lane, Cover]

    @classmethod
    def of(cls, trace: Trace) -> "Work":
        """The kernels of the trace whose times can be trusted."""
        import polars as pl

        if not trace.has("kernel"):
            numbers = ("process", "device", "stream", "start_ns", "end_ns", "occurrence", "iteration")
            schema: dict[str, Any] = {**dict.fromkeys(numbers, pl.Int64), "kernel": pl.String, "operator": pl.String}
            return cls(pl.DataFrame(schema=schema), {})
        known, stepped = trace.has("op"), trace.has("iteration")
        sql = KERNELS.format(
            step=f"{STEP.strip()},\n" if stepped else "",
            operator="op.name" if known else "null::varchar",
            joined=JOINED if known else "",
            iteration=IN_STEP if stepped else "null::integer",
            steps=STEPS if stepped else "",
        )
        rows = trace.sql(sql.strip())
        lanes = _lanes(rows)
        return cls(rows, {lane: cover(*_times(part)) for lane, part in lanes.items()})


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


def where(found: "pl.DataFrame", work: Work) -> "pl.DataFrame":
    """The events with the kernel that ran on their device at their start; of several the one that started last.

    On one stream kernels follow each other, so each stream is asked for the last that started.
    """
    import polars as pl

    start = found["start_ns"].to_numpy()
    lane = {key: part["event"].to_numpy() for key, part in _lanes(found.filter(pl.col("device").is_not_null())).items()}
    kernel, latest = np.full(len(found), -1), np.full(len(found), np.iinfo(np.int64).min)
    at = 0
    for part in work.rows.partition_by("process", "device", "stream", maintain_order=True):
        index = lane.get((part["process"][0], part["device"][0]))
        if index is not None:
            begin, end = _times(part)
            last = np.searchsorted(begin, start[index], "right") - 1
            fits = (last >= 0) & (start[index] < end[last]) & (begin[last] > latest[index])
            kernel[index[fits]], latest[index[fits]] = at + last[fits], begin[last[fits]]
        at += len(part)
    known = pl.Series(kernel)
    picked = work.rows.select("kernel", "occurrence", "operator")[np.maximum(kernel, 0)] if len(work.rows) else None
    columns = ("kernel", "occurrence", "operator")
    if picked is None:
        return found.with_columns(pl.lit(None).alias(name) for name in columns)
    return found.with_columns(pl.when(known >= 0).then(picked[name]).alias(name) for name in columns)


def moved_again(found: "pl.DataFrame") -> "pl.DataFrame":
    """The events with `again_bytes` and `returned_bytes`, for the moves between the host and each device."""
    import polars as pl

    way = found["kind"].replace_strict({"HtoD": TO_DEVICE, "DtoH": FROM_DEVICE}, default=0, return_dtype=pl.Int64)
    again, returned = np.full(len(found), -1), np.full(len(found), -1)
    for part in found.with_columns(way=way).filter(way != 0).partition_by("process", "device", maintain_order=True):
        address, size = (part[name].fill_null(-1).to_numpy() for name in ("address", "bytes"))
        before = moved_before(address, size, part["way"].to_numpy())
        again[part["event"].to_numpy()], returned[part["event"].to_numpy()] = before.again, before.returned
    known, to_device = pl.Series(returned >= 0), way == TO_DEVICE
    return found.with_columns(
        again_bytes=pl.when(known & to_device).then(pl.Series(again)),
        returned_bytes=pl.when(known).then(pl.Series(returned)),
    )


def measured(found: "pl.DataFrame", work: Work) -> tuple["pl.DataFrame", Callable[["pl.DataFrame"], "pl.DataFrame"]]:
    """The rows of `uvm_device`, and what adds `stall_ns` and `beside_ns` to the rows of `uvm_range`."""
    import polars as pl

    faults = found.filter((pl.col("kind") == "gpu_fault") & pl.col("device").is_not_null())
    moves = found.filter(unasked() & pl.col("device").is_not_null())
    lanes = sorted(_lanes(faults).keys() | _lanes(moves).keys())
    rows = [_device(lane, faults, moves, work) for lane in lanes]
    devices = pl.DataFrame(rows, schema=dict.fromkeys(TABLES["uvm_device"].names, pl.Int64))
    timed = faults["end_ns"].count() > 0

    def times(ranges: "pl.DataFrame") -> "pl.DataFrame":
        """Each range with the time of its faults and of its moves beside kernels."""
        stall, beside = _beside(faults, work), _beside(moves, work)
        numbers = ranges["range"].to_list()
        return ranges.with_columns(
            stall_ns=pl.Series([stall.get(number, 0) if timed else None for number in numbers], dtype=pl.Int64),
            beside_ns=pl.Series([beside.get(number, 0) for number in numbers], dtype=pl.Int64),
        )

    return devices, times


def unasked() -> "pl.Expr":
    """Moves to a device that the program did not ask for: on demand, or by the driver's own prefetching."""
    import polars as pl

    return (pl.col("kind") == "HtoD") & pl.col("cause").ne_missing(ASKED)


def stalls(found: "pl.DataFrame", work: Work) -> "pl.DataFrame":
    """The rows of `uvm_stall`: kernels in which at least one fault of their device was serviced."""
    import polars as pl

    faults = _lanes(found.filter((pl.col("kind") == "gpu_fault") & pl.col("end_ns").is_not_null()))
    parts: list[pl.DataFrame] = []
    for lane, rows in _lanes(work.rows).items():
        if lane in faults:
            start, end = _times(rows)
            begun, over = (np.sort(times) for times in _times(faults[lane]))
            stall = cover(*_times(faults[lane])).within(start, end)
            # Those that began before its end, without those that were over by its start.
            count = np.searchsorted(begun, end) - np.searchsorted(over, start, "right")
            parts.append(rows.with_columns(stall_ns=stall, faults=count).filter(pl.col("stall_ns") > 0))
    kept = pl.concat(parts) if parts else work.rows.clear().with_columns(stall_ns=pl.lit(0), faults=pl.lit(0))
    return kept.sort("process", "device", "start_ns", "stream")


def _device(lane: Lane, faults: "pl.DataFrame", moves: "pl.DataFrame", work: Work) -> dict[str, int | None]:
    of_it, moved = (_lanes(rows).get(lane) for rows in (faults, moves))
    busy = work.busy.get(lane, cover(np.zeros(0, np.int64), np.zeros(0, np.int64)))
    row: dict[str, int | None] = {"process": lane[0], "device": lane[1], "kernel_ns": busy.total}
    row |= dict.fromkeys(("faults", "untimed_faults", "service_ns", "fault_ns", "stall_ns"))
    row |= {"moves": 0, "move_ns": 0, "beside_ns": 0}
    if of_it is not None:
        timed = of_it.drop_nulls("end_ns")
        row |= {"faults": len(of_it), "untimed_faults": len(of_it) - len(timed)}
        if len(timed):
            served = cover(*_times(timed))
            row["service_ns"] = int((timed["end_ns"] - timed["start_ns"]).sum())
            row |= {"fault_ns": served.total, "stall_ns": busy.common(served)}
    if moved is not None:
        went = cover(*_times(moved.drop_nulls("end_ns")))
        row |= {"moves": len(moved), "move_ns": went.total, "beside_ns": busy.common(went)}
    return row


def _beside(rows: "pl.DataFrame", work: Work) -> dict[int, int]:
    """For each range, and each tensor, how long its events went on while a kernel ran on their device."""
    import polars as pl

    timed = rows.drop_nulls("end_ns")
    both = pl.concat([timed.drop_nulls(name).with_columns(place=pl.col(name)) for name in ("range", "tensor")])
    sums: dict[int, int] = {}
    for part in both.partition_by("place", "process", "device"):
        busy = work.busy.get((part["process"][0], part["device"][0]))
        place = int(part["place"][0])
        sums[place] = sums.get(place, 0) + (busy.common(cover(*_times(part))) if busy else 0)
    return sums


def _lanes(rows: "pl.DataFrame") -> "dict[Lane, pl.DataFrame]":
    parts = rows.partition_by("process", "device", maintain_order=True) if len(rows) else []
    return {(int(part["process"][0]), int(part["device"][0])): part for part in parts}


def _times(rows: "pl.DataFrame") -> tuple[Ints, Ints]:
    return rows["start_ns"].to_numpy(), rows["end_ns"].to_numpy()
