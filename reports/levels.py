"""Adds up a lane's operations per equal stretch of time, on levels that each hold a quarter of the one below."""

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from ..mining.sorting import lexical_order

__all__ = ["FACTOR", "FULL", "Grid", "Levels", "Times", "covered", "grid_of", "levels"]

FACTOR = 4
"""Bins of a level that make one of the next."""
FULL = 255
"""The busy value of a bin in which something runs all the time."""
MOST_BINS = 2**18
MOST_LEVELS, LEAST_LEVELS = 8, 5

Times = npt.NDArray[np.int64]


@dataclass(frozen=True)
class Grid:
    """Bins of the finest level: `count` of `width_ns` each, from `first_ns` on."""

    first_ns: int
    width_ns: int
    count: int


@dataclass(frozen=True, eq=False)
class Levels:
    """What a lane does in the bins of a grid.

    `busy` is the busy share of each finest bin in parts of `FULL`, rounded so that its sum over any number of bins from
    the first on is right to half a part; `count` the operations that start in each. `name` holds for each level, the
    finest first, the name with most time in each bin plus one; 0 where there is no operation.
    """

    busy: npt.NDArray[np.uint8]
    count: npt.NDArray[np.int64]
    name: tuple[Times, ...]


def covered(start: Times, duration: Times) -> tuple[Times, Times]:
    """Each operation cut to the time no earlier one covers, so that overlaps count once; sorted by start."""
    end = np.maximum.accumulate(start + duration)
    begin = np.maximum(start, np.concatenate([start[:1], end[:-1]]))
    return begin, end


def grid_of(first_ns: int, last_ns: int, lanes: int) -> Grid:
    """The grid for that many lanes: a power of four of bins, fewer where there are more lanes."""
    power = int(np.clip(np.floor(np.log2(MOST_BINS / max(lanes, 1)) / 2), LEAST_LEVELS, MOST_LEVELS))
    width = max(-((first_ns - last_ns) // FACTOR**power), 1)
    return Grid(first_ns, width, max(-((first_ns - last_ns) // width), 1))


def levels(start: Times, duration: Times, name: Times, grid: Grid) -> Levels:
    """The lane's levels. It is sorted by start and lies within the grid. One sort of the pieces, nearly in order."""
    bins, names, time = _pieces(start, duration, name, grid)
    done = np.cumsum(np.bincount(bins, weights=time, minlength=grid.count))
    busy = np.diff(np.floor(done * (FULL / grid.width_ns) + 0.5), prepend=0)
    begins = np.minimum((start - grid.first_ns) // grid.width_ns, grid.count - 1)  # one without length at the very end
    count = np.bincount(begins, minlength=grid.count)
    size, most = grid.count, list[Times]()
    while True:
        bins, names, time = _added(bins, names, time)
        most.append(_most(bins, names, time, size))
        if size <= FACTOR**LEAST_LEVELS:
            break
        bins, size = bins // FACTOR, -(-size // FACTOR)
    return Levels(np.minimum(busy, FULL).astype(np.uint8), count, tuple(most))


def _pieces(start: Times, duration: Times, name: Times, grid: Grid) -> tuple[Times, Times, Times]:
    """Every operation cut at the bins' edges: bin, name and time of each piece."""
    begin, end = (times - grid.first_ns for times in covered(start, duration))
    first = np.minimum(begin // grid.width_ns, grid.count - 1)
    last = np.maximum((end - 1) // grid.width_ns, first)
    pieces = last - first + 1
    which = np.repeat(np.arange(start.size), pieces)
    bins = first[which] + np.arange(which.size) - np.repeat(np.cumsum(pieces) - pieces, pieces)
    low = np.maximum(begin[which], bins * grid.width_ns)
    high = np.minimum(end[which], (bins + 1) * grid.width_ns)
    return bins, name[which], np.maximum(high - low, 0)


def _added(bins: Times, names: Times, time: Times) -> tuple[Times, Times, Times]:
    """The time of each bin and name, added up; by bin, then name."""
    order = lexical_order(bins, names)
    bins, names, time = bins[order], names[order], time[order]
    new = np.flatnonzero(np.diff(bins, prepend=-1) | np.diff(names, prepend=-1))
    return bins[new], names[new], np.add.reduceat(time, new) if new.size else time


def _most(bins: Times, names: Times, time: Times, size: int) -> Times:
    """The name with most time in each bin plus one; of equals the first. They are by bin, then name."""
    most = np.zeros(size, dtype=np.int64)
    if bins.size:
        begin = np.flatnonzero(np.diff(bins, prepend=-1))
        longest = np.repeat(np.maximum.reduceat(time, begin), np.diff(begin, append=bins.size))
        first = np.flatnonzero(time == longest)[::-1]  # of several the last one stays
        most[bins[first]] = names[first] + 1
    return most
