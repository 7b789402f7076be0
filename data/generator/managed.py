"""Managed memory of a run, as the kernel driver of an AMD machine would tell of it: few pages, all kinds of events.

Each iteration's first kernel faults at one page, which brings 16. In the first the host then reads them back; in the
second a prefetch of 1 MiB that the program asked for comes before, and a write needs no move; in the third the driver
makes room: it unmaps 32 pages, takes the queues off the device meanwhile, and moves the pages out.
"""

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any, NamedTuple

from .amd import BOOT_NS, CPU, GPU
from .program import COMPUTE_STREAM
from .records import Kernel
from .run import START_NS, Run

__all__ = ["PAGE_BYTES", "Fault", "Move", "Stop", "Unmap", "driver_events", "write_kfd_smi", "write_unified_memory"]

PAGE_BYTES = 4096
GPU_ID = 0x7FEF
"""What the driver calls the GPU."""

FIRST_PAGE = 0x7F2A40000
PREFETCH, PAGEFAULT_GPU, PAGEFAULT_CPU, TTM_EVICTION = range(4)
TTM = 2
"""Reasons by the driver's numbers; the last is why queues are taken off."""

UNDEFINED = 0xFFFFFFFF


class Fault(NamedTuple):
    """A page fault of the device: a write or a read; pages were moved for it, or only mapped."""

    start_ns: int
    end_ns: int
    page: int
    write: bool
    moved: bool


class Move(NamedTuple):
    """A move of pages between the host and the device."""

    start_ns: int
    end_ns: int
    page: int
    pages: int
    trigger: int

    @property
    def ends(self) -> tuple[int, int]:
        """Returns the nodes that it goes from and to."""
        return (CPU, GPU) if self.trigger in (PREFETCH, PAGEFAULT_GPU) else (GPU, CPU)


class Stop(NamedTuple):
    """A time in which the queues of the process are off the device."""

    start_ns: int
    end_ns: int


class Unmap(NamedTuple):
    """Pages that the device can no longer reach."""

    time_ns: int
    page: int
    pages: int


def driver_events(run: Run) -> list[Fault | Move | Stop | Unmap]:
    """Returns what the driver tells, in order of time on the boot clock."""
    found: list[Fault | Move | Stop | Unmap] = []
    steps = (segment for segment in run.segments() if segment.kind == "iteration")
    for number, segment in enumerate(steps):
        kernels = [work for work in segment.works if isinstance(work.spec, Kernel) and work.stream == COMPUTE_STREAM]
        first = min(work.start_ns for work in kernels or segment.works)
        begin, end = BOOT_NS + first, BOOT_NS + max(work.end_ns for work in segment.works)
        found += _step(number % 3, begin, end)
    return sorted(found)


def _step(number: int, begin: int, end: int) -> Iterator[Fault | Move | Stop | Unmap]:
    page = FIRST_PAGE + 0x1000 * number
    yield Fault(begin + 100, begin + 900, page + 3, write=number == 1, moved=number != 1)
    if number != 1:
        yield Move(begin + 200, begin + 700, page, 16, PAGEFAULT_GPU)
    if number == 0:
        yield Move(end + 100, end + 500, page, 16, PAGEFAULT_CPU)
    elif number == 1:
        yield Move(begin - 9000, begin - 1000, page, 256, PREFETCH)
    else:
        yield Unmap(end + 50, page + 256, 32)
        yield Stop(end + 60, end + 1000)
        yield Move(end + 100, end + 800, page + 256, 32, TTM_EVICTION)


def write_kfd_smi(run: Run, path: Path) -> None:
    """Writes what the recorder of the driver's event stream writes: a line on the machine, then those of the driver."""
    pid = run.workload.process
    gpu: dict[str, Any] = {"gpu_id": GPU_ID, "node": GPU, "name": "AMD Instinct MI300X", "architecture": "gfx942"}
    gpu |= {"compute_units": 304, "clock_mhz": 2100, "memory_bytes": 206_141_652_992}
    said = {"tracelode": "kfd_smi", "version": 1, "page_bytes": PAGE_BYTES, "boottime_ns": BOOT_NS}
    said |= {"unix_ns": START_NS, "host": "node0", "release": "6.8.0", "driver": "6.16.6", "gpus": [gpu]}
    lines = [line for event in driver_events(run) for line in _lines(event, pid)]
    told = "".join(f"{text}\n" for _, text in sorted(lines, key=lambda line: line[0]))
    path.write_text(f"# {json.dumps(said)}\nc {pid:x} python3\n{told}d {pid:x} python3\n")


def _lines(event: Fault | Move | Stop | Unmap, pid: int) -> list[tuple[int, str]]:
    """Returns the moment and the text of the lines of an event, those of its begin and of its end."""
    if isinstance(event, Unmap):
        return [(event.time_ns, f"b {event.time_ns} -{pid} @{event.page:x}({event.pages:x}) {GPU_ID:x} 1")]
    begin, end = f"{event.start_ns} -{pid}", f"{event.end_ns} -{pid}"
    if isinstance(event, Fault):
        at = f"@{event.page:x}({GPU_ID:x})"
        texts = f"7 {begin} {at} {'RW'[event.write]}", f"8 {end} {at} {'UM'[event.moved]}"
    elif isinstance(event, Stop):
        texts = f"9 {begin} {GPU_ID:x} {TTM}", f"a {end} {GPU_ID:x} 0"
    else:
        source, target = (GPU_ID if node == GPU else 0 for node in event.ends)
        way = f"@{event.page:x}({event.pages:x}) {source:x}->{target:x}"
        wanted = f"{GPU_ID if event.trigger == PREFETCH else UNDEFINED:x}:0"
        texts = f"5 {begin} {way} {wanted} {event.trigger}", f"6 {end} {way} {event.trigger} 0"
    return list(zip((event.start_ns, event.end_ns), texts, strict=True))


def write_unified_memory(run: Run, path: Path) -> None:
    """Writes the sums that rocprofiler-systems writes of the same events."""
    events = driver_events(run)
    moves = [event for event in events if isinstance(event, Move)]
    ways = {"host_to_device": (CPU, GPU), "device_to_host": (GPU, CPU), "device_to_device": (GPU, GPU)}
    migrations = {name: _sums([move for move in moves if move.ends == ends]) for name, ends in ways.items()}
    triggers = ("prefetch", "gpu_page_fault", "cpu_page_fault", "ttm_eviction", "unknown")
    summary = {
        "total_page_faults": sum(isinstance(event, Fault) for event in events),
        "xnack_enabled": True,
        "migration_triggers": {
            name: sum(move.trigger == number for move in moves) for number, name in enumerate(triggers)
        },
    }
    device = {"device_id": GPU, "device_name": "gfx942 (AMD Instinct MI300X)", "migrations": migrations}
    path.write_text(json.dumps({"devices": [device], "summary": summary}, indent=2) + "\n")


def _sums(moves: list[Move]) -> dict[str, float]:
    sizes = [move.pages * PAGE_BYTES for move in moves]
    time = sum(move.end_ns - move.start_ns for move in moves)
    return {
        "count": len(moves),
        "avg_size_bytes": round(sum(sizes) / len(sizes), 2) if sizes else 0,
        "min_size_bytes": min(sizes, default=0),
        "max_size_bytes": max(sizes, default=0),
        "total_size_bytes": sum(sizes),
        "total_time_ns": time,
        "migration_throughput_gbps": round(sum(sizes) / time, 2) if time else 0,
    }
