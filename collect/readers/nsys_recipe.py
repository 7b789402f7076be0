"""Nsight Systems recipe output: projected NVTX ranges (nvtx_gpu_proj_trace) and device metadata, as Parquet.

One Parquet file, or the folder in which they lie. A range's times are those of the device work launched from it, as the
recipe worked them out, on the clock of the recording; the times on the host are in `args`. The row without a name that
a recipe may give per thread is the device work that no range launched. `RangeStack` is left out: it repeats the ids of
the ranges around, which `parent_id` tells. `Rank` is the number of the report in the recipe's input, not the rank of
the process, and stays in `args` where it is not 0.

Confirmed: the columns of both, from the recipe's own files and from NVIDIA's nsys-jax, which writes the device metadata
(github.com/NVIDIA/JAX-Toolbox, nsys-jax): there the columns are pairs of a table and its column. Neither holds kernels.
"""

import re
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.compute

from ...store.errors import UnreadableFile
from ...store.trace import Facts
from ..database_columns import INT, TEXT, near
from ..files import TraceFile
from ..nsys_columnar import AGAIN, Columnar
from ..nsys_columns import arguments, nonzero
from ..nsys_identity import device_columns
from ..nsys_pqtdir import PARQUET, ParquetTable, columns_of, open_table
from ..sink import Sink

VERSION = 1

pc: Any = pyarrow.compute  # its functions are made at import, so its types say nothing

SUFFIX = ".parquet"
RANGES = {"Name", "Projected Start", "Projected Duration"}
NUMBERS = (
    "Projected Start",
    "Projected Duration",
    "Orig Start",
    "Orig Duration",
    "PID",
    "TID",
    "RangeId",
    "ParentId",
    "Lvl",
)
COUNTED = ("NumGPUOps", "NumChild", "Rank")
LEFT_OUT = ("RangeStack",)
CARD = re.compile(r"\('TARGET_INFO_GPU', '(\w+)'\)")
TITLE = "('TARGET_INFO_NVTX_CUDA_DEVICE', 'name')"


def recognises(file: TraceFile) -> bool:
    """Whether it is such a Parquet file, or a folder with one."""
    return any(_has_ranges(columns) or _has_devices(columns) for columns in map(columns_of, _files(file)))


def read(file: TraceFile, sink: Sink) -> Facts:
    """Hands ranges and devices to the sink and returns the facts; `UnreadableFile` for a damaged file."""
    file.digest()
    processes: set[int] = set()
    cards: list[Columnar] = []
    for path in _files(file):
        columns = columns_of(path)
        table = open_table(path)
        if not isinstance(table, ParquetTable) and (columns or path.name.endswith(SUFFIX)):
            raise UnreadableFile(f"{path}: damaged: {table}", AGAIN)
        if not isinstance(table, ParquetTable) or not (_has_ranges(columns) or _has_devices(columns)):
            sink.note("unread-file", "files of the folder that are no part of the trace: not read", example=path.name)
            continue
        source = Columnar(str(file.path), {"NVTX_EVENTS projected": table}, {})
        if _has_devices(columns):
            cards.append(source)
        else:
            processes |= _read_ranges(source, sink)
            source.report(sink.note)
    for process in sorted(processes):
        sink.write("process", {"process": [process], "pid": process})
    for source in cards:
        _read_devices(source, sorted(processes) or [0], sink)
        source.report(sink.note)
    return Facts("nsys_recipe", producer="NVIDIA Nsight Systems recipe", clock="nanoseconds since the session began")


def _files(file: TraceFile) -> list[Path]:
    if file.head:
        return [Path(str(file.path))] if file.head.startswith(PARQUET) else []
    return file.members()


def _has_ranges(columns: set[str]) -> bool:
    return columns >= RANGES


def _has_devices(columns: set[str]) -> bool:
    return any(CARD.fullmatch(name) for name in columns)


def _read_ranges(source: Columnar, sink: Sink) -> set[int]:
    """Writes the ranges; the processes that have some."""
    (table,) = source.tables
    asked = {**dict.fromkeys((*NUMBERS, *COUNTED), INT), "Name": TEXT}
    rest = {n: kind for n, kind in source.tables[table].items() if n not in asked and n not in LEFT_OUT}
    found: set[int] = set()
    for batch in source.batches(table, {**asked, **rest}):
        start, length = batch.column("Projected Start"), batch.column("Projected Duration")
        kept = batch.filter(pc.fill_null(pc.and_(near(start), near(pc.fill_null(length, 0))), False))
        if kept.num_rows < batch.num_rows:
            lost = batch.num_rows - kept.num_rows
            sink.note("no-time", "events without a time that can be: left out", count=lost)
        found |= _write_ranges(kept, list(rest), sink)
    return found


def _write_ranges(batch: pa.RecordBatch, rest: list[str], sink: Sink) -> set[int]:
    process = batch.column("PID")
    if process.null_count:
        sink.note("no-process", "events of no stated process: counted as process 0", count=process.null_count)
        process = pc.fill_null(process, 0)
    start = batch.column("Projected Start")
    said = {name: batch.column(name) for name in ("Orig Start", "Orig Duration", "Lvl")}
    said |= {name: nonzero(batch.column(name)) for name in (*COUNTED, *rest)}
    sink.write(
        "range",
        {
            "process": process,
            "thread": batch.column("TID"),
            "start_ns": start,
            "end_ns": pc.add(start, pc.fill_null(batch.column("Projected Duration"), 0)),
            "name": batch.column("Name"),
            "kind": "device_annotation",
            "id": batch.column("RangeId"),
            "parent_id": batch.column("ParentId"),
            "args": arguments(said),
        },
    )
    return set(pc.unique(process).to_pylist())


def _read_devices(source: Columnar, processes: list[int], sink: Sink) -> None:
    """Writes each card for each process: a recipe does not say which process used which."""
    (table,) = source.tables
    for row in source.rows(table):
        card = {match[1]: value for name, value in row.items() if (match := CARD.fullmatch(name))}
        number = row.get("cuDevice", card.get("id"))
        if isinstance(number, int) and 0 <= number < 2**31:
            for process in processes:
                sink.write("device", device_columns(process, number, {**card, "nvtxName": row.get(TITLE)}))
