"""Says what is in a run, from the events it was made of: counts, sums, boundaries and everything planted."""

import json
from collections import Counter, defaultdict
from collections.abc import Iterable
from pathlib import Path
from typing import Any

from .records import Copy, Fill, Gap, Kernel, Segment, Span, Work
from .run import KINETO_BASE_NS, START_NS, Run
from .training import layers

__all__ = ["truth", "write_truth"]


def write_truth(run: Run, path: Path) -> None:
    """Writes the run's truth as JSON."""
    path.write_text(json.dumps(truth(run), indent=1) + "\n")


def truth(run: Run) -> dict[str, Any]:
    """Returns everything that a reader or an analysis of the run's file should find.

    Times count from the capture's start in nanoseconds; `clock` says how each file counts. Operations are the
    kernels, copies and fills, numbered from 0 in the order of their launches.
    """
    count = _Count()
    for segment in run.segments():
        count.add(segment)
    workload = run.workload
    return {
        "seed": workload.seed,
        "rank": workload.rank,
        "world_size": workload.world_size,
        "process": workload.process,
        "device": workload.device,
        "clock": {
            "start_unix_ns": START_NS,
            "kineto": {"base_unix_ns": KINETO_BASE_NS, "offset_ns": START_NS - KINETO_BASE_NS},
            "nsys": {"session_start_unix_ns": START_NS, "offset_ns": 0},
        },
        **count.totals(),
        "warm_up": list(range(min(workload.warm_up, workload.iterations))),
        "layers": layers(workload, run.programs),
        **count.planted,
        "late": count.late,
        "iterations": count.parts["iteration"],
        "evaluations": count.parts["evaluation"],
        "checkpoints": count.parts["checkpoint"],
    }


class _Cover:
    """The length of a union of intervals that come by segment, each segment after the ones before."""

    def __init__(self) -> None:
        self.first_ns: int | None = None
        self.last_ns = self.busy_ns = 0

    def add(self, works: Iterable[Work]) -> None:
        for start, end in sorted((work.start_ns, work.end_ns) for work in works):
            if self.first_ns is None:
                self.first_ns = self.last_ns = start
            self.busy_ns += max(0, end - max(start, self.last_ns))
            self.last_ns = max(self.last_ns, end)

    @property
    def idle_ns(self) -> int:
        return self.last_ns - (self.first_ns or 0) - self.busy_ns


