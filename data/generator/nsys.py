"""Writes runs as one Nsight Systems SQLite export."""

import re
import sqlite3
from collections.abc import Iterable, Iterator, Sequence
from contextlib import closing
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from .nsys_schema import ENUMERATIONS, TABLES
from .program import COMPUTE_STREAM, REDUCE_STREAM
from .records import Call, Copy, Fill, Kernel, Segment, Span, Wait, Work
from .run import START_NS, Run
from .workload import Workload

__all__ = ["write_nsys"]

Row = tuple[Any, ...]

MACHINE = 1 << 48  # the top bits of each global id name the machine, then come 24 bits of process and 24 of thread
NO_ID = 0xFFFF_FFFF
UPTIME_NS = 86_400_000_000_000
DOMAIN_CREATE, PUSH_POP = 75, 59
KINDS = {"Pageable": 0, "Pinned": 1, "Device": 2}
DIRECTIONS = {"HtoD": 1, "DtoH": 2}
SYNC_TYPES = {"Stream Wait Event": 2, "Stream Sync": 3, "Context Sync": 4}
# The runtime's functions carry the version in which they came to be; the driver's do not.
SUFFIXES = {"cudaLaunchKernel": "_v7000", "cudaLaunchKernelExC": "_v11060", "cuLaunchKernel": ""}
GPU = (
    "NVIDIA H100 80GB HBM3", "0000:%02x:00.0", 1, 52428800, 85017493504, 3352320000000, 1980000000, 132, 0,
    "5f0c2a10-0000-4000-8000-%012d", 0, "GH100",
)  # fmt: skip
GPU_LIMITS = (
    "", "", 161, 0, 65536, 0, 65536, 49152, 232448, 233472, 65536, 32, 3, 64, 32, 1024, 1024, 1024, 64, 2147483647,
    65535, 65535, 9, 0, 9, 0,
)  # fmt: skip


def write_nsys(run: Run, path: Path, *, others: Sequence[Run] = ()) -> None:
    """Writes the run, and those of other processes that were captured with it, as a new file.

    Times count from the capture's start. One iteration is in memory at a time.
    """
    path.unlink(missing_ok=True)
    runs = [run, *others]
    with closing(sqlite3.connect(path, isolation_level=None)) as database:
        for statement in ("PRAGMA journal_mode = OFF", "PRAGMA synchronous = OFF", "BEGIN", *TABLES.values()):
            database.execute(statement)
        strings = _Strings()
        last = max([_write_events(database, each, strings) for each in runs])
        for each in runs:
            _insert_all(database, _process_rows(each.workload, strings))
        _insert_all(database, _session_rows(last))
        _insert_all(database, ENUMERATIONS.items())
        _insert(database, "StringIds", [(number, text) for text, number in strings.items()])
        database.execute("COMMIT")


class _Strings(dict[str, int]):
    """Numbers texts in the order of their first use."""

    def __missing__(self, text: str) -> int:
        self[text] = number = len(self)
        return number


def _insert(database: sqlite3.Connection, table: str, rows: Sequence[Row]) -> None:
    if rows:
        marks = ",".join("?" * len(rows[0]))
        database.executemany(f"INSERT INTO {table} VALUES ({marks})", rows)


def _insert_all(database: sqlite3.Connection, tables: Iterable[tuple[str, Sequence[Row]]]) -> None:
    for table, rows in tables:
        _insert(database, table, rows)


def _write_events(database: sqlite3.Connection, run: Run, strings: _Strings) -> int:
    """Writes the rows of the run's events and returns its end."""
    process = _Process(run.workload, strings)
    _insert(database, "NVTX_EVENTS", [process.domain()])
    last = 0
    for segment in run.segments():
        _insert_all(database, process.tables(segment))
        last = segment.end_ns
    return last


