"""Finds out which process an event belongs to, where its pid does not say.

On the host the pid is the process. Device work stands in lanes whose pid is the device; spans of the profiler stand
in lanes called "Spans" or -1. With one process in the file, all of that is its. Where several were merged into one
file, a lane's own mark (`rank` in the arguments, or a label as in "[TP0] 1234") names its process; without one, a
lane belongs to the process whose calls share the most correlations with its work.
"""

import re
from collections import Counter
from collections.abc import Callable, Collection, Mapping
from dataclasses import dataclass, field
from functools import cache
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from .sink import Sink, piece_of
from .spool import NOTHING, Spool

__all__ = ["Columns", "Lanes", "Processes"]

Ints = npt.NDArray[np.int64]
Columns = Mapping[str, Any]
Completion = Callable[[Columns, Ints], Columns]
"""Fills in, from the pids of held rows, what only the whole file tells."""

HOST_EVENTS = frozenset({"api", "op", "range"})
LABEL = re.compile(r"\[([^\]]+)\]")


@dataclass(frozen=True)
class Lanes:
    """Where rows stand: pid of the lane, and the rank where the event has one; NOTHING where not."""

    pid: Ints
    rank: Ints

    @classmethod
    def of(cls, pid: Ints) -> "Lanes":
        """Lanes of rows that name nothing but their pid."""
        return cls(pid, np.full(len(pid), NOTHING, np.int64))

    def __len__(self) -> int:
        return len(self.pid)


