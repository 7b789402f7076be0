"""Finds out which process an event belongs to, where its pid does not say.

On the host the pid is the process. Device work stands in lanes whose pid is the device; spans of the profiler stand
in lanes called "Spans" or -1. With one process in the file, all of that is its. Where several were merged into one
file, a lane's own mark (`rank` in the arguments, or a label as in "[TP0] 1234") names its process; without one, a
lane belongs to the process whose calls share the most correlations with its work.
"""

import re
from collections import Counter
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from .kineto_batch import NOTHING
from .sink import Sink

__all__ = ["Columns", "Lanes", "Processes"]

Ints = npt.NDArray[np.int64]
Columns = Mapping[str, Any]
Completion = Callable[[Columns, Ints], Columns]
"""Fills in, from the pids of held rows, what only the whole file tells."""

LABEL = re.compile(r"\[([^\]]+)\]")


@dataclass(frozen=True)
class Lanes:
    """Where rows stand: pid of the lane, and rank and correlation where the event has them; NOTHING where not."""

    pid: Ints
    rank: Ints
    correlation: Ints

    def __len__(self) -> int:
        return len(self.pid)

    def where(self, chosen: npt.NDArray[np.bool_]) -> "Lanes":
        """Those of the rows."""
        return Lanes(self.pid[chosen], self.rank[chosen], self.correlation[chosen])


@dataclass(frozen=True)
class _Held:
    table: str
    rows: pa.Table
    lanes: Lanes
    complete: Completion | None
    work: bool


