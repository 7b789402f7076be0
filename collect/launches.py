"""What the launches of device work are worth: clocks that disagree, ids that several share, graphs seen as one row."""

from collections.abc import Callable
from dataclasses import dataclass, replace
from itertools import pairwise
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute

from ..store.columns import NO_START
from .spool import whole

__all__ = ["Launches", "case", "check_calls", "check_shared", "note_zero"]

pc: Any = pyarrow.compute  # its functions are made at import, so its types say nothing
Ints = npt.NDArray[np.int64]
Bools = npt.NDArray[np.bool_]

EXAMPLE = 120
"""Characters of a name that a note's example shows."""
DENSE = 8
"""Correlations are counted in an array if their range is at most so many times their number."""
GRAPH_LAUNCH = r"(?i)^\W*(cuda|hip|cu)graph_?launch|graph_?exec(ution)?\b"
MOST_AS_ONE = 0.9
"""Share of the kernel time in rows that each stand for a whole graph, from which on kernels tell nothing."""


class Launches:
    """What makes the launches of device work unreliable, counted over the blocks of a trace."""

    def __init__(self) -> None:
        self._early: dict[str, _Early] = {}
        self._empty = 0
        self._empty_case = ""
        self._graphs = 0
        self._graph_name = ""
        self._graph_ns = self._kernel_ns = 0

    def check(self, work: dict[str, pa.Table]) -> None:
        """Counts what stands in a block: tables that are linked, with their flaws marked."""
        for name, table in work.items():
            self._before_launch(table, name)
        if "kernel" in work:
            self._no_time_at_all(work["kernel"])
            self._graph_as_one(work["kernel"])

    def tell(self, note: Callable[..., None]) -> None:
        """Notes what was counted."""
        for early in self._early.values():
            note(
                "before-launch",
                "work that starts before the call that launched it: the clocks of host and device disagree",
                count=early.count,
                example=f"{early.case}, {early.worst_ns} ns before its launch",
            )
        if self._empty:
            note(
                "zero-duration",
                "kernels of 0 ns, shorter than a step of the recorder's clock: counted, but they add nothing to any "
                "time",
                count=self._empty,
                example=self._empty_case,
            )
        share = self._graph_ns / (self._kernel_ns or 1)
        if share > MOST_AS_ONE:
            note(
                "graph-as-one",
                "rows that stand for a whole graph: the kernels within are not recorded, nor is the idle time among "
                "them",
                count=self._graphs,
                example=f"{self._graph_name}: {share:.0%} of the kernel time",
            )

    def _before_launch(self, table: pa.Table, name: str) -> None:
        launch = table["launch_ns"]
        if launch.null_count == len(launch):
            return
        early = pc.subtract(launch, table["start_ns"])
        if table["flaw"].null_count < len(table):
            early = pc.if_else(pc.equal(pc.fill_null(table["flaw"], ""), NO_START), None, early)
        count = pc.sum(pc.greater(early, 0)).as_py() or 0
        if not count:
            return
        worst = pc.max(early).as_py()
        before = self._early.get(name)
        if before is None or worst > before.worst_ns:
            found = _Early(count, worst, case(table, name, pc.equal(early, pa.scalar(worst))))
        else:
            found = before
        self._early[name] = replace(found, count=count + (before.count if before else 0))

    def _no_time_at_all(self, kernel: pa.Table) -> None:
        empty = pc.and_(pc.equal(kernel["start_ns"], kernel["end_ns"]), pc.is_null(kernel["flaw"]))
        count = pc.sum(empty).as_py() or 0
        if count and not self._empty:
            self._empty_case = case(kernel, "kernel", empty)
        self._empty += count

    def _graph_as_one(self, kernel: pa.Table) -> None:
        length = pc.subtract(kernel["end_ns"], kernel["start_ns"])
        self._kernel_ns += pc.sum(length).as_py() or 0
        names = pc.unique(whole(kernel["name"]))
        names = (names.dictionary.take(names.indices) if pa.types.is_dictionary(names.type) else names).drop_null()
        names = names.filter(pc.match_substring_regex(names, GRAPH_LAUNCH))
        if not len(names):
            return
        graphs = pc.is_in(kernel["name"].cast(pa.string()), value_set=names)
        self._graphs += pc.sum(graphs).as_py()
        self._graph_name = self._graph_name or names[0].as_py()[:EXAMPLE]
        self._graph_ns += pc.sum(length.filter(graphs)).as_py() or 0


@dataclass(frozen=True)
class _Early:
    """Work of a table that starts before its launch: how many rows, by how much at most, and which that is."""

    count: int
    worst_ns: int
    case: str


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


def note_zero(name: str, count: int, first: pa.Table, note: Callable[..., None]) -> None:
    """Notes rows with the correlation 0, which is what profilers write for "no correlation"; `first` is one of them."""
    note(
        "zero-correlation",
        "work with the correlation 0, which says none: no launch is known for it",
        count=count,
        example=case(first, name, pa.chunked_array([[True]])),
    )


def check_shared(process: Ints, correlation: Ints, device: Ints, note: Callable[..., None], *, linked: bool) -> None:
    """Notes kernels of one call: a graph, whether the source says so or not; on several devices, two calls.

    0 is no correlation. Unless some launch is known (`linked`), one correlation of all kernels is no sign of one call:
    the recorder set none.
    """
    if not linked and len(correlation) and (correlation == correlation[0]).all():
        return
    by_process = np.argsort(process, kind="stable") if (process[1:] < process[:-1]).any() else slice(None)
    process, correlation, device = process[by_process], correlation[by_process], device[by_process]
    at = np.flatnonzero(_repeated(process, correlation))
    if not len(at):
        return
    at = at[np.lexsort((device[at], correlation[at], process[at]))]
    process, correlation, device = process[at], correlation[at], device[at]
    begins = np.flatnonzero(np.r_[True, (correlation[1:] != correlation[:-1]) | (process[1:] != process[:-1])])
    sizes = np.diff(np.r_[begins, len(at)])
    spread = np.maximum.reduceat(device, begins) != np.minimum.reduceat(device, begins)
    largest = begins[int(np.argmax(sizes))]
    note(
        "shared-launch",
        "kernels that one launch started, as the replay of a graph does: they share its time and its operator",
        count=len(at),
        example=f"{len(begins)} launches; correlation {correlation[largest]} started {sizes.max()} kernels",
    )
    if spread.any():
        one = begins[int(np.flatnonzero(spread)[0])]
        note(
            "duplicate-correlation",
            "kernels on several devices with one id, which must be of several calls: linked to the first of them",
            count=int(sizes[spread].sum()),
            example=f"correlation {correlation[one]} of process {process[one]} on several devices",
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


def case(table: pa.Table, name: str, where: pa.ChunkedArray) -> str:
    """The first of those rows as the example of a note: table, name and start."""
    first = table.slice(pc.index(where, True).as_py(), 1).to_pylist()[0]
    what = " ".join(str(v)[:EXAMPLE] for v in (name, first.get("name") or first.get("kind")) if v)
    return f"{what} at {first['start_ns']} ns"
