"""What runs on a device at once, by one sweep over the lanes of its streams.

Lanes are sorted by start, so a heap of their next starts merges them. A kind of work is under way until the latest end
of what has started of it, and so is a stream: no sort by end is needed. Cost: one pass over the operations, with the
logarithm of the number of lanes.
"""

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from ..store.compiled import jit
from .lanes import Lanes
from .sorting import Ints

__all__ = ["KINDS", "Concurrency", "Kinds", "StreamUse", "concurrency"]

KINDS = ("compute", "communication", "copy")
"""Kinds of work, by number; what runs at once is a set of them, with a bit for each."""

Kinds = npt.NDArray[np.int8]
NEVER = np.iinfo(np.int64).min
Heap = tuple[Ints, Ints]
"""Keys, and what each belongs to; the least key is first."""


@dataclass(frozen=True, eq=False)
class StreamUse:
    """By stream: operations of each kind, time busy, first start, last end, and gaps: number, sum, the longest, where.

    A gap is time between operations in which none of the stream runs. Without any the longest is 0.
    """

    stream: Ints
    computing: Ints
    communicating: Ints
    copying: Ints
    busy_ns: Ints
    start_ns: Ints
    end_ns: Ints
    gaps: Ints
    gap_ns: Ints
    longest_ns: Ints
    longest_at_ns: Ints


@dataclass(frozen=True, eq=False)
class Concurrency:
    """`time_ns[kinds, busy]`: for how long just that set of kinds ran, on so many streams; all add up to the span."""

    time_ns: Ints
    streams: StreamUse


def concurrency(lanes: Lanes, start: Ints, end: Ints, kind: Kinds) -> Concurrency:
    """Sweeps over the lanes of one device, several of which may be of one stream; there must be at least one.

    `start`, `end` and `kind` are those of the operations that the lanes point into.
    """
    streams, stream = np.unique(lanes.stream, return_inverse=True)
    time = np.zeros((1 << len(KINDS), len(streams) + 1), np.int64)
    use = np.zeros((10, len(streams)), np.int64)
    _sweep(lanes.begin, lanes.stop, stream.astype(np.int64), start, end, kind, time, use)
    return Concurrency(time, StreamUse(streams, *use))


@jit()
def _sweep(begin: Ints, stop: Ints, stream: Ints, start: Ints, end: Ints, kind: Kinds, time: Ints, use: Ints) -> None:
    """Takes the operations by start; fills in the times by set of kinds and busy streams, and the use of each stream.

    The rows of `use` are those of `StreamUse`. Before an operation is taken, time moves on to its start.
    """
    kinds, (busy, first, last, gaps, gap, longest, where) = use[:3], use[3:]
    first[:] = last[:] = NEVER
    nexts, lane_of = np.empty(len(begin), np.int64), np.empty(len(begin), np.int64)
    waiting = 0
    for lane in range(len(begin)):
        waiting = _push(nexts, lane_of, waiting, int(start[begin[lane]]), lane)
    place = begin.copy()
    running = np.empty(len(gap), np.int64), np.empty(len(gap), np.int64)
    is_running, count = np.zeros(len(gap), np.bool_), 0
    now = nexts[0]
    until = np.full(3, now)
    while waiting:
        lane = lane_of[0]
        at = place[lane]
        s, e, g = int(start[at]), int(end[at]), int(stream[lane])
        now, count = _advance(now, s, until, running, count, is_running, last, time)
        until[kind[at]] = max(until[kind[at]], e)
        if last[g] == NEVER:
            first[g] = last[g] = s
        if s > last[g]:
            gaps[g] += 1
            gap[g] += s - last[g]
            if s - last[g] > longest[g]:
                longest[g], where[g] = s - last[g], last[g]
        kinds[kind[at], g] += 1
        busy[g] += max(e - max(s, last[g]), 0)
        last[g] = max(last[g], e)
        if e > s and not is_running[g]:
            is_running[g] = True
            count = _push(running[0], running[1], count, e, g)
        place[lane] = at + 1
        if at + 1 < stop[lane]:
            _sink(nexts, lane_of, waiting, int(start[at + 1]), lane)
        else:
            waiting -= 1
            if waiting:
                _sink(nexts, lane_of, waiting, int(nexts[waiting]), int(lane_of[waiting]))
    _advance(now, int(last.max()), until, running, count, is_running, last, time)


@jit()
def _advance(
    now: int,
    to: int,
    until: Ints,
    running: Heap,
    count: int,
    is_running: npt.NDArray[np.bool_],
    last: Ints,
    time: Ints,
) -> tuple[int, int]:
    """Moves on to that moment, and adds up the time of each stretch in which nothing ends; the moment, and the streams
    still in the heap.

    A stream's key may be an end that later operations have moved: it is looked at when it comes up.
    """
    keys, streams = running
    while now < to:
        while count and keys[0] <= now:
            stream = streams[0]
            if last[stream] > now:
                _sink(keys, streams, count, int(last[stream]), int(stream))
                continue
            is_running[stream] = False
            count -= 1
            if count:
                _sink(keys, streams, count, int(keys[count]), int(streams[count]))
        step, kinds = to, 0
        if count:
            step = min(step, int(keys[0]))
        for one in range(3):
            if until[one] > now:
                kinds |= 1 << one
                step = min(step, int(until[one]))
        time[kinds, count] += step - now
        now = step
    return now, count


@jit()
def _push(keys: Ints, values: Ints, count: int, key: int, value: int) -> int:
    """Puts an entry into a heap of so many; how many there are then."""
    at = count
    while at and keys[(at - 1) // 2] > key:
        keys[at], values[at] = keys[(at - 1) // 2], values[(at - 1) // 2]
        at = (at - 1) // 2
    keys[at], values[at] = key, value
    return count + 1


@jit()
def _sink(keys: Ints, values: Ints, count: int, key: int, value: int) -> None:
    """Puts an entry in place of the first of a heap of so many."""
    at = 0
    while 2 * at + 1 < count:
        child = 2 * at + 1
        if child + 1 < count and keys[child + 1] < keys[child]:
            child += 1
        if keys[child] >= key:
            break
        keys[at], values[at] = keys[child], values[child]
        at = child
    keys[at], values[at] = key, value
