"""Plays the host's program against the device's streams: who waits for whom gives every time."""

from collections.abc import Callable, Generator
from random import Random
from typing import Any, NamedTuple

from .allocator import Allocator
from .program import COMPUTE_STREAM, REDUCE_STREAM, Program, edited
from .records import Call, Copy, Fill, Gap, Kernel, Memory, Operator, Segment, Shade, Span, Wait, Work
from .training import program_of, schedule
from .workload import Workload

__all__ = ["Arrival", "Programs", "Rank"]

Programs = Callable[[Workload, str, int], Program]
"""What the host does in a segment of that kind and number."""

ONE = 4096  # factors are multiples of 1/4096, so that times are the same integers on every machine
TABLE = 8192

# What the host spends, in nanoseconds.
OPENING, CLOSING, LAUNCHING, BETWEEN, RECORDING, SYNCING, SWITCHING = 900, 500, 4400, 700, 1300, 2600, 9000
# From a launch to its start at the earliest; between two works of a stream; from a work's end to the host knowing.
LATENCY, TURNOVER, RETURNING = 5200, 950, 2400


class Arrival(NamedTuple):
    """A rank's arrival at a collective, and how long the collective takes from the last rank's arrival on."""

    start_ns: int
    duration_ns: int


class Rank:
    """One process of the run with its device, streams, threads and caching allocator."""

    def __init__(self, workload: Workload, rank: int, program: Programs = program_of) -> None:
        self._workload = workload
        self._program_of = program
        self._random = Random(workload.seed * 1_000_003 + rank)
        self._factors = _factors(self._random, workload.noise)
        self._speed = round(ONE * workload.straggle) if rank == workload.straggler else ONE
        self._programs: dict[str, Program] = {}
        self._allocator = Allocator(workload)
        self._now = 1_000_000
        self._at = self._index = self._span = self._python = self._sequence = self._event = 0
        self._correlation = 1
        self._thread = self._owner = 0
        self._parent: int | None = None
        self._host_scale = self._device_scale = ONE
        self._opened: list[tuple[Any, ...]] = []
        self._free = {COMPUTE_STREAM: 0, REDUCE_STREAM: 0}
        self._gate = {COMPUTE_STREAM: 0, REDUCE_STREAM: 0}
        self._events: dict[int, tuple[int, int, int]] = {}

    def segments(self) -> Generator[Segment | Arrival, int, None]:
        """Yields the segments in order, and at each collective an Arrival, to be answered with the common end."""
        for kind, number in schedule(self._workload):
            program = self._program(kind, number)
            instructions, edits = program.instructions, {}
            if kind == "iteration" and any(self._workload.rates):
                instructions, edits = edited(instructions, self._workload, self._random)
            if kind == "iteration" and self._workload.annotations:
                step = Operator(name=f"ProfilerStep#{number}", category="user_annotation")
                instructions = [("open", step, None), *instructions, ("close",)]
            self._segment = Segment(kind=kind, number=number, start_ns=self._now, edits=edits)
            cold = max(0, self._workload.warm_up - number) if kind == "iteration" else 0
            self._host_scale = ONE * (1 + 2 * cold)
            self._device_scale = self._speed * (4 + cold) // 4
            self._at = self._random.randrange(TABLE)
            for action, *operands in instructions:
                arrival = getattr(self, action)(*operands)
                if arrival is not None:
                    self._reduced(arrival, (yield arrival))
            self._sequence += program.sequences
            self._segment.end_ns = self._now
            yield self._segment

    def _program(self, kind: str, number: int) -> Program:
        """Returns the segment's program; it is built once for all iterations that do not differ."""
        workload = self._workload
        special = number < workload.warm_up or number in (workload.outlier, workload.stall, *workload.late)
        if kind == "iteration" and special:
            return self._program_of(workload, kind, number)
        if kind not in self._programs:
            self._programs[kind] = self._program_of(workload, kind, number)
        return self._programs[kind]

    def _drawn(self, nanoseconds: int) -> int:
        """Returns a time with noise."""
        self._at = (self._at + 1) % TABLE
        return nanoseconds * self._factors[self._at] // ONE

    def _spend(self, nanoseconds: int) -> int:
        """Lets host time pass and returns the new time."""
        self._now += self._drawn(nanoseconds) * self._host_scale // ONE
        return self._now

    def open(self, operator: Operator, sequence: int | None) -> None:
        """Begins an operator, annotation or Python frame on the current thread."""
        start, is_frame = self._spend(OPENING), operator.category == "python_function"
        self._python += is_frame
        self._span += not is_frame
        identity = self._python if is_frame else self._span
        host, works = self._segment.host, self._segment.works
        self._opened.append(
            (len(host), operator, start, identity, self._index, sequence, len(works), self._owner, self._parent)
        )
        host.append(None)  # type: ignore[arg-type]  # `close` puts the span there
        self._index += 1
        if is_frame:
            self._parent = identity
        elif operator.category == "cpu_op":
            self._owner = identity

    def close(self) -> None:
        """Ends the innermost operator."""
        end = self._spend(CLOSING)
        slot, operator, start, identity, index, sequence, first, self._owner, self._parent = self._opened.pop()
        number = None if sequence is None else self._sequence + sequence
        thread, segment = self._thread, self._segment
        segment.host[slot] = Span(operator, thread, start, end, identity, index, number, self._parent)
        if operator.category == "user_annotation":
            segment.shades += _shades(operator, segment.works[first:], identity)

    def launch(self, work: Kernel | Copy | Fill, stream: int) -> Arrival | None:
        """Puts work on a stream: it starts when it has arrived, the stream is free and what it waits for is done."""
        call = self._spend(BETWEEN)
        returned = self._spend(LAUNCHING)
        start = max(call + self._drawn(LATENCY), self._free[stream] + self._drawn(TURNOVER), self._gate[stream])
        duration = self._drawn(work.duration_ns)
        if isinstance(work, Kernel):
            if work.reduces:
                self._pending = work, stream, call, returned
                return Arrival(start, duration)
            duration = duration * self._device_scale // ONE
            duration -= duration % self._workload.clock_step_ns
        elif isinstance(work, Copy) and work.blocking:
            self._now = returned = max(returned, start + duration + self._drawn(RETURNING))
        self._launched(work, stream, start, start + duration, call, returned)
        return None

    def _reduced(self, arrival: Arrival, end: int) -> None:
        work, stream, call, returned = self._pending
        self._launched(work, stream, arrival.start_ns, end, call, returned)

    def _launched(self, work: Any, stream: int, start: int, end: int, call: int, returned: int) -> None:
        self._free[stream] = end
        done = Work(work, stream, start, end, self._correlation, self._owner)
        self._segment.works.append(done)
        self._call(work.call, call, returned, done)

    def _call(self, name: str, start: int, end: int, work: Work | None = None) -> int:
        """Records an API call and returns its correlation id."""
        identity = self._correlation
        self._segment.calls.append(Call(name, self._thread, start, end, identity, self._owner, work))
        self._correlation += 1
        return identity

    def record(self, stream: int) -> None:
        """Records an event behind what the stream has been given so far."""
        start, end = self._spend(BETWEEN), self._spend(RECORDING)
        self._event += 1
        self._events[stream] = self._event, self._call("cudaEventRecord", start, end), max(end, self._free[stream])

    def wait(self, stream: int, on: int) -> None:
        """Makes a stream wait for the last event recorded on another."""
        start, end = self._spend(BETWEEN), self._spend(RECORDING)
        event, recorded, ready = self._events[on]
        self._gate[stream] = max(self._gate[stream], ready)
        call = self._call("cudaStreamWaitEvent", start, end)
        self._segment.waits.append(
            Wait("Stream Wait Event", stream, start + 300, end - 200, call, self._owner, event, on, recorded)
        )

    def sync(self, stream: int | None) -> None:
        """Lets the host wait for a stream, or for the device."""
        start = self._spend(BETWEEN)
        awaited = max(self._free.values()) if stream is None else self._free[stream]
        self._now = end = max(self._spend(SYNCING), awaited + self._drawn(RETURNING))
        call = self._call("cudaDeviceSynchronize" if stream is None else "cudaStreamSynchronize", start, end)
        kind = "Context Sync" if stream is None else "Stream Sync"
        self._segment.waits.append(Wait(kind, stream, start + 400, end - 400, call, self._owner, None, None, None))

    def allocate(self, key: object, size: int) -> None:
        """Gives memory to a tensor."""
        if self._workload.memory_events and size:
            self._moved(self._allocator.allocate(key, size))

    def free(self, key: object) -> None:
        """Takes a tensor's memory back."""
        if self._workload.memory_events:
            self._moved(self._allocator.free(key))

    def _moved(self, block: tuple[int, int, int, int]) -> None:
        self._segment.host.append(Memory(self._thread, self._spend(BETWEEN), self._index, *block))
        self._index += 1

    def sleep(self, nanoseconds: int, planted: bool) -> None:
        """Lets the host do something else."""
        start, idle_from = self._now, max(self._free.values())
        self._now += self._drawn(nanoseconds)
        if planted:
            self._segment.gaps.append(Gap(start, self._now, idle_from, len(self._segment.works)))

    def switch(self, thread: int) -> None:
        """Goes on in another thread while this one waits for it."""
        self._spend(SWITCHING)
        self._thread = thread

    def mark(self, label: str) -> None:
        """Notes a planted thing at the next launch."""
        self._segment.marks.append((label, len(self._segment.works)))


def _factors(random: Random, noise: float) -> list[int]:
    """Returns factors around 1, in 1/4096, whose relative deviation is `noise`.

    The sum of twelve uniform numbers is near enough to a normal one, and the same on every platform.
    """
    sums = (sum(random.getrandbits(16) for _ in range(12)) - 6 * 65536 for _ in range(TABLE))
    return [ONE + int(ONE * noise * total) // 65536 for total in sums]


def _shades(operator: Operator, works: list[Work], identity: int) -> list[Shade]:
    ends: dict[int, tuple[int, int]] = {}
    for work in works:
        start, end = ends.get(work.stream, (work.start_ns, work.end_ns))
        ends[work.stream] = min(start, work.start_ns), max(end, work.end_ns)
    return [Shade(operator, stream, start, end, identity) for stream, (start, end) in ends.items()]
