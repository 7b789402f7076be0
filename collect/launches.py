"""What the launches of device work are worth: clocks that disagree, ids that several share, graphs seen as one row."""

from collections.abc import Callable
from itertools import pairwise
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute

from ..store.columns import FLAWS

__all__ = ["check_calls", "check_launches"]

pc: Any = pyarrow.compute  # its functions are made at import, so its types say nothing
Ints = npt.NDArray[np.int64]
Bools = npt.NDArray[np.bool_]

NO_START = FLAWS[-1]
LAUNCH = ("launch", "launch_ns", "launch_thread", "op")
"""Columns that a row without a launch of its own has null."""
DENSE = 8
"""Correlations are counted in an array if their range is at most so many times their number."""
GRAPH_LAUNCH = r"(?i)^\W*(cuda|hip|cu)graph_?launch|graph_?exec(ution)?\b"
MOST_AS_ONE = 0.9
"""Share of the kernel time in rows that each stand for a whole graph, from which on kernels tell nothing."""


def check_launches(work: dict[str, pa.Table], note: Callable[..., None]) -> dict[str, pa.Table]:
    """Notes what makes launches unreliable; the tables, without launches where the correlation 0 stands for none."""
    work = {name: _without_zero(table, name, note) for name, table in work.items()}
    for name, table in work.items():
        _before_launch(table, name, note)
    if "kernel" in work:
        _shared_launches(work["kernel"], note)
        _no_time_at_all(work["kernel"], note)
        _graph_as_one(work["kernel"], note)
    return work


def check_calls(process: Ints, correlation: Ints, start: Ints, end: Ints, note: Callable[..., None]) -> None:
    """Notes host calls that have the correlation of an earlier call of their process which was over before they began.

    Calls are sorted by process, correlation, start, and end descending; one within another (a driver call in a runtime
    call) is no duplicate.
    """
    first = np.ones(len(start), bool)
    first[1:] = (process[1:] != process[:-1]) | (correlation[1:] != correlation[:-1])
    if first.all():
        return
    begin = np.maximum.accumulate(np.where(first, np.arange(len(start)), 0))
    again = ~first & (start > end[begin]) & (correlation != 0)
    if again.any():
        at = int(np.flatnonzero(again)[0])
        note(
            "repeated-correlation",
            "calls that carry the id of an earlier call: work with that id counts as caused by the first",
            count=int(again.sum()),
            example=f"correlation {correlation[at]} of process {process[at]}, again at {start[at]} ns",
        )


def _without_zero(table: pa.Table, name: str, note: Callable[..., None]) -> pa.Table:
    """0 is what profilers write for "no correlation": where several rows have it, no call with that id caused them."""
    zero = pc.equal(table["correlation"], 0)
    count = pc.sum(zero).as_py() or 0
    if count < 2:
        return table
    note(
        "zero-correlation",
        "work with the correlation 0, which says none: no launch is known for it",
        count=count,
        example=_case(table, name, zero),
    )
    for column in LAUNCH:
        at = table.schema.get_field_index(column)
        table = table.set_column(at, table.schema.field(at), pc.if_else(pc.fill_null(zero, False), None, table[column]))
    return table


def _before_launch(table: pa.Table, name: str, note: Callable[..., None]) -> None:
    launch = table["launch_ns"]
    if launch.null_count == len(launch):
        return
    early = pc.subtract(launch, table["start_ns"])
    if table["flaw"].null_count < len(table):
        early = pc.if_else(pc.equal(pc.fill_null(table["flaw"], ""), NO_START), None, early)
    count = pc.sum(pc.greater(early, 0)).as_py() or 0
    if count:
        worst = pc.max(early)
        note(
            "before-launch",
            "work that starts before the call that launched it: the clocks of host and device disagree",
            count=count,
            example=f"{_case(table, name, pc.equal(early, worst))}, {worst.as_py()} ns before its launch",
        )


