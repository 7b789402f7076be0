"""Splits the time of each main iteration by what its device does: compute, communication, copy, idle."""

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from ...store.tables import TABLES
from ...store.trace import Trace
from ..columns import numbers, words
from ..levels import MAIN

if TYPE_CHECKING:
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
COLUMNS = ("process", "device", "start_ns", "end_ns")

Ints = npt.NDArray[np.int64]


def mine(trace: Trace) -> Mapping[str, "pa.Table"]:
    """The table `iteration_state`; nothing where no iterations were found. Cost: some passes over the segments."""
    import polars as pl

    if not (trace.has("segment") and trace.has("iteration")):
        return {}
    segments, states = numbers(trace.files["segment"], COLUMNS), words(trace.files["segment"], "state")
    pieces: list[pl.DataFrame] = []
    for (process, device), rows in trace.sql(STEPS).partition_by("process", "device", as_dict=True).items():
        own = np.flatnonzero((segments["process"] == process) & (segments["device"] == device))
        begin, end, state = segments["start_ns"][own], segments["end_ns"][own], states.code[own]
        for number, text in enumerate(states.texts[:-1]):
            length = np.where(state == number, end - begin, 0)
            until = [_time_until(begin, length, rows[column].to_numpy()) for column in ("from_ns", "end_ns")]
            time: Any = until[1] - until[0]
            part = rows.with_columns(pl.lit(text).alias("state"), pl.Series("time_ns", time))
            pieces.append(part.filter(part["time_ns"] > 0))
    schema = TABLES["iteration_state"].schema
    found = pl.concat(pieces) if pieces else pl.DataFrame(schema=dict.fromkeys(schema.names, pl.Int64))
    keys = ["process", "device", "iteration", "state"]
    return {"iteration_state": found.sort(keys).select(schema.names).to_arrow().cast(schema)}


def _time_until(begin: Ints, length: Ints, moment: Ints) -> Ints:
    """The time in stretches before each moment; those that do not count have no length."""
    if not len(begin):
        return np.zeros(len(moment), np.int64)
    before = np.cumsum(length) - length
    at = np.searchsorted(begin, moment, side="right") - 1
    return np.where(at >= 0, before[at] + np.minimum(moment - begin[at], length[at]), 0)
