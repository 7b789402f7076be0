"""Writes a run as a Kineto file, in the layout of text that torch.profiler writes."""

import gzip
import hashlib
import json
from collections.abc import Generator
from contextlib import contextmanager
from pathlib import Path
from typing import BinaryIO

from .kineto_events import Templates, clock, duration
from .program import COMPUTE_STREAM, REDUCE_STREAM
from .run import KINETO_BASE_NS, Run
from .workload import Workload

__all__ = ["write_kineto"]

DAY_NS = 86_400_000_000_000
DEVICE = """    {
      "id": %d, "name": "NVIDIA H100 80GB HBM3", "totalGlobalMem": 85017493504,
      "computeMajor": 9, "computeMinor": 0,
      "maxThreadsPerBlock": 1024, "maxThreadsPerMultiprocessor": 2048,
      "regsPerBlock": 65536, "warpSize": 32,
      "sharedMemPerBlock": 49152, "numSms": 132
    , "regsPerMultiprocessor": 65536, "sharedMemPerBlockOptin": 232448, "sharedMemPerMultiprocessor": 233472
    }"""
METADATA = """  {
    "name": "%s", "ph": "M", "ts": %s, "pid": %d, "tid": %d,
    "args": {
      "%s": %s
    }
  },
"""
END = """  {
    "ph": "X", "cat": "Trace", "ts": %(first)s, "dur": %(duration)s,
    "pid": "Spans", "tid": "PyTorch Profiler",
    "name": "PyTorch Profiler (0)",
    "args": {
      "Op count": 0
    }
  },
  {
    "name": "process_sort_index", "ph": "M", "ts": %(first)s,
    "pid": "Spans", "tid": 0,
    "args": {
      "sort_index": 536870912
    }
  },
  {
    "name": "Iteration Start: PyTorch Profiler", "ph": "i", "s": "g",
    "pid": "Traces", "tid": "Trace PyTorch Profiler", "ts": %(first)s
  },
  {
    "name": "Record Window End", "ph": "i", "s": "g",
    "pid": "", "tid": "", "ts": %(last)s
  }
  ],
  "traceName": "rank%(rank)d.pt.trace.json"
}
"""


def write_kineto(run: Run, path: Path) -> None:
    """Writes the run, compressed if the name ends in `.gz`, holding one iteration in memory at a time.

    The host's events of an iteration stand before its device's; a real file has those of the whole run first.
    """
    last = 0
    templates = Templates(run.workload)
    with _opened(path) as out:
        out.write(_head(run.workload).encode())
        for segment in run.segments():
            last = segment.end_ns
            out.write("".join(templates.segment(segment)).encode())
        out.write(_tail(run.workload, last).encode())


@contextmanager
def _opened(path: Path) -> Generator[gzip.GzipFile | BinaryIO]:
    with path.open("wb") as raw:
        if path.suffix != ".gz":
            yield raw
            return
        with gzip.GzipFile(filename="", mode="wb", compresslevel=6, fileobj=raw, mtime=0) as packed:
            yield packed


def _head(workload: Workload) -> str:
    """Returns everything before the first event."""
    group = {
        "pg_name": "0", "pg_desc": "default_pg", "backend_config": "cuda:nccl", "pg_size": workload.world_size,
        "ranks": list(range(workload.world_size)),
    }  # fmt: skip
    distributed = {
        "backend": "nccl", "rank": workload.rank, "world_size": workload.world_size, "pg_count": 1,
        "pg_config": [group], "nccl_version": "2.27.5",
    }  # fmt: skip
    identity = hashlib.sha256(repr(workload).encode()).hexdigest()[:32].upper()
    devices = ",\n".join(DEVICE % device for device in range(min(8, workload.world_size)))
    distribution = f'  "distributedInfo": {json.dumps(distributed)},\n' if workload.world_size > 1 else ""
    return (
        f'\n{{\n  "schemaVersion": 1,\n  "deviceProperties": [\n{devices}\n  ],\n{distribution}'
        '  "cupti_version": 130000,\n  "cuda_runtime_version": 12080,\n'
        f'  "cuda_driver_version": {workload.driver},\n'
        f'  "profile_memory": {int(workload.memory_events)},\n  "with_stack": {int(workload.python_frames)},\n'
        f'  "record_shapes": 1,\n  "trace_id": "{identity}",\n  "displayTimeUnit": "ms",\n'
        f'  "baseTimeNanoseconds": {KINETO_BASE_NS + workload.day * DAY_NS},\n  "traceEvents": [\n'
    )


def _tail(workload: Workload, last_ns: int) -> str:
    """Returns the metadata events and everything after them."""
    process, device = workload.process, workload.device
    main, autograd = workload.threads
    streams = (COMPUTE_STREAM, REDUCE_STREAM) if workload.world_size > 1 else (COMPUTE_STREAM,)
    lanes = [
        *((device, stream, f"stream {stream} ") for stream in streams),
        (process, main, f"thread {main} (python3)"),
        (process, autograd, f"thread {autograd} (pt_autograd_0)"),
    ]
    events: list[tuple[str, int, int, str, object]] = []
    for pid, label, order in (process, "CPU", process), (device, f"GPU {device}", 5_000_000 + device):
        events += [
            ("process_name", pid, 0, "name", "python3"),
            ("process_labels", pid, 0, "labels", label),
            ("process_sort_index", pid, 0, "sort_index", order),
        ]
    for pid, tid, name in lanes:
        events += [("thread_name", pid, tid, "name", name), ("thread_sort_index", pid, tid, "sort_index", tid)]
    first = clock(0)
    values = {"first": first, "last": clock(last_ns), "duration": duration(last_ns), "rank": workload.rank}
    lines = [METADATA % (name, first, pid, tid, key, json.dumps(value)) for name, pid, tid, key, value in events]
    return "".join(lines) + END % values
