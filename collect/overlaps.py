"""Work that runs at the same time on one stream: counted, and told from work whose end cannot be right.

A stream runs its operations one after the other. Neighbours may overlap (programmatic dependent launch), and branches
of a graph do. An operation that runs on over several later ones, and far longer than its like, has a wrong end.
"""

from collections import defaultdict
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from itertools import pairwise
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute

from .spool import whole

__all__ = ["Overlaps", "Stream", "streams"]

pc: Any = pyarrow.compute  # its functions are made at import, so its types say nothing
Ints = npt.NDArray[np.int64]
Bools = npt.NDArray[np.bool_]

COVERED = 3
"""Later operations that one must run over to be suspected: dependent launch and rounding reach over one, rarely two."""
COVERED_ALONE = 10
"""The same for an operation whose like is too rare to compare it with."""
TIMES_LONGER = 10
"""And it must be so many times as long as the longest of its like; of its whole stream, where those are too rare."""
LIKE = 3
"""So many others make the distribution of a name."""
UNORDERED = 0.1
"""A stream on which so large a share runs over two later ones is no queue: nothing on it is suspected."""


@dataclass(frozen=True, eq=False)
class Stream:
    """The operations of one stream by start; `table` numbers the table each is in, `row` is its place there."""

    start: Ints
    end: Ints
    table: Ints
    row: Ints

    def without(self, wrong: list[Bools]) -> "Stream":
        """The stream without the rows that are wrong, given as a mask for each table."""
        kept = np.ones(len(self.start), bool)
        for number, rows in enumerate(wrong):
            of_it = self.table == number
            kept[of_it] = ~rows[self.row[of_it]]
        return Stream(self.start[kept], self.end[kept], self.table[kept], self.row[kept])


class Overlaps:
    """What overlaps on its stream, counted over the blocks of a trace."""

    def __init__(self) -> None:
        self._found = np.zeros(3, np.int64)

    def check(self, work: dict[str, pa.Table]) -> dict[str, Bools]:
        """Counts what overlaps in a block; which rows of each table are overlong."""
        names = list(work)
        suspected: list[tuple[Stream, Ints]] = []
        for stream in streams([work[name] for name in names]):
            suspects = _suspects(stream)
            if len(suspects):
                suspected.append((stream, suspects))
            else:
                self._found += _overlaps(stream)
        if not suspected:
            return {}
        wrong = [_overlong(work[name], name, number, suspected) for number, name in enumerate(names)]
        for stream, _ in suspected:
            self._found += _overlaps(stream.without(wrong))
        return dict(zip(names, wrong, strict=True))

    def tell(self, note: Callable[..., None]) -> None:
        """Notes what was counted."""
        count, within, shared_ns = self._found.tolist()
        if count:
            note(
                "overlap",
                "work that runs while other work of its stream does: kept; summed durations count the shared time "
                "twice",
                count=count,
                example=f"{shared_ns} ns shared in all; {within} lie within another",
            )


def streams(tables: list[pa.Table]) -> Iterator[Stream]:
    """The streams with two operations or more, of tables sorted by process, device, stream and start."""
    places: defaultdict[tuple[int, ...], list[tuple[int, int, int]]] = defaultdict(list)
    for number, table in enumerate(tables):
        keys = [table[name].to_numpy() for name in ("process", "device", "stream")]
        changed = np.logical_or.reduce([key[1:] != key[:-1] for key in keys])
        begins = np.r_[np.zeros(min(len(table), 1), np.int64), np.flatnonzero(changed) + 1]
        bounds = [*begins.tolist(), len(table)]
        for key, place in zip(zip(*(key[begins].tolist() for key in keys), strict=True), pairwise(bounds), strict=True):
            places[key].append((number, *place))
    starts = [table["start_ns"].to_numpy() for table in tables]
    ends = [table["end_ns"].to_numpy() for table in tables]
    for parts in places.values():
        if sum(stop - begin for _, begin, stop in parts) > 1:
            yield _merged(parts, starts, ends)


