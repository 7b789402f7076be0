"""What a performance report should say, computed from a trace's raw events without SQL and without our miners.

An `Event` is a kernel, copy or fill as its source has it. Times are nanoseconds. Everything here is the plainest way to
say it: moments in order, and what is open at each of them.
"""

from collections import Counter, defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise

import numpy as np

__all__ = ["Event", "Spent", "at_once", "by_device", "kernels", "spent", "union", "within"]

PRIORITY = ("compute", "communication", "copy")


@dataclass(frozen=True)
class Event:
    """An operation on a device; `state` is what a device is in while it runs."""

    process: int
    device: int
    stream: int
    start: int
    end: int
    name: str
    state: str

    @property
    def is_kernel(self) -> bool:
        """Whether it is no copy and no fill."""
        return not self.name.startswith(("copy ", "fill"))


Spent = list[tuple[int, int, str]]
"""Stretches (start, end, state) of one device, in order."""


def by_device(events: Iterable[Event]) -> dict[tuple[int, int], list[Event]]:
    """The events of each process and device."""
    parts: dict[tuple[int, int], list[Event]] = defaultdict(list)
    for event in events:
        parts[event.process, event.device].append(event)
    return dict(parts)


def spent(events: Sequence[Event]) -> Spent:
    """What the device does from first start to last end: at each moment the first of `PRIORITY` that is open."""
    changes: dict[int, Counter[str]] = defaultdict(Counter)
    for event in events:
        changes[event.start][event.state] += 1
        changes[event.end][event.state] -= 1
    running: Counter[str] = Counter()
    moments = sorted(changes)
    found: Spent = []
    for moment, following in pairwise(moments):
        running.update(changes[moment])
        state = next((one for one in PRIORITY if running[one] > 0), "idle")
        if found and found[-1][2] == state:
            found[-1] = (found[-1][0], following, state)
        else:
            found.append((moment, following, state))
    return found


def at_once(events: Sequence[Event]) -> Mapping[str, int]:
    """The time in which each set of states runs, from the first start to the last end."""
    moments = sorted({moment for event in events for moment in (event.start, event.end)})
    total: Counter[str] = Counter()
    for moment, following in pairwise(moments):
        open_ = {event.state for event in events if event.start <= moment and event.end >= following}
        total[" + ".join(state for state in PRIORITY if state in open_) or "idle"] += following - moment
    return dict(total)


def union(events: Iterable[Event]) -> int:
    """The time in which at least one of the events runs."""
    last, whole = -(2**63), 0
    for event in sorted(events, key=lambda one: (one.start, one.end)):
        whole += max(0, event.end - max(event.start, last))
        last = max(last, event.end)
    return whole


def within(stretches: Spent, start: int, end: int) -> Mapping[str, int]:
    """The time of each state between two moments."""
    total: Counter[str] = Counter()
    for first, last, state in stretches:
        total[state] += max(0, min(last, end) - max(first, start))
    return {state: time for state, time in total.items() if time}


def kernels(events: Iterable[Event]) -> dict[str, tuple[int, int, float, float, float, float]]:
    """By kernel name: calls, total, mean, median, 95th percentile, coefficient of variation (NaN without time)."""
    durations: dict[str, list[int]] = defaultdict(list)
    for event in events:
        if event.is_kernel:
            durations[event.name].append(event.end - event.start)
    found: dict[str, tuple[int, int, float, float, float, float]] = {}
    for name, values in durations.items():
        each = np.array(values, np.float64)
        mean = float(each.mean())
        middle, high = (float(np.quantile(each, share)) for share in (0.5, 0.95))
        found[name] = (len(values), sum(values), mean, middle, high, float(each.std() / mean) if mean else float("nan"))
    return found