@dataclass
class Processes:
    """The processes of a file. Writes rows whose process is known, and holds back the others until all are known.

    `hosts` counts events by process, `devices` gives a lane's device, `names` are those of lanes that text names.
    """

    sink: Sink
    hosts: Counter[int] = field(default_factory=Counter[int])
    devices: dict[int, int] = field(default_factory=dict[int, int])
    names: dict[int, str] = field(default_factory=dict[int, str])
    ranks: dict[int, int | None] = field(default_factory=dict[int, int | None])
    """Rank that a lane's events name, by pid; None where they name several."""

    _weak: Counter[int] = field(default_factory=Counter[int])
    _calls: list[Lanes] = field(default_factory=list[Lanes])
    _work: list[Lanes] = field(default_factory=list[Lanes])
    _held: list[_Held] = field(default_factory=list[_Held])

    @property
    def main(self) -> int:
        """The process with the most events on the host; 0 when there is none."""
        return min(self.hosts, key=lambda pid: (-self.hosts[pid], pid), default=0)

    def write_host(self, table: str, columns: Columns, lanes: Lanes) -> None:
        """Writes rows of events on the host: their pid is the process."""
        _count(self.hosts, lanes.pid[lanes.pid != NOTHING])
        if table == "api":
            self._calls.append(lanes)
        self.write(table, columns, lanes)

    def write(self, table: str, columns: Columns, lanes: Lanes, complete: Completion | None = None) -> None:
        """Writes rows whose pid is a known process's; holds back the others, to be completed at the end."""
        self._note_ranks(lanes)
        known = np.isin(lanes.pid, list(self.hosts))
        if known.all():
            self.sink.write(table, {**columns, "process": lanes.pid})
            return
        if table == "range":
            _count(self._weak, lanes.pid[~known & (lanes.pid >= 0)])
        rows = _table(columns, len(lanes))
        if known.any():
            self.sink.write(table, {**_columns(rows.filter(pa.array(known))), "process": lanes.pid[known]})
        self._held.append(_Held(table, rows.filter(pa.array(~known)), lanes.where(~known), complete, work=False))

    def write_device(self, table: str, columns: Columns, lanes: Lanes, complete: Completion | None = None) -> None:
        """Holds back rows of device work: their pid, that of a lane, may by chance also be that of a process."""
        self._note_ranks(lanes)
        self._work.append(lanes)
        self._held.append(_Held(table, _table(columns, len(lanes)), lanes, complete, work=True))

    def finish(self) -> list[int]:
        """Writes what was held back; the processes that have events.

        Where no operator or call tells which pids are processes, those of spans do, but for those of device work.
        """
        if not self.hosts:
            work = {pid for lanes in self._work for pid in np.unique(lanes.pid).tolist()}
            self.hosts.update({pid: count for pid, count in self._weak.items() if pid not in work})
        owners = self._owners()
        ranked = {rank: pid for pid, rank in self.ranks.items() if pid in self.hosts and rank is not None}
        used = set(self.hosts)
        while self._held:
            held = self._held.pop(0)
            known = owners if held.work else owners | {pid: pid for pid in self.hosts}
            process = _replaced(held.lanes.pid, known, self.main)
            process = np.where(np.isin(held.lanes.rank, list(ranked)), _replaced(held.lanes.rank, ranked, 0), process)
            columns = _columns(held.rows)
            columns = held.complete(columns, held.lanes.pid) if held.complete else columns
            self.sink.write(held.table, {**columns, "process": process})
            used |= set(np.unique(process).tolist())
        return sorted(used)

    def lanes(self, pid: Ints) -> npt.NDArray[np.bool_]:
        """Which pids are only those of lanes, not of processes."""
        return (pid != NOTHING) & ~np.isin(pid, list(self.hosts))

    def _note_ranks(self, lanes: Lanes) -> None:
        there = (lanes.rank != NOTHING) & (lanes.pid != NOTHING)
        if there.any():
            for pid, rank in np.unique(np.stack([lanes.pid[there], lanes.rank[there]]), axis=1).T.tolist():
                self.ranks[pid] = rank if self.ranks.get(pid, rank) == rank else None

    def _owners(self) -> dict[int, int]:
        """The process of each lane of device work that is not the main one's."""
        labels = {label: pid for pid in sorted(self.hosts) if (label := self._label(pid))}
        ranked = {rank: pid for pid, rank in self.ranks.items() if pid in self.hosts}
        owners: dict[int, int] = {}
        for pid in sorted({pid for work in self._work for pid in np.unique(work.pid).tolist()}):
            rank, label = self.ranks.get(pid), self._label(pid)
            if not self.hosts and rank is not None:
                owners[pid] = pid
            elif rank in ranked:
                owners[pid] = ranked[rank]
            elif len(self.hosts) > 1:
                owners[pid] = labels[label] if label in labels else self._most_calls(pid)
        return owners

    def _label(self, pid: int) -> str:
        """What stands in brackets before a lane's name, as tools that merge ranks write it."""
        found = LABEL.match(self.names.get(pid, ""))
        return found[1] if found else ""

    def _most_calls(self, lane: int) -> int:
        wanted = np.concatenate([work.correlation[work.pid == lane] for work in self._work])
        wanted = np.unique(wanted[wanted != NOTHING])
        shared: Counter[int] = Counter()
        for calls in self._calls:
            _count(shared, calls.pid[np.isin(calls.correlation, wanted)])
        return min(shared, key=lambda pid: (-shared[pid], pid), default=self.main)


def _count(counter: Counter[int], values: Ints) -> None:
    distinct, counts = np.unique(values, return_counts=True)
    counter.update(dict(zip(distinct.tolist(), counts.tolist(), strict=True)))


def _table(columns: Columns, rows: int) -> pa.Table:
    return pa.table(
        {
            name: pa.repeat(value, rows) if isinstance(value, int | float | str | bool) else value
            for name, value in columns.items()
            if value is not None
        }
    )


def _columns(rows: pa.Table) -> dict[str, Any]:
    return dict(zip(rows.column_names, rows.columns, strict=True))


def _replaced(values: Ints, by: Mapping[int, int], other: int) -> Ints:
    """Each value by what it maps to, or by the other."""
    distinct, which = np.unique(values, return_inverse=True)
    return np.array([by.get(value, other) for value in distinct.tolist()], np.int64)[which]
