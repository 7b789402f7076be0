"""Rows by lane and time: which lane each is in, and the order. Sorts that are fast where rows come nearly in order."""

from collections.abc import Callable, Sequence
from itertools import pairwise

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from ..store.compiled import jit
from .spool import NOTHING, Spool, whole

__all__ = ["Lanes", "bounds_of", "descends", "idle_places", "in_order", "narrowed"]

MOST_APART = 8
Ints = npt.NDArray[np.int64]
Codes = npt.NDArray[np.int32]


class Lanes:
    """Numbers the lanes of spools, a lane being what the columns say together; in ascending order of their values.

    `codes` has an array for each spool, shape (rows,); `values` the columns' values by number, shape (lanes, columns).
    """

    def __init__(self, spools: Sequence[Spool], columns: Sequence[str]) -> None:
        known: dict[tuple[int, ...], int] = {}
        codes = [_all_codes(spool, columns, known) for spool in spools]
        # Null comes last, as it does where Arrow or DuckDB sort.
        ranked = sorted(known, key=lambda lane: [(value == NOTHING, value) for value in lane])
        rank = np.empty(len(known), np.int32)
        rank[[known[lane] for lane in ranked]] = np.arange(len(known))
        for code in codes:
            _renumber(code, rank)
        self.codes: list[Codes] = codes
        self.values: Ints = np.array(ranked, np.int64).reshape(len(ranked), len(columns))


def _all_codes(spool: Spool, columns: Sequence[str], known: dict[tuple[int, ...], int]) -> Codes:
    codes, at = np.empty(len(spool), np.int32), 0
    for piece in spool.pieces(columns):
        codes[at : at + len(piece)] = _codes(piece, columns, known)
        at += len(piece)
    return codes


def _codes(piece: pa.Table, columns: Sequence[str], known: dict[tuple[int, ...], int]) -> Codes:
    """The number of each row's lane, in the order of their first coming: a hash of each value, and of the lane."""
    encoded = [_encoded(piece, column) for column in columns]
    code = np.zeros(len(piece), np.int64)
    for column in encoded:
        code = code * max(1, len(column.dictionary)) + column.indices.to_numpy()
    lanes = pa.array(code).dictionary_encode()
    rest, values = lanes.dictionary.to_numpy(), list[list[int]]()
    for column in reversed(encoded):
        rest, place = np.divmod(rest, max(1, len(column.dictionary)))
        values.append(column.dictionary.to_numpy()[place].tolist())
    numbers = [known.setdefault(lane, len(known)) for lane in zip(*reversed(values), strict=True)]
    return np.array(numbers, np.int32)[lanes.indices.to_numpy()]


def _encoded(piece: pa.Table, column: str) -> pa.DictionaryArray:
    if column not in piece.column_names:
        return pa.repeat(pa.scalar(NOTHING, pa.int64()), len(piece)).dictionary_encode()
    return whole(piece[column]).cast(pa.int64()).fill_null(NOTHING).dictionary_encode()


def narrowed(values: Ints | Codes) -> Ints | Codes:
    """The numbers in half the memory, if all of them fit, as ids nearly always do."""
    fit = len(values) and values.min() >= -(2**31) and values.max() < 2**31
    return values.astype(np.int32, copy=False) if fit else values


@jit()
def _renumber(codes: Codes, rank: Codes) -> None:
    """Replaces each code by its rank, in place."""
    for i in range(len(codes)):
        codes[i] = rank[codes[i]]


def bounds_of(lane: Codes) -> Ints:
    """Where the rows of each lane begin when they are parted by lane, and where the last ones end."""
    bounds = np.zeros(int(lane.max(initial=-1)) + 2, np.int64)
    _bounds(lane, bounds)
    return bounds


@jit()
def _bounds(lane: Codes, bounds: Ints) -> None:
    """One pass that takes no memory, where NumPy's counts take twice that of the lanes; `bounds` comes as zeros."""
    for row in range(len(lane)):
        bounds[lane[row] + 1] += 1
    for i in range(1, len(bounds)):
        bounds[i] += bounds[i - 1]


@jit()
def descends(times: Ints, rows: Codes) -> bool:
    """Whether a row is before the one that stands before it."""
    for i in range(1, len(rows)):  # noqa: SIM110 - compiled: a generator would not be
        if times[rows[i]] < times[rows[i - 1]]:
            return True
    return False


@jit()
def _by_lane(lane: Codes, places: Ints, order: Codes) -> None:
    """Parts the rows by lane, those of a lane in the order they come; `places` is where each lane's next one goes."""
    for row in range(len(lane)):
        place = places[lane[row]]
        order[place] = row
        places[lane[row]] = place + 1


@jit()
def _ties(lane: Codes, start: Ints, order: Codes, ties: npt.NDArray[np.bool_]) -> int:
    """Marks rows that are of the lane and the start of the one before them in the order; how many there are."""
    count = 0
    for i in range(len(order)):
        row, before = order[i], order[i - 1]
        ties[i] = i > 0 and start[row] == start[before] and lane[row] == lane[before]
        count += ties[i]
    return count


def in_order(lane: Codes, start: Ints, end: Callable[[], Ints] | None = None) -> Codes:
    """The order by lane, start and, if given, end; rows alike in all of them as they came.

    One pass to part the lanes, and a sort of those that are not in time's order already. Ends are asked for only where
    rows of a lane start at the same time.
    """
    order = np.empty(len(lane), np.int32)
    bounds = bounds_of(lane)
    _by_lane(lane, bounds.copy(), order)
    for begin, stop in pairwise(bounds.tolist()):
        rows = order[begin:stop]
        if descends(start, rows):
            rows[:] = rows[np.argsort(start[rows], kind="stable")]
    if end is None:
        return order
    ties = np.empty(len(order), bool)
    if _ties(lane, start, order, ties):
        group = np.cumsum(~ties, dtype=np.int32)
        at = np.flatnonzero(ties | np.r_[ties[1:], False])
        order[at] = order[at][np.lexsort((end()[order[at]], group[at]))]
    return order


def idle_places(lane: Codes, start: Ints, end: Ints, order: Codes, apart: int) -> list[int]:
    """Places in the order where nothing before of the same lane runs on: so many rows apart, or as few more as can be.

    Where a lane is never idle, as with branches of a graph, it is cut after eight times as many.
    """
    places = np.empty(len(order) // apart + 1, np.int64)
    return places[: _idle_places(lane, start, end, order, apart, places)].tolist()


@jit()
def _idle_places(lane: Codes, start: Ints, end: Ints, order: Codes, apart: int, places: Ints) -> int:
    count, begin, latest = 0, 0, NOTHING
    for i in range(len(order)):
        row = order[i]
        if i > 0 and lane[row] != lane[order[i - 1]]:
            latest = NOTHING
        since = i - begin
        if since >= apart and (start[row] >= latest or since >= MOST_APART * apart):
            places[count] = begin = i
            count += 1
        latest = max(latest, end[row])
    return count
