"""Splits the time of each main iteration by what its device does: compute, communication, copy, idle."""

from collections.abc import Mapping
from typing import TYPE_CHECKING

import numpy as np

from ...store.tables import TABLES
from ...store.trace import Trace
from ..columns import numbers, words
from ..covered import Cover
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
            of = state == number
            time = Cover(begin[of], end[of]).within(rows["from_ns"].to_numpy(), rows["end_ns"].to_numpy())
            part = rows.with_columns(pl.lit(text).alias("state"), pl.Series("time_ns", time))
            pieces.append(part.filter(part["time_ns"] > 0))
    schema = TABLES["iteration_state"].schema
    found = pl.concat(pieces) if pieces else pl.DataFrame(schema=dict.fromkeys(schema.names, pl.Int64))
    keys = ["process", "device", "iteration", "state"]
    return {"iteration_state": found.sort(keys).select(schema.names).to_arrow().cast(schema)}