def _shared_launches(kernel: pa.Table, note: Callable[..., None]) -> None:
    """Several kernels of one call: a graph, whether the source says so or not; on several devices, two calls.

    Without a launch that is known, one correlation of all kernels is no sign of one call: the recorder set none.
    """
    if kernel["launch"].null_count == len(kernel) and pc.count_distinct(kernel["correlation"], "all").as_py() == 1:
        return
    process, correlation = kernel["process"].to_numpy(), pc.fill_null(kernel["correlation"], 0).to_numpy()
    at = np.flatnonzero(_repeated(process, correlation))
    if not len(at):
        return
    device = kernel["device"].to_numpy()[at]
    order = np.lexsort((device, correlation[at], process[at]))
    at, device = at[order], device[order]
    group = np.r_[True, (correlation[at][1:] != correlation[at][:-1]) | (process[at][1:] != process[at][:-1])]
    begins = np.flatnonzero(group)
    sizes = np.diff(np.r_[begins, len(at)])
    spread = np.maximum.reduceat(device, begins) != np.minimum.reduceat(device, begins)
    largest = begins[int(np.argmax(sizes))]
    note(
        "shared-launch",
        "kernels that one launch started, as the replay of a graph does: they share its time and its operator",
        count=len(at),
        example=f"{len(begins)} launches; correlation {correlation[at[largest]]} started {sizes.max()} kernels",
    )
    if spread.any():
        one = begins[int(np.flatnonzero(spread)[0])]
        note(
            "duplicate-correlation",
            "kernels on several devices with one id, which must be of several calls: linked to the first of them",
            count=int(sizes[spread].sum()),
            example=f"correlation {correlation[at[one]]} of process {process[at[one]]} on several devices",
        )


def _repeated(process: Ints, correlation: Ints) -> Bools:
    """Which rows share their (process, correlation) with another one; rows are sorted by process, 0 is none."""
    repeated = np.zeros(len(process), bool)
    cuts = [0, *(np.flatnonzero(process[1:] != process[:-1]) + 1).tolist(), len(process)]
    for begin, stop in pairwise(cuts):
        ids = correlation[begin:stop]
        if not len(ids):
            continue
        least, most = int(ids.min()), int(ids.max())
        if most - least > DENSE * len(ids) + 1024:
            values, ids = np.unique(ids, return_inverse=True)
            zero = int(np.searchsorted(values, 0)) if 0 in values else -1
            repeated[begin:stop] = (np.bincount(ids)[ids] > 1) & (ids != zero)
        else:
            repeated[begin:stop] = (np.bincount(ids - least)[ids - least] > 1) & (ids != 0)
    return repeated


def _no_time_at_all(kernel: pa.Table, note: Callable[..., None]) -> None:
    unmarked = pc.is_null(kernel["flaw"])
    empty = pc.and_(pc.equal(kernel["start_ns"], kernel["end_ns"]), unmarked)
    count = pc.sum(empty).as_py() or 0
    if count:
        note(
            "zero-duration",
            "kernels of 0 ns, shorter than a step of the recorder's clock: counted, but they add nothing to any time",
            count=count,
            example=_case(kernel, "kernel", empty),
        )


def _graph_as_one(kernel: pa.Table, note: Callable[..., None]) -> None:
    names = pc.unique(kernel["name"].combine_chunks())
    names = (names.dictionary.take(names.indices) if pa.types.is_dictionary(names.type) else names).drop_null()
    names = names.filter(pc.match_substring_regex(names, GRAPH_LAUNCH))
    if not len(names):
        return
    whole = pc.is_in(kernel["name"].cast(pa.string()), value_set=names)
    length = pc.subtract(kernel["end_ns"], kernel["start_ns"])
    share = (pc.sum(length.filter(whole)).as_py() or 0) / (pc.sum(length).as_py() or 1)
    if share > MOST_AS_ONE:
        note(
            "graph-as-one",
            "rows that stand for a whole graph: the kernels within are not recorded, nor is the idle time among them",
            count=pc.sum(whole).as_py(),
            example=f"{names[0].as_py()}: {share:.0%} of the kernel time",
        )


def _case(table: pa.Table, name: str, where: pa.ChunkedArray) -> str:
    """The first of those rows: table, name and start."""
    first = table.slice(pc.index(where, True).as_py(), 1).to_pylist()[0]
    return " ".join(str(v) for v in (name, first.get("name") or first.get("kind")) if v) + f" at {first['start_ns']} ns"