@dataclass(frozen=True)
class _Held:
    """Rows of one table whose process is not known yet, with the columns `pid` and `rank` of their lanes."""

    table: str
    complete: Completion | None
    work: bool
    rows: Spool


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
    _work: set[int] = field(default_factory=set[int])
    _held: dict[tuple[str, Completion | None, bool], _Held] = field(
        default_factory=dict[tuple[str, Completion | None, bool], _Held]
    )

    @property
    def main(self) -> int:
        """The process with the most events on the host; 0 when there is none."""
        return min(self.hosts, key=lambda pid: (-self.hosts[pid], pid), default=0)

    def write_host(self, table: str, columns: Columns, lanes: Lanes) -> None:
        """Writes rows of events on the host: their pid is the process."""
        _count(self.hosts, lanes.pid[lanes.pid != NOTHING])
        self.write(table, columns, lanes)

    def write(self, table: str, columns: Columns, lanes: Lanes, complete: Completion | None = None) -> None:
        """Writes rows whose pid is a known process's; holds back the others, to be completed at the end."""
        self._note_ranks(lanes)
        known = _among(lanes.pid, self.hosts)
        if known.all():
            self.sink.write(table, {**columns, "process": lanes.pid})
            return
        if table == "range":
            _count(self._weak, lanes.pid[~known & (lanes.pid >= 0)])
        rows = piece_of(table, columns)
        if known.any():
            self.sink.write(table, {**_columns(rows.filter(pa.array(known))), "process": lanes.pid[known]})
        self._hold(table, rows, lanes, complete, work=False, chosen=~known)

    def write_device(self, table: str, columns: Columns, lanes: Lanes, complete: Completion | None = None) -> None:
        """Holds back rows of device work: their pid, that of a lane, may by chance also be that of a process."""
        self._note_ranks(lanes)
        self._work.update(_distinct(lanes.pid))
        self._hold(table, piece_of(table, columns), lanes, complete, work=True)

    def finish(self) -> list[int]:
        """Writes what was held back; the processes that have events.

        Where no operator or call tells which pids are processes, those of spans do, but for those of device work.
        """
        if not self.hosts:
            self.hosts.update({pid: count for pid, count in self._weak.items() if pid not in self._work})
        owners = self._owners()
        ranked = self._by_rank()
        used, unplaced = set(self.hosts), 0
        for held in self._held.values():
            known = owners if held.work else owners | {pid: pid for pid in self.hosts}
            for piece in held.rows.pieces():
                pid, rank = piece["pid"].to_numpy(), piece["rank"].to_numpy()
                unplaced += int((pid == NOTHING).sum()) if held.table in HOST_EVENTS and not held.work else 0
                process = _replaced(pid, known, self.main)
                process = np.where(_among(rank, ranked), _replaced(rank, ranked, 0), process)
                columns = _columns(piece.drop_columns(["pid", "rank"]))
                columns = held.complete(columns, pid) if held.complete else columns
                self.sink.write(held.table, {**columns, "process": process})
                used |= _distinct(process)
            held.rows.close()
        self._held.clear()
        if unplaced:
            meaning = "events of no stated process: counted as the one with the most events"
            self.sink.note("no-process", meaning, count=unplaced, example=f"process {self.main}")
        return sorted(used)

    def lanes(self, pid: Ints) -> npt.NDArray[np.bool_]:
        """Which pids are only those of lanes, not of processes."""
        return (pid != NOTHING) & ~_among(pid, self.hosts)

    def _hold(
        self,
        table: str,
        rows: pa.Table,
        lanes: Lanes,
        complete: Completion | None,
        *,
        work: bool,
        chosen: npt.NDArray[np.bool_] | None = None,
    ) -> None:
        rows = rows.append_column("pid", pa.array(lanes.pid)).append_column("rank", pa.array(lanes.rank))
        key = table, complete, work
        if key not in self._held:
            spool = self.sink.spool(f"{table}-held-{len(self._held)}")
            self._held[key] = _Held(table, complete, work, spool)
        self._held[key].rows.append(rows if chosen is None else rows.filter(pa.array(chosen)))

    def _note_ranks(self, lanes: Lanes) -> None:
        there = (lanes.rank != NOTHING) & (lanes.pid != NOTHING)
        if there.any():
            for pid, rank in np.unique(np.stack([lanes.pid[there], lanes.rank[there]]), axis=1).T.tolist():
                self.ranks[pid] = rank if self.ranks.get(pid, rank) == rank else None

    def _by_rank(self) -> dict[int, int]:
        """The process of each rank that a process alone names."""
        return {rank: pid for pid, rank in self.ranks.items() if pid in self.hosts and rank is not None}

    def _owners(self) -> dict[int, int]:
        """The process of each lane of device work that is not the main one's."""
        labels = {label: pid for pid in sorted(self.hosts) if (label := self._label(pid))}
        ranked = self._by_rank()
        ids = cache(self._ids)
        owners: dict[int, int] = {}
        for pid in sorted(self._work):
            rank, label = self.ranks.get(pid), self._label(pid)
            if not self.hosts and rank is not None:
                owners[pid] = pid
            elif rank is not None and rank in ranked:
                owners[pid] = ranked[rank]
            elif len(self.hosts) > 1:
                owners[pid] = labels[label] if label in labels else self._most_calls(pid, *ids())
        return owners

    def _label(self, pid: int) -> str:
        """What stands in brackets before a lane's name, as tools that merge ranks write it."""
        found = LABEL.match(self.names.get(pid, ""))
        return found[1] if found else ""

    def _ids(self) -> tuple[Ints, Ints, Ints, Ints]:
        """Lane and correlation of all device work that has one, process and correlation of all calls."""
        work = [held.rows for held in self._held.values() if held.work and "correlation" in held.rows.columns]
        lane, wanted = (
            np.concatenate([np.zeros(0, np.int64), *(rows.numbers(column) for rows in work)])
            for column in ("pid", "correlation")
        )
        calls, known = self.sink.spool("api"), wanted != NOTHING
        return lane[known], wanted[known], calls.numbers("process"), calls.numbers("correlation")

    def _most_calls(self, pid: int, lane: Ints, wanted: Ints, process: Ints, correlation: Ints) -> int:
        """The process whose calls share the most correlations with the work of the lane of that pid."""
        shared: Counter[int] = Counter()
        _count(shared, process[np.isin(correlation, np.unique(wanted[lane == pid]))])
        return min(shared, key=lambda pid: (-shared[pid], pid), default=self.main)


def _count(counter: Counter[int], values: Ints) -> None:
    counts = pa.array(values).value_counts()
    counter.update(dict(zip(counts.field(0).to_pylist(), counts.field(1).to_pylist(), strict=True)))


def _distinct(values: Ints) -> set[int]:
    return set(pa.array(values).unique().to_pylist())


def _among(values: Ints, known: Collection[int]) -> npt.NDArray[np.bool_]:
    """Which of the values are known ones: a look-up for each distinct value."""
    encoded = pa.array(values).dictionary_encode()
    there = np.array([value in known for value in encoded.dictionary.to_pylist()], bool)
    return there[encoded.indices.to_numpy()]


def _columns(rows: pa.Table) -> dict[str, Any]:
    return dict(zip(rows.column_names, rows.columns, strict=True))


def _replaced(values: Ints, by: Mapping[int, int], other: int) -> Ints:
    """Each value by what it maps to, or by the other."""
    encoded = pa.array(values).dictionary_encode()
    return np.array([by.get(value, other) for value in encoded.dictionary.to_pylist()], np.int64)[
        encoded.indices.to_numpy()
    ]
