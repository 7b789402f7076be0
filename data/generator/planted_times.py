"""When planted operations are launched and run: the host launches, streams run in order, the host waits at the end.

Compute kernels run on one stream, all-reduces on another, an all-reduce once the compute kernel launched before it is
done. The compute stream waits for the last all-reduce of a batch. At the end of a segment (an iteration, say) the host
waits for the device. All steps are scans over arrays.
"""

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

__all__ = ["LATENCY_NS", "LAUNCH_NS", "TURNOVER_NS", "Timeline", "timeline"]

Ints = npt.NDArray[np.int64]
Bools = npt.NDArray[np.bool_]

LAUNCH_NS, LATENCY_NS, TURNOVER_NS = 3_000, 5_000, 900
HOST_NS = 150_000
"""What the host does before each segment: loading data, logging."""


@dataclass(frozen=True, eq=False)
class Timeline:
    """The times of every operation, and how long every segment takes."""

    launch_ns: Ints
    start_ns: Ints
    end_ns: Ints
    segment_ns: Ints


def timeline(duration_ns: Ints, first: Ints, reduces: Bools, joins: Bools, replayed: Bools) -> Timeline:
    """Plays operations of segments that begin at the ordinals `first`.

    `reduces` marks what runs on the stream of all-reduces, `joins` those of them that the compute stream waits for,
    `replayed` what the call before it launched too.
    """
    segment = np.repeat(np.arange(len(first)), np.diff(np.r_[first, len(duration_ns)]))
    launch = np.cumsum(np.where(replayed, 0, LAUNCH_NS))
    launch -= launch[first][segment]
    arrival, cost = launch + LATENCY_NS, duration_ns + TURNOVER_NS
    while True:
        start = _in_order(arrival, np.where(reduces & ~joins, 0, cost), segment)
        behind = start[joins]
        start[reduces] = _in_order(start[reduces], cost[reduces], segment[reduces])
        if np.array_equal(start[joins], behind):
            break
        # A join behind a late all-reduce delays the compute stream: each round settles one more in every segment.
        arrival[joins] = start[joins]
    length = np.maximum.reduceat(start + duration_ns, first) + HOST_NS
    begin = (np.cumsum(length) - length + HOST_NS)[segment]
    return Timeline(launch + begin, start + begin, start + duration_ns + begin, length)


def _in_order(arrival: Ints, cost: Ints, segment: Ints) -> Ints:
    """When operations of one stream start: after they arrive and the one before is done; segments do not see others."""
    done = np.cumsum(cost) - cost
    ready = arrival - done
    apart = segment * (int(ready.max(initial=0)) - int(ready.min(initial=0)) + 1)
    return done + np.maximum.accumulate(ready + apart) - apart