class _Process:
    """Turns the events of one process into rows."""

    def __init__(self, workload: Workload, strings: _Strings) -> None:
        self._workload, self._strings = workload, strings
        self._global_process, self._threads = _global_ids(workload)
        self._launched = 0
        self._names: dict[Kernel, tuple[int, int, int | None]] = {}

    def domain(self) -> Row:
        """Returns the row that creates NCCL's domain of ranges."""
        return _range_row(0, None, DOMAIN_CREATE, "NCCL", self._threads[0], None, 1)

    def tables(self, segment: Segment) -> Iterator[tuple[str, list[Row]]]:
        """Yields each table's new rows."""
        works = segment.works
        yield (
            "CUPTI_ACTIVITY_KIND_KERNEL",
            [self._kernel(work, work.spec) for work in works if isinstance(work.spec, Kernel)],
        )
        yield (
            "CUPTI_ACTIVITY_KIND_MEMCPY",
            [self._copy(work, work.spec) for work in works if isinstance(work.spec, Copy)],
        )
        yield (
            "CUPTI_ACTIVITY_KIND_MEMSET",
            [self._fill(work, work.spec) for work in works if isinstance(work.spec, Fill)],
        )
        yield "CUPTI_ACTIVITY_KIND_RUNTIME", [self._call(call) for call in segment.calls]
        yield "CUPTI_ACTIVITY_KIND_SYNCHRONIZATION", [self._wait(wait) for wait in segment.waits]
        spans = (event for event in segment.host if isinstance(event, Span))
        yield "NVTX_EVENTS", [self._range(span) for span in spans if span.operator.category == "user_annotation"]

    def _place(self, work: Work) -> Row:
        device = self._workload.device
        return work.start_ns, work.end_ns, device, 1, 0, work.stream, work.correlation, self._global_process

    def _kernel(self, work: Work, kernel: Kernel) -> Row:
        self._launched += 1
        names = self._names.get(kernel)
        if names is None:
            plain = kernel.name.isidentifier()
            full = self._strings[kernel.name]
            names = self._names[kernel] = full, self._strings[_short(kernel.name)], full if plain else None
        opted = int(kernel.dynamic_shared > 49152)
        return (
            *self._place(work), *names, 1, 1, kernel.registers, *kernel.grid, *kernel.block, kernel.static_shared,
            kernel.dynamic_shared, 0, 250871808, self._launched, 233472 if opted else 32768, None, opted, None, None,
            None, None, 0, 0, 0, 1, 0, 0, None, "[]",
        )  # fmt: skip

    def _copy(self, work: Work, copy: Copy) -> Row:
        kinds = DIRECTIONS[copy.direction], None, KINDS[copy.source], KINDS[copy.target]
        return (*self._place(work), copy.bytes, *kinds, *(None,) * 7, 1)

    def _fill(self, work: Work, fill: Fill) -> Row:
        return (*self._place(work), 0, fill.bytes, None, KINDS["Device"])

    def _call(self, call: Call) -> Row:
        is_driver = not call.name.startswith("cuda")
        name = self._strings[call.name + SUFFIXES.get(call.name, "_v3020")]
        return call.start_ns, call.end_ns, int(is_driver), self._threads[call.thread], call.correlation, name, 0, None

    def _wait(self, wait: Wait) -> Row:
        stream = NO_ID if wait.stream is None else wait.stream
        event, sync = (NO_ID, 0) if wait.event is None else (wait.event, wait.event)
        device, process = self._workload.device, self._global_process
        place = wait.start_ns, wait.end_ns, device, 1, None, stream, wait.correlation, process
        return (*place, None, SYNC_TYPES[wait.kind], event, sync)

    def _range(self, span: Span) -> Row:
        name, thread = span.operator.name, self._threads[span.thread]
        if name == "nccl:all_reduce":
            return _range_row(span.start_ns, span.end_ns, PUSH_POP, None, thread, self._strings["ncclAllReduce"], 1)
        return _range_row(span.start_ns, span.end_ns, PUSH_POP, name, thread, None, 0)


def _range_row(
    start: int, end: int | None, kind: int, text: str | None, thread: int, text_id: int | None, domain: int
) -> Row:
    return start, end, kind, None, None, None, text, thread, None, text_id, domain, *(None,) * 9


