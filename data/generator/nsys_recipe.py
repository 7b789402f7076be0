"""Writes what the recipe nvtx_gpu_proj_trace of Nsight Systems makes of a run, and nsys-jax's table of its devices."""

from collections.abc import Iterator
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any, NamedTuple

import pyarrow as pa
import pyarrow.parquet as pq

from .nsys import write_nsys
from .nsys_forms import tables_of
from .records import Span, Work
from .run import Run

__all__ = ["write_recipe"]

KINDS = {
    "Name": pa.string(), "Projected Start": pa.int64(), "Projected Duration": pa.int64(), "Orig Start": pa.float64(),
    "Orig Duration": pa.float64(), "Style": pa.string(), "PID": pa.int64(), "TID": pa.int64(), "NumGPUOps": pa.int64(),
    "Lvl": pa.float64(), "NumChild": pa.int64(), "RangeId": pa.float64(), "ParentId": pa.float64(),
    "RangeStack": pa.string(), "Rank": pa.int64(),
}  # fmt: skip
"""The recipe's columns; numbers that not every row has are floating ones, as pandas makes them."""

Row = dict[str, Any]


class _Launched(NamedTuple):
    """Work of the device, and the thread and time of the call that launched it."""

    thread: int
    time_ns: int
    work: Work


def write_recipe(run: Run, path: Path) -> None:
    """Writes a folder with the ranges, each as long as the device worked on what it launched, and with the devices."""
    path.mkdir(parents=True, exist_ok=True)
    rows = list(_rows(run))
    columns = {name: pa.array([row[name] for row in rows], kind) for name, kind in KINDS.items()}
    _write(pa.table(columns), path / "trace.parquet")
    _write(pa.table({name: [value] for name, value in _device(run).items()}), path / "device-metadata.parquet")


def _write(table: pa.Table, path: Path) -> None:
    pq.write_table(table, path, compression="zstd", write_statistics=False, store_schema=False)


def _rows(run: Run) -> Iterator[Row]:
    """Yields for each thread the work that no range launched, then the ranges in order of their start."""
    spans: list[Span] = []
    launched: list[_Launched] = []
    for segment in run.segments():
        events = (event for event in segment.host if isinstance(event, Span))
        spans += [span for span in events if span.operator.category == "user_annotation"]
        launched += [_Launched(call.thread, call.start_ns, call.work) for call in segment.calls if call.work]
    for thread in range(len(run.workload.threads)):
        own = sorted((span for span in spans if span.thread == thread), key=lambda span: (span.start_ns, -span.end_ns))
        works = [one for one in launched if one.thread == thread]
        alone = [one.work for one in works if not any(_holds(span, one.time_ns) for span in own)]
        place = {"PID": run.workload.process, "TID": run.workload.threads[thread], "Rank": 0}
        if alone:
            yield dict.fromkeys(KINDS) | place | _projected(alone) | {"NumChild": 0}
        for span in own:
            inside = [one.work for one in works if _holds(span, one.time_ns)]
            if inside:
                yield place | _projected(inside) | _described(span, own)


def _holds(span: Span, time_ns: int) -> bool:
    return span.start_ns <= time_ns < span.end_ns


def _projected(works: list[Work]) -> Row:
    start = min(work.start_ns for work in works)
    return {
        "Projected Start": start,
        "Projected Duration": max(work.end_ns for work in works) - start,
        "NumGPUOps": len(works),
    }


def _described(span: Span, spans: list[Span]) -> Row:
    """Returns what the host knows of a range: its times there, and the ranges around and in it."""
    around = [one for one in spans if one is not span and _holds(one, span.start_ns) and one.end_ns >= span.end_ns]
    inside = [one for one in spans if one is not span and _holds(span, one.start_ns)]
    return {
        "Name": span.operator.name,
        "Orig Start": span.start_ns,
        "Orig Duration": span.end_ns - span.start_ns,
        "Style": "PushPop",
        "Lvl": len(around),
        "NumChild": sum(all(not _within(one, other) for other in inside) for one in inside),
        "RangeId": span.id,
        "ParentId": around[-1].id if around else None,
        "RangeStack": "".join(f":{one.id}" for one in (*around, span)),
    }


def _within(one: Span, other: Span) -> bool:
    return one is not other and _holds(other, one.start_ns)


def _device(run: Run) -> Row:
    """Returns the one row of devices, whose columns are called after a table and its column."""
    with TemporaryDirectory() as folder:
        database = Path(folder) / "run.sqlite"
        write_nsys(run, database)
        card = tables_of(database)["TARGET_INFO_GPU"][0]
    number = run.workload.device
    title = {"name": f"Xla:#global={number},local={number},process=0,slice=0#", "hwId": 0, "vmId": 1}
    tables = {"TARGET_INFO_GPU": card, "TARGET_INFO_NVTX_CUDA_DEVICE": {**title, "deviceId": number}}
    pairs = {str((table, name)): value for table, row in tables.items() for name, value in row.items()}
    del pairs["('TARGET_INFO_GPU', 'cuDevice')"]
    return {**pairs, "cuDevice": number}