class _Count:
    def __init__(self) -> None:
        self.planted: dict[str, Any] = {"outlier": None, "stall": None}
        self.late: list[dict[str, int]] = []
        self.parts: dict[str, list[dict[str, Any]]] = defaultdict(list)
        self._works = 0
        self._kernels: dict[str, list[int]] = defaultdict(lambda: [0, 0])
        self._copies: dict[str, list[int]] = defaultdict(lambda: [0, 0, 0])
        self._fills = [0, 0, 0]
        self._streams: set[int] = set()
        self._calls: Counter[str] = Counter()
        self._events: Counter[str] = Counter()
        self._waits: Counter[str] = Counter()
        self._births = self._deaths = self._peak = 0
        self._all, self._computing = _Cover(), _Cover()

    def add(self, segment: Segment) -> None:
        """Counts a segment's events."""
        kernels = [work for work in segment.works if isinstance(work.spec, Kernel)]
        self._plant(segment)
        self.parts[segment.kind].append(_part(segment, self._works, sum(one[0] for one in self._kernels.values())))
        for work in segment.works:
            self._work(work)
        self._works += len(segment.works)
        self._all.add(segment.works)
        self._computing.add(kernels)
        self._calls.update(call.name for call in segment.calls)
        self._waits.update(wait.kind for wait in segment.waits)
        self._events["gpu_user_annotation"] += len(segment.shades)
        for event in segment.host:
            if isinstance(event, Span):
                self._events[event.operator.category] += 1
            else:
                self._births += event.bytes > 0
                self._deaths += event.bytes < 0
                self._peak = max(self._peak, event.allocated)

    def _work(self, work: Work) -> None:
        time = work.end_ns - work.start_ns
        self._streams.add(work.stream)
        if isinstance(work.spec, Kernel):
            self._kernels[work.spec.name][0] += 1
            self._kernels[work.spec.name][1] += time
            return
        sums = self._fills if isinstance(work.spec, Fill) else self._copies[work.spec.direction]
        sums[0] += 1
        sums[1] += work.spec.bytes
        sums[2] += time

    def _plant(self, segment: Segment) -> None:
        """Notes where the segment's planted faults are."""
        marked = defaultdict(list)
        for label, index in segment.marks:
            marked[label].append(index)
        for index in marked["slow"]:
            work = segment.works[index]
            self.planted["outlier"] = {
                "iteration": segment.number,
                "slow_operation": self._works + index,
                "slow_name": work.spec.name,
                "start_ns": work.start_ns,
                "end_ns": work.end_ns,
                "extra_operations": [self._works + extra for extra in marked["extra"]],
            }
        for index in marked["stall"]:
            work = segment.works[index]
            assert isinstance(work.spec, Copy)
            self.planted["stall"] = {
                "iteration": segment.number,
                "operation": self._works + index,
                "start_ns": work.start_ns,
                "end_ns": work.end_ns,
                "bytes": work.spec.bytes,
            }
        self.late += [_late(segment, gap) for gap in segment.gaps]

    def totals(self) -> dict[str, Any]:
        """Returns the sums over the run."""
        launches = sum(number for name, number in self._calls.items() if "launch" in name.lower())
        sums = ("count", "bytes", "time_ns")
        return {
            "operations": self._works,
            "kernels": sum(number for number, _ in self._kernels.values()),
            "kernel_time_ns": sum(time for _, time in self._kernels.values()),
            "distinct_kernel_names": len(self._kernels),
            "kernel_names": {
                name: {"count": number, "time_ns": time} for name, (number, time) in sorted(self._kernels.items())
            },
            "copies": {name: dict(zip(sums, one, strict=True)) for name, one in sorted(self._copies.items())},
            "fills": dict(zip(sums, self._fills, strict=True)),
            "streams": sorted(self._streams),
            "gpu_first_ns": self._all.first_ns,
            "gpu_last_ns": self._all.last_ns,
            "busy_ns": self._all.busy_ns,
            "idle_ns": self._all.idle_ns,
            "kernel_busy_ns": self._computing.busy_ns,
            "kernel_idle_ns": self._computing.idle_ns,
            "api_calls": sum(self._calls.values()),
            "launch_calls": launches,
            "calls": dict(sorted(self._calls.items())),
            "waits": dict(sorted(self._waits.items())),
            "host_events": dict(sorted(self._events.items())),
            "memory": {"births": self._births, "deaths": self._deaths, "peak_bytes": self._peak},
        }


def _part(segment: Segment, works: int, kernels: int) -> dict[str, Any]:
    """Returns where a segment is; boundaries are those of its device operations and of the host's part in it."""
    part: dict[str, Any] = {
        "number": segment.number,
        "first_operation": works,
        "operations": len(segment.works),
        "first_kernel": kernels,
        "kernels": sum(isinstance(work.spec, Kernel) for work in segment.works),
        "start_ns": min((work.start_ns for work in segment.works), default=None),
        "end_ns": max((work.end_ns for work in segment.works), default=None),
        "host_start_ns": segment.start_ns,
        "host_end_ns": segment.end_ns,
    }
    return part | ({"edits": segment.edits} if segment.edits else {})


def _late(segment: Segment, gap: Gap) -> dict[str, int]:
    return {
        "iteration": segment.number,
        "host_start_ns": gap.host_start_ns,
        "host_end_ns": gap.host_end_ns,
        "idle_from_ns": gap.idle_from_ns,
        "idle_to_ns": segment.works[gap.first_work].start_ns,
    }