def _short(name: str) -> str:
    """Returns a function's bare name, without its result, namespaces, template arguments and parameters."""
    name = re.sub(r"\(anonymous namespace\)::", "", name).removeprefix("void ")
    return re.split(r"[<(]", name, maxsplit=1)[0].rpartition("::")[2]


def _global_ids(workload: Workload) -> tuple[int, tuple[int, ...]]:
    process = MACHINE | workload.process << 24
    return process, tuple(process | thread for thread in workload.threads)


def _process_rows(workload: Workload, strings: _Strings) -> Iterator[tuple[str, list[Row]]]:
    """Yields the rows about the process, its threads, device, context and streams."""
    process, threads = _global_ids(workload)
    pid, device = workload.process, workload.device
    streams = [(COMPUTE_STREAM, 3)] + [(REDUCE_STREAM, 2)] * (workload.world_size > 1)
    name, location, discrete, cache, memory, bandwidth, clock, sms, works, uuid, luid, chip = GPU
    gpu = name, str(location) % (0x40 + device), discrete, cache, memory, bandwidth, clock, sms, works
    yield "PROCESSES", [(process, pid, "python3")]
    yield (
        "ThreadNames",
        [(strings[text], 20, thread) for text, thread in zip(("python3", "pt_autograd_0"), threads, strict=True)],
    )
    yield "TARGET_INFO_GPU", [(MACHINE, device, *gpu, str(uuid) % device, luid, chip, device, *GPU_LIMITS)]
    yield "TARGET_INFO_CUDA_DEVICE", [(device, device, pid, str(uuid) % device, sms)]
    yield "TARGET_INFO_CUDA_CONTEXT_INFO", [(COMPUTE_STREAM, 0, 1, pid, device, 1, 0, 0, 0)]
    yield "TARGET_INFO_CUDA_STREAM", [(stream, 0, 1, pid, 1, 0, flag) for stream, flag in streams]


def _session_rows(last_ns: int) -> Iterator[tuple[str, list[Row]]]:
    """Yields the rows about the capture and the export."""
    start = datetime.fromtimestamp(START_NS // 1_000_000_000, tz=UTC).strftime("%Y-%m-%dT%H:%M:%S")
    environment = (("CpuArchitecture", 3, "x86_64"), ("NvDriverVersion", 205, "580.95.05"), ("Hostname", 619, "node0"))
    yield "TARGET_INFO_SYSTEM_ENV", [(MACHINE, "Local (CLI)", *row) for row in environment]
    yield "TARGET_INFO_SESSION_START_TIME", [(START_NS, start, start, UPTIME_NS)]
    yield "ANALYSIS_DETAILS", [(MACHINE, last_ns, UPTIME_NS, UPTIME_NS + last_ns)]
    yield (
        "META_DATA_CAPTURE",
        [
            ("CAPTURE_EVENT_TYPE", "NvtxEvents"),
            ("CAPTURE_EVENT_TYPE", "Cuda"),
            ("CUDA_GRAPH_TRACE_OPTIONS:MODE", "Graph"),
            ("PROCESS_0:COMMAND", "python3"),
            ("PROCESS_0:ARGUMENT_0", "train.py"),
        ],
    )
    yield (
        "META_DATA_EXPORT",
        [
            ("EXPORT_PRODUCT_NAME", "NVIDIA Nsight Systems"),
            ("EXPORT_PRODUCT_VERSION", "2026.2.1.210"),
            ("EXPORT_PRODUCT_DATE", "2026.2"),
            ("EXPORT_SCHEMA_VERSION", "3.25.0"),
            ("EXPORT_SCHEMA_VERSION_MAJOR", "3"),
            ("EXPORT_SCHEMA_VERSION_MINOR", "25"),
            ("EXPORT_SCHEMA_VERSION_MICRO", "0"),
            ("EXPORT_PARAM_LAZY", "true"),
            ("EXPORT_PARAM_TIME_NORMALIZE", "false"),
        ],
    )
