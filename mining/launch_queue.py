"""What is ahead of the operations of a device when they are launched."""

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from .lookup import until
from .sorting import Ints, lexical_order, stable_order

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
    begun, over = np.sort(start_ns, kind="stable"), np.sort(end_ns, kind="stable")
    running = until(begun, launch, including=True) - until(over, launch, including=True)
    return Ahead(waiting(launch, start), stream_queue, running)


def waiting(launch_ns: Ints, start_ns: Ints) -> Ints:
    """For each operation those that were launched strictly before it and start after its launch.

    One that starts before its launch, by clocks that disagree, has waited at no moment.
    """
    launched = launch_ns if bool((launch_ns[1:] >= launch_ns[:-1]).all()) else np.sort(launch_ns, kind="stable")
    begun = np.maximum(start_ns, launch_ns + 1)  # so at a moment only what was launched before it has begun
    begun.sort(kind="stable")
    return until(launched, launch_ns) - until(begun, launch_ns, including=True)


def places(call: Ints, start_ns: Ints) -> Ints:
    """The place of each operation among those of its call, by start, from 0."""
    order = lexical_order(call, start_ns)
    fresh = np.ones(len(order), bool)
    fresh[1:] = np.diff(call[order]) != 0
    at = np.arange(len(order))
    place = np.empty(len(order), np.int64)
    place[order] = at - np.maximum.accumulate(np.where(fresh, at, 0))
    return place