def _merged(parts: list[tuple[int, int, int]], starts: list[Ints], ends: list[Ints]) -> Stream:
    """The parts of tables that one stream has, in the order of their starts; each is in order already."""
    if len(parts) == 1:
        ((number, begin, stop),) = parts
        table = np.broadcast_to(np.int64(number), stop - begin)
        return Stream(starts[number][begin:stop], ends[number][begin:stop], table, np.arange(begin, stop))
    start = np.concatenate([starts[number][begin:stop] for number, begin, stop in parts])
    end = np.concatenate([ends[number][begin:stop] for number, begin, stop in parts])
    table = np.concatenate([np.full(stop - begin, number) for number, begin, stop in parts])
    row = np.concatenate([np.arange(begin, stop) for _, begin, stop in parts])
    order = np.argsort(start, kind="stable")  # merges runs that are in order
    return Stream(start[order], end[order], table[order], row[order])


def _overlaps(stream: Stream) -> Ints:
    """How many operations start before one before them ends, how many of these end before it, and the time shared."""
    before = np.maximum.accumulate(stream.end)[:-1]
    shared = np.minimum(before, stream.end[1:]) - stream.start[1:]
    over = shared > 0
    return np.array([over.sum(), (over & (stream.end[1:] <= before)).sum(), shared[over].sum()])


def _suspects(stream: Stream) -> Ints:
    """Positions of the operations that run on over several later ones, on a stream that else runs in order."""
    over_two = stream.end[:-2] > stream.start[2:]
    if not over_two.any() or over_two.sum() > max(1, UNORDERED * len(stream.start)):
        return np.zeros(0, np.int64)
    return np.flatnonzero(stream.end[:-COVERED] > stream.start[COVERED:])


def _overlong(table: pa.Table, name: str, number: int, suspected: list[tuple[Stream, Ints]]) -> Bools:
    """Which rows of the table are suspects that are far longer than their like."""
    wrong = np.zeros(len(table), bool)
    for stream, suspects in suspected:
        wrong[stream.row[suspects[stream.table[suspects] == number]]] = True
    wrong &= _alone(table, wrong)
    if not wrong.any():
        return wrong
    length = table["end_ns"].to_numpy() - table["start_ns"].to_numpy()
    kind = _kinds(table, name)
    others = np.bincount(kind[~wrong], minlength=int(kind.max()) + 1)
    longest = np.zeros(len(others), np.int64)
    np.maximum.at(longest, kind[~wrong], length[~wrong])
    comparable = others[kind] >= LIKE
    chosen = wrong & comparable & (length >= TIMES_LONGER * longest[kind])
    for stream, suspects in suspected:
        rest = np.ones(len(stream.start), bool)
        rest[suspects] = False
        bound = TIMES_LONGER * int((stream.end - stream.start)[rest].max(initial=0))
        of_it = suspects[stream.table[suspects] == number]
        covered = np.searchsorted(stream.start, stream.end[of_it]) - of_it - 1
        row = stream.row[of_it]
        chosen[row] |= wrong[row] & ~comparable[row] & (covered >= COVERED_ALONE) & (length[row] >= bound)
    return chosen


def _alone(table: pa.Table, rows: Bools) -> Bools:
    """Which of the rows are of no graph, share no launch with a neighbour, and are of the context of what follows."""
    at = np.flatnonzero(rows)
    free = np.zeros(len(table), bool)
    if len(at):
        neighbours = np.clip(at[:, None] + np.arange(-1, COVERED + 1), 0, len(table) - 1)
        correlation = _values(table, "correlation", neighbours)
        context = _values(table, "context", neighbours)
        own = neighbours == at[:, None]
        mine = _values(table, "correlation", at)
        shared = (mine != 0) & ((correlation == mine[:, None]) & ~own).any(axis=1)
        elsewhere = (context != _values(table, "context", at)[:, None])[:, 1:].any(axis=1)
        free[at] = (_values(table, "graph", at) == 0) & ~shared & ~elsewhere
    return free


def _values(table: pa.Table, column: str, rows: Ints) -> Ints:
    """The column's values at those rows, of the same shape; 0 where null."""
    taken = pc.fill_null(table[column].take(pa.array(rows.ravel())), 0)
    return taken.to_numpy().reshape(rows.shape)


def _kinds(table: pa.Table, name: str) -> Ints:
    """A number for each row, the same for operations that are alike: kernels by name, copies by direction."""
    column = {"kernel": "name", "copy": "kind"}.get(name)
    if column is None:
        return np.zeros(len(table), np.int64)
    texts = whole(table[column])
    codes = texts if pa.types.is_dictionary(texts.type) else texts.dictionary_encode()
    return pc.fill_null(codes.indices, -1).to_numpy().astype(np.int64) + 1
