"""Writes a run as the XPlane file that the profilers of JAX and TensorFlow write."""

from collections.abc import Iterable, Iterator
from pathlib import Path

from .program import COMPUTE_STREAM, REDUCE_STREAM
from .records import Copy, Fill, Kernel, Segment, Span, Work
from .run import START_NS, Run
from .wire import message

__all__ = ["write_xplane"]

Stats = dict[str, int | str]
STREAMS = {COMPUTE_STREAM: "Compute,MemcpyH2D,MemcpyD2H,Memset", REDUCE_STREAM: "Compute"}
DEVICE: Stats = {
    "device_type_string": "NVIDIA H100 80GB HBM3", "device_vendor": "Nvidia", "core_count": 132,
    "memory_size": 85017493504, "memory_bandwidth": 3352320000000, "clock_rate": 1980000, "compute_cap_major": 9,
    "compute_cap_minor": 0,
}  # fmt: skip


class _Plane:
    """A plane: its lines, and the tables of names that its events refer to by number."""

    def __init__(self, number: int, name: str) -> None:
        self._head = message((1, number), (2, name))
        self._names: dict[str, int] = {}
        self._values: dict[str, int] = {}
        self._lines = b""

    def line(self, number: int, name: str, events: Iterable[tuple[str, int, int, Stats]]) -> None:
        """Adds a line of events: name, start and end in nanoseconds from the start of the recording, values."""
        content = b"".join(message((4, self._event(*event))) for event in events)
        self._lines += message((3, message((1, number), (2, name), (3, 0)) + content))

    def finish(self, stats: Stats) -> bytes:
        """Returns the plane with values of its own."""
        own = b"".join(message((6, self._stat(name, value))) for name, value in stats.items())
        names = (
            message((field, message((1, number), (2, message((1, number), (2, name))))))
            for field, table in ((4, self._names), (5, self._values))
            for name, number in table.items()
        )
        return self._head + self._lines + b"".join(names) + own

    def _event(self, name: str, start: int, end: int, stats: Stats) -> bytes:
        number = self._names.setdefault(name, len(self._names) + 1)
        values = b"".join(message((4, self._stat(key, value))) for key, value in stats.items())
        return message((1, number), (2, start * 1000), (3, (end - start) * 1000)) + values

    def _stat(self, name: str, value: int | str) -> bytes:
        number = self._values.setdefault(name, len(self._values) + 1)
        return message((1, number), (3 if isinstance(value, int) else 5, value))


def write_xplane(run: Run, path: Path) -> None:
    """Writes the run: a plane of the device, one of the host, one about the recording; the file holds no process id."""
    segments = list(run.segments())
    device = _Plane(1, f"/device:GPU:{run.workload.device}")
    for stream, kinds in STREAMS.items():
        works = (work for segment in segments for work in segment.works if work.stream == stream)
        device.line(stream, f"Stream #{stream}({kinds})", (_work(work) for work in works))
    host = _Plane(2, "/host:CPU")
    for number, thread in enumerate(run.workload.threads):
        host.line(thread, "python3" if number == 0 else f"worker {thread}", _calls(segments, number))
    environment = _Plane(3, "Task Environment").finish({"profile_start_time": START_NS})
    planes = device.finish(DEVICE), host.finish({}), environment
    path.write_bytes(message(*((1, plane) for plane in planes), (4, "node0")))


def _work(work: Work) -> tuple[str, int, int, Stats]:
    spec, times = work.spec, (work.start_ns, work.end_ns)
    stats: Stats = {"correlation_id": work.correlation}
    if isinstance(spec, Kernel):
        sizes = (f"{what}:{','.join(map(str, size))}" for what, size in (("grid", spec.grid), ("block", spec.block)))
        memory = f"regs:{spec.registers} static_shared:{spec.static_shared} dynamic_shared:{spec.dynamic_shared}"
        return spec.name, *times, {**stats, "kernel_details": f"{memory} {' '.join(sizes)} occ_pct:50"}
    if isinstance(spec, Fill):
        return "Memset", *times, {**stats, "memset_details": f"kind:device num_bytes:{spec.bytes} async:1"}
    return f"Memcpy{spec.direction.replace('to', '2')}", *times, {**stats, "memcpy_details": _copied(spec)}


def _copied(copy: Copy) -> str:
    return f"kind_src:{copy.source.lower()} kind_dst:{copy.target.lower()} size:{copy.bytes} dest:0 async:1"


def _calls(segments: list[Segment], thread: int) -> Iterator[tuple[str, int, int, Stats]]:
    """Yields the thread's annotations and calls in order of their start."""
    found: list[tuple[str, int, int, Stats]] = []
    for segment in segments:
        for event in segment.host:
            if not isinstance(event, Span) or event.thread != thread:
                continue
            if event.operator.category == "user_annotation":
                found.append((event.operator.name, event.start_ns, event.end_ns, {}))
        calls = (call for call in segment.calls if call.thread == thread)
        found += ((call.name, call.start_ns, call.end_ns, {"correlation_id": call.correlation}) for call in calls)
    yield from sorted(found, key=lambda one: (one[1], -one[2]))
