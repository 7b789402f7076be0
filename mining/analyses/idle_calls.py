"""Measures how much of the idle time of devices passes while each host call is under way, by the call's name."""

from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from ...store.tables import TABLES
from ...store.trace import Trace
from ..columns import chosen, numbers, words
from ..covered import Cover
from ..numbering import numbered
from ..sorting import Ints, lexical_order, runs

if TYPE_CHECKING:
    import pyarrow as pa

VERSION = 1
NEEDS = ("segments",)

COLUMNS = ("process", "start_ns", "end_ns")


def mine(trace: Trace) -> Mapping[str, "pa.Table"]:
    """The table `idle_call`; nothing without calls or without device work. Cost: some sorts of the calls."""
    import polars as pl

    if not (trace.has("api") and trace.has("segment")):
        return {}
    gaps = list(_gaps(trace.files["segment"]))
    names, columns = words(trace.files["api"], "name"), numbers(trace.files["api"], COLUMNS)
    calls = np.flatnonzero(columns["end_ns"] > columns["start_ns"])
    process, start, end = chosen(columns, calls).values()
    if not len(calls):
        return {"idle_call": TABLES["idle_call"].schema.empty_table()}
    code, first = numbered([names.code[calls]])
    texts = ["(no name)" if text is None else text for text in names.texts]
    told = [texts[one] for one in names.code[calls][first].tolist()]
    rows: list[tuple[int, str, int, int]] = []
    for owner in process[numbered([process])[1]].tolist():
        own, devices = np.flatnonzero(process == owner), [gap for who, gap in gaps if who == owner]
        found = _measured(code[own], start[own], end[own], devices)
        rows += [(owner, told[one], count, time) for one, count, time in found]
    schema = TABLES["idle_call"].schema
    return {"idle_call": pl.DataFrame(rows, schema=schema.names, orient="row").to_arrow().cast(schema)}


def _gaps(segments: Path) -> Iterator[tuple[int, Cover]]:
    """The gaps of each device, and its process."""
    columns, idle = numbers(segments, ("process", "device", "start_ns", "end_ns")), words(segments, "state").are("idle")
    idle &= columns["end_ns"] > columns["start_ns"]
    process, device, start, end = chosen(columns, idle).values()
    for begin, stop in runs(process, device):
        yield int(process[begin]), Cover(start[begin:stop], end[begin:stop])


def _measured(code: Ints, start: Ints, end: Ints, devices: list[Cover]) -> Iterator[tuple[int, int, int]]:
    """Of each name the calls in which some device idles, and the idle time in which one of them is under way."""
    order = lexical_order(code, start)
    start, end, code = start[order], end[order], code[order]
    names = runs(code)
    new = start.copy()  # from where on no earlier call of the name is under way
    for first, stop in names:
        latest = np.maximum.accumulate(end[first:stop])
        new[first + 1 : stop] = np.clip(latest[:-1], start[first + 1 : stop], end[first + 1 : stop])
    for first, stop in names:
        of = slice(first, stop)
        within, time = np.zeros(stop - first, np.bool_), 0
        for gaps in devices:
            within |= gaps.within(start[of], end[of]) > 0
            time += int(gaps.within(new[of], end[of]).sum())
        if within.any():
            yield int(code[first]), int(within.sum()), time
