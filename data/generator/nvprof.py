"""Writes a run as nvprof does: the database of `nvprof -o`, and what `nvprof --csv --print-gpu-trace` prints."""

import struct
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from .database import write_database
from .program import COMPUTE_STREAM, REDUCE_STREAM
from .records import Copy, Kernel, Span, Work
from .run import START_NS, Run

__all__ = ["write_nvprof", "write_nvprof_text"]

KEY = "_id_ INTEGER PRIMARY KEY AUTOINCREMENT"
PREFIX = "CUPTI_ACTIVITY_KIND_"
COLUMNS = {
    "MEMCPY": (
        "copyKind srcKind dstKind flags bytes start end deviceId contextId streamId correlationId "
        "runtimeCorrelationId graphNodeId"
    ),
    "MEMSET": "value start end bytes deviceId contextId streamId correlationId flags memoryKind graphNodeId",
    "CONCURRENT_KERNEL": (
        "registersPerThread start end completed deviceId contextId streamId gridX gridY gridZ blockX blockY blockZ "
        "staticSharedMemory dynamicSharedMemory localMemoryPerThread localMemoryTotal correlationId gridId name "
        "queued submitted launchType graphNodeId"
    ),
    "DRIVER": "cbid start end processId threadId correlationId returnValue",
    "RUNTIME": "cbid start end processId threadId correlationId returnValue",
    "SYNCHRONIZATION": "type start end correlationId contextId streamId cudaEventId",
    "MARKER": "flags timestamp id objectKind objectId:BLOB name domain",
    "NAME": "objectKind objectId:BLOB name",
    "STREAM": "contextId streamId priority flag correlationId",
    "DEVICE": (
        "flags globalMemoryBandwidth globalMemorySize coreClockRate numMultiprocessors computeCapabilityMajor "
        "computeCapabilityMinor id name"
    ),
}
CALLS = {
    "cudaMemcpyAsync": 41, "cudaMemsetAsync": 51, "cudaStreamSynchronize": 131, "cudaEventRecord": 135,
    "cudaStreamWaitEvent": 147, "cudaDeviceSynchronize": 165, "cudaLaunchKernel": 211, "cudaLaunchKernelExC": 430,
    "cuLaunchKernel": 307,
}  # fmt: skip
KINDS = {"Pageable": 1, "Pinned": 2, "Device": 3}
DIRECTIONS = {"HtoD": 1, "DtoH": 2}
WAITS = {"Stream Wait Event": 2, "Stream Sync": 3, "Context Sync": 4}
NOBODY = -1
CARD = "Tesla V100-SXM2-16GB"
THREAD, BEGIN, END = 2, 2, 4


def write_nvprof(run: Run, path: Path) -> None:
    """Writes the run as a new database, whose times are Unix times."""
    rows = _rows(run)
    declarations = [
        f"CREATE TABLE StringTable({KEY}, value TEXT NOT NULL UNIQUE)",
        "CREATE TABLE Version(version INTEGER)",
    ]
    for kind, columns in COLUMNS.items():
        declared = (f"{n.partition(':')[0]} {n.partition(':')[2] or 'INT'} NOT NULL" for n in columns.split())
        declarations.append(f"CREATE TABLE {PREFIX}{kind}({KEY}, {', '.join(declared)})")
    write_database(path, declarations, rows)


def _rows(run: Run) -> dict[str, list[tuple[Any, ...]]]:
    strings: dict[str, int] = {"-- null --": 0}
    rows: dict[str, list[tuple[Any, ...]]] = {PREFIX + kind: [] for kind in COLUMNS}

    def add(kind: str, *values: Any) -> None:
        table = rows[PREFIX + kind]
        table.append((len(table) + 1, *values))

    def string(text: str) -> int:
        return strings.setdefault(text, len(strings))

    pid = run.workload.process
    for segment in run.segments():
        for call in segment.calls:
            times = START_NS + call.start_ns, START_NS + call.end_ns
            kind = "RUNTIME" if call.name.startswith("cuda") else "DRIVER"
            add(kind, CALLS[call.name], *times, pid, run.workload.threads[call.thread], call.correlation, 0)
        for work in segment.works:
            _add_work(add, string, run, work)
        for wait in segment.waits:
            times = START_NS + wait.start_ns, START_NS + wait.end_ns
            stream, event = (NOBODY if one is None else one for one in (wait.stream, wait.event))
            add("SYNCHRONIZATION", WAITS[wait.kind], *times, wait.correlation, 1, stream, event)
        for time, flag, number, thread, name in sorted(_marks(segment.host, run)):
            add("MARKER", flag, START_NS + time, number, THREAD, _object(pid, thread), string(name) if name else 0, 0)
    add("NAME", 1, _object(pid, 0), string("python3"))
    add("STREAM", 1, COMPUTE_STREAM, 0, 3, 0)
    add("STREAM", 1, REDUCE_STREAM, 0, 2, 0)
    add("DEVICE", 1, 900_000_000, 16_945_512_448, 1_530_000, 80, 7, 0, run.workload.device, string(CARD))
    rows["StringTable"] = [(number, text) for text, number in strings.items()]
    rows["Version"] = [(18,)]
    return rows


