"""Adds up the accesses to each 2 MiB of memory in each window of the clocks that the trace has."""

from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING

import numpy as np

from ...store.tables import TABLES
from ...store.trace import Trace
from ..hotness import NO_BLOCK, WINDOW_ACCESSES, access_clock, hotness

if TYPE_CHECKING:
    import polars as pl
    import pyarrow as pa

VERSION = 1
NEEDS = ()

WINDOWS = 60
"""Windows of the time clock."""
ACCESSES = """
select process, launch, "window", object, accesses
from access
where granularity = 'block' and accesses > 0
order by process, launch, "window", object
"""
STARTS = """
select process, launch, min(start_ns) as start_ns from kernel where launch is not null group by process, launch
"""


def mine(trace: Trace) -> Mapping[str, "pa.Table"]:
    """The table `hotness`; nothing where no accesses to blocks were measured.

    The source's own windows are the access clock; where accesses are told by launch, the access clock is counted from
    them, launches are a clock of their own, and where the times of kernels are known there is one of time.
    """
    import polars as pl

    if not trace.has("access"):
        return {}
    rows = trace.sql(ACCESSES)
    if not len(rows):
        return {}
    starts = trace.sql(STARTS) if trace.has("kernel") else None
    parts = [
        part
        for (process,), of_it in rows.partition_by("process", as_dict=True).items()
        for part in _clocks(process, of_it, starts)
    ]
    schema = TABLES["hotness"].schema
    if not parts:
        return {}
    return {"hotness": pl.concat(parts).select(schema.names).to_arrow().cast(schema)}


def _clocks(process: int, rows: "pl.DataFrame", starts: "pl.DataFrame | None") -> "Iterator[pl.DataFrame]":
    """The matrix of a process on each of its clocks; the rows that such a clock can place are told by their sum."""
    windows = rows.drop_nulls("window")
    if len(windows):
        yield _matrix(process, "accesses", windows, windows["window"].to_numpy(), 1)
    launches = rows.filter(rows["window"].is_null()).drop_nulls("launch")
    if len(launches):
        ordinal = launches["launch"].to_numpy()
        clock = access_clock(ordinal, launches["accesses"].to_numpy())
        yield _matrix(process, "accesses", launches, clock, WINDOW_ACCESSES)
        yield _matrix(process, "launches", launches, ordinal, 1)
        timed = launches.join(starts, on=["process", "launch"]) if starts is not None else launches.clear()
        if len(timed) == len(launches):
            time = timed["start_ns"].to_numpy() - int(timed["start_ns"].min() or 0)  # pyright: ignore[reportArgumentType] - a number
            yield _matrix(process, "time", timed, time, int(time.max()) // WINDOWS + 1)


def _matrix(process: int, clock: str, rows: "pl.DataFrame", moment: "np.ndarray", length: int) -> "pl.DataFrame":
    import polars as pl

    found = hotness(rows["object"].fill_null(NO_BLOCK).to_numpy(), moment, rows["accesses"].to_numpy(), length=length)
    return pl.DataFrame({"window": found.window, "block": found.block, "accesses": found.accesses}).with_columns(
        pl.lit(process, pl.Int64).alias("process"),
        pl.lit(clock).alias("clock"),
        pl.lit(length, pl.Int64).alias("length"),
        pl.when(pl.col("block") != NO_BLOCK).then(pl.col("block")).alias("block"),
    )
