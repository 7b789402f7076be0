"""A run as an AMD machine would have recorded it: HIP's names, nodes instead of device numbers, hardware queues."""

from collections.abc import Iterator
from typing import NamedTuple

from .program import COMPUTE_STREAM, REDUCE_STREAM
from .records import Copy, Fill, Kernel, Span
from .run import Run
from .small import hip

__all__ = ["BOOT_NS", "CPU", "FILLER", "GPU", "QUEUES", "Call", "Mark", "Operation", "calls", "marks", "operations"]

BOOT_NS = 86_400_000_000_000
"""How long the machine had been up when the capture began: AMD's profilers count from there."""

CPU, GPU = 0, 2
"""Numbers of the nodes: a processor comes first, so that the first GPU is not 0."""

QUEUES = {COMPUTE_STREAM: 1, REDUCE_STREAM: 2}
FILLER = "__amd_rocclr_fillBufferAligned"
"""The kernel that fills memory: the profilers that know no fills tell of it."""


class Operation(NamedTuple):
    """Work of the device: a kernel, a copy or a fill; `thread` is that of the call which caused it."""

    spec: Kernel | Copy | Fill
    name: str
    queue: int
    start_ns: int
    end_ns: int
    correlation: int
    thread: int

    @property
    def ends(self) -> tuple[int, int]:
        """Returns the nodes that a copy goes from and to."""
        return (CPU, GPU) if isinstance(self.spec, Copy) and self.spec.direction == "HtoD" else (GPU, CPU)


class Call(NamedTuple):
    """A call of HIP."""

    name: str
    thread: int
    start_ns: int
    end_ns: int
    correlation: int
    work: Operation | None


class Mark(NamedTuple):
    """A range that the program marked."""

    name: str
    thread: int
    start_ns: int
    end_ns: int


def calls(run: Run) -> Iterator[Call]:
    """Yields the calls in order of time, each with what it put on the device."""
    for segment in run.segments():
        for call in segment.calls:
            thread = run.workload.threads[call.thread]
            work = None
            if call.work is not None:
                spec, stream, start, end, correlation, _ = call.work
                name = FILLER if isinstance(spec, Fill) else hip(spec.name)
                work = Operation(spec, name, QUEUES[stream], BOOT_NS + start, BOOT_NS + end, correlation, thread)
            yield Call(hip(call.name), thread, BOOT_NS + call.start_ns, BOOT_NS + call.end_ns, call.correlation, work)


def operations(run: Run) -> Iterator[Operation]:
    """Yields the work of the device in the order of its launches."""
    return (call.work for call in calls(run) if call.work is not None)


def marks(run: Run) -> Iterator[Mark]:
    """Yields the ranges in order of their start."""
    for segment in run.segments():
        for event in segment.host:
            if isinstance(event, Span) and event.operator.category == "user_annotation":
                thread = run.workload.threads[event.thread]
                yield Mark(event.operator.name, thread, BOOT_NS + event.start_ns, BOOT_NS + event.end_ns)
