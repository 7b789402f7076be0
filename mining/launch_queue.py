"""What is ahead of the operations of a device when they are launched."""

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from .sorting import Ints, stable_order

__all__ = ["Ahead", "ahead", "places", "waiting"]

Flags = npt.NDArray[np.bool_]


@dataclass(frozen=True, eq=False)
class Ahead:
    """At the launch of each operation: how many wait on the device, how many of these on its stream, how many run."""

    queue: Ints
    stream_queue: Ints
    running: Ints


def ahead(launch_ns: Ints, start_ns: Ints, end_ns: Ints, stream: Ints, known: Flags) -> Ahead:
    """What is ahead of those operations of a device whose launch is `known`, at their launches; in their order.

    All operations may run; those with an unknown launch never wait. Cost: some sorts.
    """
    launch, start = launch_ns[known], start_ns[known]
    lane = stream[known]
    stream_queue = np.zeros(len(launch), np.int64)
    order = stable_order(lane)
    for part in np.split(order, np.flatnonzero(np.diff(lane[order])) + 1):
        stream_queue[part] = waiting(launch[part], start[part])
    begun, over = np.sort(start_ns), np.sort(end_ns)
    running = np.searchsorted(begun, launch, "right") - np.searchsorted(over, launch, "right")
    return Ahead(waiting(launch, start), stream_queue, running)


def waiting(launch_ns: Ints, start_ns: Ints) -> Ints:
    """For each operation those that were launched strictly before it and start after its launch.

    One that starts before its launch, by clocks that disagree, has waited at no moment.
    """
    launched = np.sort(launch_ns)
    begun = np.sort(np.maximum(start_ns, launch_ns + 1))  # so at a moment only what was launched before it has begun
    return np.searchsorted(launched, launch_ns, "left") - np.searchsorted(begun, launch_ns, "right")


def places(call: Ints, start_ns: Ints) -> Ints:
    """The place of each operation among those of its call, by start, from 0."""
    order = np.lexsort((start_ns, call))
    fresh = np.ones(len(order), bool)
    fresh[1:] = np.diff(call[order]) != 0
    at = np.arange(len(order))
    place = np.empty(len(order), np.int64)
    place[order] = at - np.maximum.accumulate(np.where(fresh, at, 0))
    return place
