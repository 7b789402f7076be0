"""Writes a run as the Perfetto trace that rocprofv3 writes with --output-format pftrace."""

from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

from .amd import CPU, GPU, QUEUES, calls, marks
from .records import Copy, Kernel
from .run import Run
from .wire import fixed64, message

__all__ = ["write_perfetto"]

BEGIN, END = 1, 2
CLEARED, NEEDS_STATE = 1, 2
SEQUENCE, BOOT_CLOCK = 2, 6
PROCESS_TRACK = 4096
CATEGORIES, NAMES, ARGUMENTS = 1, 2, 3
Args = dict[str, int | str]


class _Slice(NamedTuple):
    track: int
    category: str
    name: str
    start_ns: int
    end_ns: int
    flow: int
    args: Args


class _Interned:
    """Texts that a packet refers to by number; each is given with the first packet that needs it."""

    def __init__(self) -> None:
        self._numbers: dict[tuple[int, str], int] = {}
        self._new = b""

    def number(self, table: int, text: str) -> int:
        """Returns the text's number."""
        key = (table, text)
        if key not in self._numbers:
            self._numbers[key] = sum(t == table for t, _ in self._numbers) + 1
            self._new += message((table, message((1, self._numbers[key]), (2, text))))
        return self._numbers[key]

    def taken(self) -> bytes:
        """Returns the field with what is new since the last call; empty, when nothing is."""
        new, self._new = self._new, b""
        return message((12, new)) if new else b""


def write_perfetto(run: Run, path: Path) -> None:
    """Writes the run: a track for each thread, queue and direction of copies; arrows lead from calls to their work."""
    slices = list(_slices(run))
    packets = [_opening(), *_tracks(run), *_events(slices)]
    path.write_bytes(b"".join(message((1, packet)) for packet in packets))


def _opening() -> bytes:
    """Returns the packet that begins the sequence."""
    version = message((4, "rocprofiler-sdk v1.0"))
    return message((45, version), (10, SEQUENCE), (13, CLEARED), (59, message((58, BOOT_CLOCK))))


def _tracks(run: Run) -> Iterator[bytes]:
    pid = run.workload.process
    yield _track(PROCESS_TRACK, (3, message((1, pid), (6, "python3"))))
    for index, thread in enumerate(run.workload.threads):
        yield _track(thread, (2, f"THREAD {index} ({thread})"), (5, PROCESS_TRACK))
    for queue in QUEUES.values():
        yield _track(_queue(queue), (2, f"AGENT [{GPU}] QUEUE [{queue}] (GPU)"), (5, PROCESS_TRACK))
    for node in (CPU, GPU):
        kind = "GPU" if node == GPU else "CPU"
        yield _track(_copies(node), (2, f"COPY to AGENT [{node}] THREAD [0] ({kind})"), (5, PROCESS_TRACK))


def _track(uuid: int, *parts: tuple[int, int | str | bytes]) -> bytes:
    return message((60, message((1, uuid), *parts)), (10, SEQUENCE), (13, NEEDS_STATE))


def _queue(queue: int) -> int:
    return PROCESS_TRACK + queue


def _copies(node: int) -> int:
    return PROCESS_TRACK + 256 + node


def _slices(run: Run) -> Iterator[_Slice]:
    pid = run.workload.process
    for mark in marks(run):
        yield _Slice(mark.thread, "marker_api", mark.name, mark.start_ns, mark.end_ns, 0, {"pid": pid})
    for call in calls(run):
        said: Args = {"tid": call.thread, "kind": "HIP_RUNTIME_API_EXT", "corr_id": call.correlation}
        yield _Slice(call.thread, "hip_api", call.name, call.start_ns, call.end_ns, call.correlation, said)
        if call.work is None:
            continue
        work = call.work
        times = work.start_ns, work.end_ns
        if isinstance(work.spec, Copy):
            (source, target), ends = work.ends, {"HtoD": "HOST_TO_DEVICE", "DtoH": "DEVICE_TO_HOST"}
            name = f"MEMORY_COPY_{ends[work.spec.direction]}"
            said = {"src_agent": source, "dst_agent": target, "copy_bytes": work.spec.bytes}
            said |= {"corr_id": work.correlation, "stream_ID": work.queue}
            yield _Slice(_copies(target), "memory_copy", name, *times, work.correlation, said)
        else:
            said = {"kind": "KERNEL_DISPATCH", "agent": GPU, "corr_id": work.correlation, "queue": work.queue}
            if isinstance(work.spec, Kernel):
                said |= {"VGPR_Count": work.spec.registers}
            yield _Slice(_queue(work.queue), "kernel_dispatch", work.name, *times, work.correlation, said)


def _events(slices: list[_Slice]) -> Iterator[bytes]:
    """Yields begins and ends in order of time; on one track an end comes before the begin of the same time."""
    edges = [(one.end_ns, END, index) for index, one in enumerate(slices)]
    edges += [(one.start_ns, BEGIN, index) for index, one in enumerate(slices)]
    interned = _Interned()
    for time, kind, index in sorted(edges, key=lambda edge: (edge[0], -edge[1], edge[2])):
        one = slices[index]
        event = message((9, kind), (11, one.track))
        if kind == BEGIN:
            named = (3, interned.number(CATEGORIES, one.category)), (10, interned.number(NAMES, one.name))
            event += message(*named) + (fixed64(47, one.flow) if one.flow else b"")
            for key, value in one.args.items():
                number = interned.number(ARGUMENTS, key)
                event += message((4, message((1, number), (3 if isinstance(value, int) else 6, value))))
        head = message((8, time), (58, BOOT_CLOCK), (10, SEQUENCE), (13, NEEDS_STATE))
        yield head + message((11, event)) + interned.taken()
