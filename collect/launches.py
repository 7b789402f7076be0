"""What the launches of device work are worth: clocks that disagree, ids that several share, graphs seen as one row."""

from collections.abc import Callable, Iterable
from dataclasses import dataclass, replace
from typing import Any, TypeAlias

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute

from ..store.columns import NO_START
from .spool import whole

__all__ = ["Launches", "case", "check_calls", "check_shared", "note_zero"]

pc: Any = pyarrow.compute  # its functions are made at import, so its types say nothing
Ints = npt.NDArray[np.int64]
Ids: TypeAlias = Ints | npt.NDArray[np.int32]
Kernels: TypeAlias = Callable[[], Iterable[tuple[Ints, Ints, Ints]]]

EXAMPLE = 120
"""Characters of a name that a note's example shows."""
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
        for _, early in sorted(self._early.items(), key=lambda one: (-one[1].worst_ns, one[0])):  # the first is shown
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


def check_calls(process: Ints, correlation: Ids, start: Ints, end: Ints, note: Callable[..., None]) -> None:
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


def check_shared(kernels: Kernels, note: Callable[..., None], *, linked: bool) -> None:
    """Notes kernels of one call: a graph, whether the source says so or not; on several devices, two calls.

    `kernels` gives process, correlation (0 is none) and device of all kernels in pieces, each time it is called. Unless
    some launch is known (`linked`), one correlation of all kernels is no sign of one call: the recorder set none.
    """
    grown: dict[int, bytearray] = {}  # grows in place: pieces kept between those that are read would scatter the memory
    for process, correlation, _ in kernels():
        for owner in np.unique(process).tolist():
            grown.setdefault(owner, bytearray()).extend(correlation[process == owner].tobytes())
    ids = {owner: np.frombuffer(grown[owner], np.int64) for owner in sorted(grown)}
    ends = {int(end) for values in ids.values() for end in (values.min(), values.max())}
    if not linked and len(ends) == 1:
        return
    repeated = {owner: _repeated(values) for owner, values in ids.items()}
    del grown, ids
    shared = {owner: _Shared(found) for owner, found in repeated.items() if len(found)}
    if not shared:
        return
    for process, correlation, device in kernels():
        for owner, found in shared.items():
            own = process == owner
            found.add(correlation[own], device[own])
    largest = max(shared.values(), key=lambda found: int(found.count.max()))
    most = int(np.argmax(largest.count))
    note(
        "shared-launch",
        "kernels that one launch started, as the replay of a graph does: they share its time and its operator",
        count=sum(int(found.count.sum()) for found in shared.values()),
        example=f"{sum(len(found.ids) for found in shared.values())} launches; "
        f"correlation {largest.ids[most]} started {largest.count[most]} kernels",
    )
    spread = {owner: np.flatnonzero(found.least != found.most) for owner, found in shared.items()}
    spread = {owner: which for owner, which in spread.items() if len(which)}
    if spread:
        owner, which = next(iter(spread.items()))
        note(
            "duplicate-correlation",
            "kernels on several devices with one id, which must be of several calls: linked to the first of them",
            count=sum(int(shared[owner].count[which].sum()) for owner, which in spread.items()),
            example=f"correlation {shared[owner].ids[which[0]]} of process {owner} on several devices",
        )


class _Shared:
    """Correlations that several kernels of a process have, ascending: how many, the least and the greatest device."""

    def __init__(self, ids: Ints) -> None:
        self.ids = ids
        self.count = np.zeros(len(ids), np.int32)
        self.least = np.full(len(ids), np.iinfo(np.int64).max)
        self.most = np.full(len(ids), np.iinfo(np.int64).min)

    def add(self, correlation: Ints, device: Ints) -> None:
        """Counts kernels in; those of other correlations stay out."""
        at = np.minimum(np.searchsorted(self.ids, correlation), len(self.ids) - 1)
        hit = self.ids[at] == correlation
        at, device = at[hit], device[hit]
        np.add.at(self.count, at, 1)
        np.minimum.at(self.least, at, device)
        np.maximum.at(self.most, at, device)


def _repeated(values: Ints) -> Ints:
    """The values but 0 that occur more than once, each once, ascending; the values are sorted for it."""
    values.sort()
    again = values[1:][values[1:] == values[:-1]]
    again = again[again != 0]
    return again[np.r_[True, again[1:] != again[:-1]]] if len(again) else again


def case(table: pa.Table, name: str, where: pa.ChunkedArray) -> str:
    """The first of those rows as the example of a note: table, name and start."""
    first = table.slice(pc.index(where, True).as_py(), 1).to_pylist()[0]
    what = " ".join(str(v)[:EXAMPLE] for v in (name, first.get("name") or first.get("kind")) if v)
    return f"{what} at {first['start_ns']} ns"
