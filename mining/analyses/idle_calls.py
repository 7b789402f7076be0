"""Measures how much of the idle time of devices passes while each host call is under way, by the call's name."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from itertools import pairwise
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
import numpy.typing as npt

from ...store.tables import TABLES
from ...store.trace import Trace
from ..columns import numbers, words
from ..lookup import until
from ..sequence import numbered
from ..sorting import lexical_order

if TYPE_CHECKING:
    import pyarrow as pa

VERSION = 1
NEEDS = ("segments",)

COLUMNS = ("process", "start_ns", "end_ns")

Ints = npt.NDArray[np.int64]


@dataclass(frozen=True, eq=False)
class _Gaps:
    """The gaps of a device, in order; none overlap."""

    start_ns: Ints
    length_ns: Ints

    def idle_until(self, moment: Ints) -> Ints:
        """The device's idle time before each moment."""
        before = np.cumsum(self.length_ns) - self.length_ns
        at = until(self.start_ns, moment, including=True) - 1
        gone = before[at] + np.minimum(moment - self.start_ns[at], self.length_ns[at])
        return np.where(at >= 0, gone, 0)


def mine(trace: Trace) -> Mapping[str, "pa.Table"]:
    """The table `idle_call`; nothing without calls or without device work. Cost: some sorts of the calls."""
    import polars as pl

    if not (trace.has("api") and trace.has("segment")):
        return {}
    gaps = list(_gaps(trace.files["segment"]))
    names, columns = words(trace.files["api"], "name"), numbers(trace.files["api"], COLUMNS)
    calls = np.flatnonzero(columns["end_ns"] > columns["start_ns"])
    process, start, end = (column[calls] for column in columns.values())
    if not len(calls):
        return {"idle_call": TABLES["idle_call"].schema.empty_table()}
    code, first = numbered([names.code[calls]])
    told = [names.texts[one] for one in names.code[calls][first].tolist()]
    rows = [
        (owner, "(no name)" if told[one] is None else told[one], count, time)
        for owner in process[numbered([process])[1]].tolist()
        for own in (np.flatnonzero(process == owner),)
        for one, count, time in _measured(code[own], start[own], end[own], [gap for who, gap in gaps if who == owner])
    ]
    schema = TABLES["idle_call"].schema
    return {"idle_call": pl.DataFrame(rows, schema=schema.names, orient="row").to_arrow().cast(schema)}


def _gaps(segments: Path) -> Iterator[tuple[int, _Gaps]]:
    """The gaps of each device, and its process."""
    columns, idle = numbers(segments, ("process", "device", "start_ns", "end_ns")), words(segments, "state").are("idle")
    idle &= columns["end_ns"] > columns["start_ns"]
    process, device, start, end = (column[idle] for column in columns.values())
    cuts = np.flatnonzero((process[1:] != process[:-1]) | (device[1:] != device[:-1])) + 1
    for begin, stop in pairwise([0, *cuts.tolist(), len(process)]):
        if begin < stop:
            yield int(process[begin]), _Gaps(start[begin:stop], (end - start)[begin:stop])


def _measured(code: Ints, start: Ints, end: Ints, devices: list[_Gaps]) -> Iterator[tuple[int, int, int]]:
    """Of each name the calls in which some device idles, and the idle time in which one of them is under way."""
    order = lexical_order(code, start)
    start, end, code = start[order], end[order], code[order]
    cuts = np.flatnonzero(np.r_[True, code[1:] != code[:-1], True])
    new = start.copy()  # from where on no earlier call of the name is under way
    for first, stop in pairwise(cuts.tolist()):
        latest = np.maximum.accumulate(end[first:stop])
        new[first + 1 : stop] = np.clip(latest[:-1], start[first + 1 : stop], end[first + 1 : stop])
    for first, stop in pairwise(cuts.tolist()):
        of = slice(first, stop)
        apart = bool((new[of] == start[of]).all())
        within, time = np.zeros(stop - first, np.bool_), 0
        for gaps in devices:
            ended, begun = gaps.idle_until(end[of]), gaps.idle_until(start[of])
            within |= ended > begun
            time += int(ended.sum() - (begun if apart else gaps.idle_until(new[of])).sum())
        if within.any():
            yield int(code[first]), int(within.sum()), time
