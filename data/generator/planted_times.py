"""When planted operations are launched and run: the host launches, streams run in order, the host waits at the end.

Compute kernels run on one stream, all-reduces on another, each behind the compute kernel launched before it. The
compute stream waits for the last all-reduce of a batch. At the end of a segment (an iteration, say) the host waits for
the device. All steps are scans over arrays.
"""

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

__all__ = ["HOST_NS", "LAUNCH_NS", "Timeline", "timeline"]

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


def timeline(duration_ns: Ints, first: Ints, aside: Bools, replayed: Bools) -> Timeline:
    """Plays operations of segments that begin at the ordinals `first`.

    `aside` marks what runs beside the compute stream, `replayed` what the call before it launched too.
    """
    count = np.diff(np.r_[first, len(duration_ns)])
    launch = _within(np.cumsum(np.where(replayed, 0, LAUNCH_NS)), first, count)
    cost = np.where(aside, 0, duration_ns + TURNOVER_NS)
    done = np.cumsum(cost) - cost
    done = _within(done, first, count)
    # A kernel starts when it has arrived and the one before it is done; no segment sees the one before.
    ready = launch + LATENCY_NS - done
    apart = np.repeat(np.arange(len(first)) * (int(ready.max()) - int(ready.min()) + 1), count)
    start = done + np.maximum.accumulate(ready + apart) - apart
    length = np.maximum.reduceat(start + duration_ns, first) + HOST_NS
    begin = np.repeat(np.cumsum(length) - length + HOST_NS, count)
    return Timeline(launch + begin, start + begin, start + duration_ns + begin, length)


def _within(total: Ints, first: Ints, count: Ints) -> Ints:
    """A running total as it runs within each segment, from 0."""
    return total - np.repeat(total[first], count)
