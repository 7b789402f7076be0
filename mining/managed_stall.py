"""What faults and moves of managed memory take of kernels: by device, by range, by kernel execution."""

from typing import TYPE_CHECKING

import numpy as np

from ..store.tables import TABLES
from .covered import cover
from .managed_kernels import Kernels, Lane, lanes, times

if TYPE_CHECKING:
    import polars as pl

__all__ = ["devices", "stalls", "with_times"]

ASKED = "user"
"""The cause of moves that the program asked for."""


def devices(found: "pl.DataFrame", kernels: Kernels) -> "pl.DataFrame":
    """The rows of `uvm_device`: what faults and unasked moves took on each device, while kernels ran and in all."""
    import polars as pl

    by_fault, by_move = lanes(_faults(found)), lanes(_unasked(found))
    there = sorted(by_fault.keys() | by_move.keys())
    rows = [_device(lane, by_fault.get(lane), by_move.get(lane), kernels) for lane in there]
    return pl.DataFrame(rows, schema=dict.fromkeys(TABLES["uvm_device"].names, pl.Int64))


def with_times(ranges: "pl.DataFrame", found: "pl.DataFrame", kernels: Kernels) -> "pl.DataFrame":
    """The ranges with `stall_ns` and `beside_ns`: the time of their faults and of their moves beside kernels."""
    import polars as pl

    faults = _faults(found)
    stall, beside = _beside(faults, kernels), _beside(_unasked(found), kernels)
    timed = faults["end_ns"].count() > 0 and len(kernels.rows) > 0
    numbers = ranges["range"].to_list()
    return ranges.with_columns(
        stall_ns=pl.Series([stall.get(number, 0) if timed else None for number in numbers], dtype=pl.Int64),
        beside_ns=pl.Series([beside.get(number, 0) for number in numbers], dtype=pl.Int64),
    )


def _faults(found: "pl.DataFrame") -> "pl.DataFrame":
    import polars as pl

    return found.filter((pl.col("kind") == "gpu_fault") & pl.col("device").is_not_null())


def _unasked(found: "pl.DataFrame") -> "pl.DataFrame":
    """Moves to a device that the program did not ask for: on demand, or by the driver's own prefetching."""
    import polars as pl

    return found.filter((pl.col("kind") == "HtoD") & pl.col("cause").ne_missing(ASKED) & pl.col("device").is_not_null())


def stalls(found: "pl.DataFrame", kernels: Kernels) -> "pl.DataFrame":
    """The rows of `uvm_stall`: kernels in which at least one fault of their device was serviced."""
    import polars as pl

    faults = lanes(_faults(found).drop_nulls("end_ns"))
    parts: list[pl.DataFrame] = []
    for lane, rows in lanes(kernels.rows).items():
        if lane in faults:
            start, end = times(rows)
            begin, over = times(faults[lane])
            stall = cover(begin, over).within(start, end)
            # Those that began before its end, without those that were over by its start.
            count = np.searchsorted(np.sort(begin), end) - np.searchsorted(np.sort(over), start, "right")
            parts.append(rows.with_columns(stall_ns=stall, faults=count).filter(pl.col("stall_ns") > 0))
    kept = pl.concat(parts) if parts else kernels.rows.clear().with_columns(stall_ns=pl.lit(0), faults=pl.lit(0))
    return kept.sort("process", "device", "start_ns", "stream")


def _device(
    lane: Lane, faults: "pl.DataFrame | None", moves: "pl.DataFrame | None", kernels: Kernels
) -> dict[str, int | None]:
    busy = kernels.busy.get(lane, cover(np.zeros(0, np.int64), np.zeros(0, np.int64)))
    row: dict[str, int | None] = {"process": lane[0], "device": lane[1], "kernel_ns": busy.total}
    row |= dict.fromkeys(("faults", "untimed_faults", "service_ns", "fault_ns", "stall_ns"))
    row |= {"moves": 0, "move_ns": 0, "beside_ns": 0}
    if faults is not None:
        timed = faults.drop_nulls("end_ns")
        row |= {"faults": len(faults), "untimed_faults": len(faults) - len(timed)}
        if len(timed):
            served = cover(*times(timed))
            row["service_ns"] = int((timed["end_ns"] - timed["start_ns"]).sum())
            row |= {"fault_ns": served.total, "stall_ns": busy.common(served) if len(kernels.rows) else None}
    if moves is not None:
        went = cover(*times(moves.drop_nulls("end_ns")))
        row |= {"moves": len(moves), "move_ns": went.total, "beside_ns": busy.common(went)}
    return row


def _beside(rows: "pl.DataFrame", kernels: Kernels) -> dict[int, int]:
    """For each range, and each tensor, how long its events went on while a kernel ran on their device."""
    import polars as pl

    timed = rows.drop_nulls("end_ns")
    both = pl.concat([timed.drop_nulls(name).with_columns(place=pl.col(name)) for name in ("range", "tensor")])
    sums: dict[int, int] = {}
    for part in both.partition_by("place", "process", "device"):
        busy = kernels.busy.get((part["process"][0], part["device"][0]))
        place = int(part["place"][0])
        sums[place] = sums.get(place, 0) + (busy.common(cover(*times(part))) if busy else 0)
    return sums
