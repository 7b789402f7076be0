"""Splits the time of each main iteration by what its device does: compute, communication, copy, idle."""

from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from ...store.tables import TABLES
from ...store.trace import Trace
from ..levels import MAIN

if TYPE_CHECKING:
    import polars as pl
    import pyarrow as pa

VERSION = 1
NEEDS = ("segments", "iterations")

STEPS = f"""
with main as ({MAIN})
select main.process, main.device, main.level, iteration.iteration, iteration.from_ns, iteration.end_ns
from main
join iteration on iteration.process = main.process and iteration.level = main.level
order by main.process, iteration.iteration
"""
SEGMENTS = "select process, device, start_ns, end_ns, state from segment order by process, device, start_ns"

Ints = npt.NDArray[np.int64]


def mine(trace: Trace) -> Mapping[str, "pa.Table"]:
    """The table `iteration_state`; nothing where no iterations were found. Cost: some passes over the segments."""
    import polars as pl

    if not (trace.has("segment") and trace.has("iteration")):
        return {}
    devices = trace.sql(SEGMENTS).partition_by("process", "device", as_dict=True)
    steps = trace.sql(STEPS).partition_by("process", "device", maintain_order=True, as_dict=True)
    pieces = [part for place, rows in steps.items() if place in devices for part in _parts(rows, devices[place])]
    schema = TABLES["iteration_state"].schema
    found = pl.concat(pieces) if pieces else pl.DataFrame(schema=dict.fromkeys(schema.names, pl.Int64))
    keys = ["process", "device", "iteration", "state"]
    return {"iteration_state": found.sort(keys).select(schema.names).to_arrow().cast(schema)}


def _parts(steps: "pl.DataFrame", segments: "pl.DataFrame") -> Iterator["pl.DataFrame"]:
    """The rows of each state, for iterations of one device and its segments in order."""
    import polars as pl

    begin, end = segments["start_ns"].to_numpy(), segments["end_ns"].to_numpy()
    for (state,), _ in segments.group_by(["state"], maintain_order=True):
        length = np.where((segments["state"] == state).to_numpy(), end - begin, 0)
        until = [_time_until(begin, length, steps[column].to_numpy()) for column in ("from_ns", "end_ns")]
        time: Any = until[1] - until[0]
        rows = steps.with_columns(pl.lit(state).alias("state"), pl.Series("time_ns", time))
        yield rows.filter(rows["time_ns"] > 0)


def _time_until(begin: Ints, length: Ints, moment: Ints) -> Ints:
    """The time in stretches before each moment; those that do not count have no length."""
    before = np.cumsum(length) - length
    at = np.searchsorted(begin, moment, side="right") - 1
    return np.where(at >= 0, before[at] + np.minimum(moment - begin[at], length[at]), 0)