def _marks(host: list[Any], run: Run) -> Iterator[tuple[int, int, int, int, str]]:
    """Yields the begin and the end of each annotation: time, flag, id, thread, name (of a begin)."""
    for event in host:
        if isinstance(event, Span) and event.operator.category == "user_annotation":
            thread = run.workload.threads[event.thread]
            yield event.start_ns, BEGIN, event.id, thread, event.operator.name
            yield event.end_ns, END, event.id, thread, ""


def _add_work(add: Any, string: Any, run: Run, work: Work) -> None:
    spec, times = work.spec, (START_NS + work.start_ns, START_NS + work.end_ns)
    place = run.workload.device, 1, work.stream
    if isinstance(spec, Kernel):
        memory = spec.static_shared, spec.dynamic_shared, 0, 0
        sizes = *spec.grid, *spec.block, *memory, work.correlation, work.correlation
        add("CONCURRENT_KERNEL", spec.registers, *times, times[1], *place, *sizes, string(spec.name), 0, 0, 0, 0)
    elif isinstance(spec, Copy):
        kinds = DIRECTIONS[spec.direction], KINDS[spec.source], KINDS[spec.target]
        add("MEMCPY", *kinds, 1, spec.bytes, *times, *place, work.correlation, 0, 0)
    else:
        add("MEMSET", 0, *times, spec.bytes, *place, work.correlation, 1, KINDS["Device"], 0)


def _object(process: int, thread: int) -> bytes:
    return struct.pack("<Iiii", process, thread, 0, 0)


COLUMNS_PRINTED = (
    "Start", "Duration", "Grid X", "Grid Y", "Grid Z", "Block X", "Block Y", "Block Z", "Registers Per Thread",
    "Static SMem", "Dynamic SMem", "Size", "Throughput", "SrcMemType", "DstMemType", "Device", "Context", "Stream",
    "Name", "Correlation_ID",
)  # fmt: skip
UNITS = ("ms", "us", *("",) * 7, "B", "B", "B", "MB/s", *("",) * 7)


def write_nvprof_text(run: Run, path: Path) -> None:
    """Writes what nvprof prints: device work in order of time, from the profiler's start, exact to the nanosecond."""
    pid = run.workload.process
    opening = (
        f"=={pid}== NVPROF is profiling process {pid}, command: python3 small.py",
        f"=={pid}== Profiling application: python3 small.py",
        f"=={pid}== Profiling result:",
        ",".join(f'"{name}"' for name in COLUMNS_PRINTED),
        ",".join(UNITS),
    )
    works = sorted((work for segment in run.segments() for work in segment.works), key=lambda work: work.start_ns)
    path.write_text("\n".join((*opening, *(_printed(run, work) for work in works))) + "\n")


def _printed(run: Run, work: Work) -> str:
    spec, duration = work.spec, work.end_ns - work.start_ns
    times = f"{work.start_ns / 1e6:.6f}", f"{duration / 1e3:.6f}"
    place = f'"{CARD} ({run.workload.device})"', '"1"', f'"{work.stream}"'
    if isinstance(spec, Kernel):
        sizes = *spec.grid, *spec.block, spec.registers, spec.static_shared, spec.dynamic_shared
        cells = *sizes, "", "", "", "", *place, f'"{spec.name}"'
    else:
        speed = f"{spec.bytes * 1000 / duration:.6f}"
        ends = (f'"{spec.source}"', f'"{spec.target}"') if isinstance(spec, Copy) else ('"Device"', "")
        name = f"[CUDA memcpy {spec.direction}]" if isinstance(spec, Copy) else "[CUDA memset]"
        cells = *("",) * 9, f"{spec.bytes:.6f}", speed, *ends, *place, f'"{name}"'
    return ",".join(map(str, (*times, *cells, work.correlation)))
