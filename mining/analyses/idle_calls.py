"""Measures how much of the idle time of devices passes while each host call is under way, by the call's name."""

from collections.abc import Iterator, Mapping
from itertools import pairwise
from typing import TYPE_CHECKING

import numpy as np
import numpy.typing as npt

from ...store.tables import TABLES
from ...store.trace import Trace
from ..sorting import stable_order

if TYPE_CHECKING:
    import polars as pl
    import pyarrow as pa

VERSION = 1
NEEDS = ("segments",)

GAPS = """
select process, device, start_ns, end_ns
from segment
where state = 'idle' and end_ns > start_ns
order by process, device, start_ns
"""
CALLS = "select process, coalesce(name, '(no name)') as name, start_ns, end_ns from api where end_ns > start_ns"

Ints = npt.NDArray[np.int64]


def mine(trace: Trace) -> Mapping[str, "pa.Table"]:
    """The table `idle_call`; nothing without calls or without device work. Cost: some sorts of the calls."""
    import polars as pl

    if not (trace.has("api") and trace.has("segment")):
        return {}
    gaps = trace.sql(GAPS).partition_by("process", "device", as_dict=True)
    calls = trace.sql(CALLS).with_columns(pl.col("name").cast(pl.Categorical))
    rows = [
        (process, name, count, time)
        for (process,), part in calls.partition_by("process", as_dict=True).items()
        for name, count, time in _measured(part, [gap for (owner, _), gap in gaps.items() if owner == process])
    ]
    schema = TABLES["idle_call"].schema
    return {"idle_call": pl.DataFrame(rows, schema=schema.names, orient="row").to_arrow().cast(schema)}


def _measured(calls: "pl.DataFrame", devices: list["pl.DataFrame"]) -> Iterator[tuple[str, int, int]]:
    """Of each name the calls in which some device idles, and the idle time in which one of them is under way."""
    code = calls["name"].to_physical().to_numpy().astype(np.int64)
    start, end = calls["start_ns"].to_numpy(), calls["end_ns"].to_numpy()
    order = stable_order(start)
    order = order[stable_order(code[order])]
    start, end, code = start[order], end[order], code[order]
    cuts = np.flatnonzero(np.r_[True, code[1:] != code[:-1], True])
    new = start.copy()  # from where on no earlier call of the name is under way
    for first, stop in pairwise(cuts.tolist()):
        latest = np.maximum.accumulate(end[first:stop])
        new[first + 1 : stop] = np.clip(latest[:-1], start[first + 1 : stop], end[first + 1 : stop])
    within, time = np.zeros(len(start), np.bool_), np.zeros(len(start), np.int64)
    for gaps in devices:
        until = _idle_until(gaps, end)
        within |= until > _idle_until(gaps, start)
        time += until - _idle_until(gaps, new)
    for first, stop in pairwise(cuts.tolist()):
        if within[first:stop].any():
            yield calls["name"][int(order[first])], int(within[first:stop].sum()), int(time[first:stop].sum())


def _idle_until(gaps: "pl.DataFrame", moment: Ints) -> Ints:
    """The device's idle time before each moment; its gaps are in order and do not overlap."""
    begin, length = gaps["start_ns"].to_numpy(), (gaps["end_ns"] - gaps["start_ns"]).to_numpy()
    before = np.cumsum(length) - length
    at = np.searchsorted(begin, moment, side="right") - 1
    gone = before[at] + np.minimum(moment - begin[at], length[at])
    return np.where(at >= 0, gone, 0)
