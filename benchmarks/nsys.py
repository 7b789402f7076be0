"""Measures reading an Nsight Systems database: `python -m benchmarks.nsys [--kernels 5] [--rounds 3]`.

The database is made once per size, in bulk, and kept in the user's cache folder: a training run of two devices in
which each kernel has a launch call, one in sixteen kernels a copy, one in sixty-four a wait, and one in eight a range
around it. The baselines fetch the columns of its two largest tables, of kernels and of calls, and keep nothing:
Python's sqlite3 as tuples, the ADBC driver as Arrow. Ingest keeps the rows of all of them.
"""

import argparse
import json
import os
import sqlite3
import tempfile
from collections.abc import Iterator, Sequence
from contextlib import closing
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from benchmarks.process import Measure, run
from data.generator.nsys_schema import ENUMERATIONS, TABLES
from tracelode.store import Archive

__all__ = ["big_database", "measure"]

Ints = npt.NDArray[np.int64]

MACHINE = 1 << 48
PROCESSES = (MACHINE | 4100 << 24, MACHINE | 4101 << 24)
STREAMS, COPY_STREAM = (7, 7, 7, 20), 13
SPECS = 60
PIECE = 65_536
FIRST_TEXT, FIRST_NAME = 100, 1_000
CALLS = ("cudaLaunchKernel_v7000", "cudaMemcpyAsync_v3020", "cudaStreamSynchronize_v3020")

FETCHED = {
    "CUPTI_ACTIVITY_KIND_KERNEL": (
        *("start", "end", "deviceId", "contextId", "streamId", "correlationId", "globalPid", "demangledName"),
        *("launchType", "registersPerThread", "gridX", "gridY", "gridZ", "blockX", "blockY", "blockZ"),
        *("staticSharedMemory", "dynamicSharedMemory", "graphNodeId", "graphId"),
    ),
    "CUPTI_ACTIVITY_KIND_RUNTIME": ("start", "end", "globalTid", "correlationId", "nameId", "returnValue"),
}
"""The columns of the two large tables that have a place of their own in the archive."""

QUERIES = [f"select {', '.join(columns)} from {table}" for table, columns in FETCHED.items()]
SQLITE3 = f"""
import sqlite3, sys
database, counts = sqlite3.connect(f"file:{{sys.argv[1]}}?mode=ro&immutable=1", uri=True), []
for query in {QUERIES}:
    cursor = database.execute(query)
    counts.append(0)
    while rows := cursor.fetchmany(65536):
        counts[-1] += len(rows)
print(counts[0])
"""
ADBC = f"""
import sys
from adbc_driver_sqlite import dbapi
counts = []
for query in {QUERIES}:
    with dbapi.connect(f"file:{{sys.argv[1]}}?mode=ro&immutable=1") as database, database.cursor() as cursor:
        cursor.adbc_statement.set_options(**{{"adbc.sqlite.query.batch_rows": "65536"}})
        cursor.execute(query)
        counts.append(sum(batch.num_rows for batch in cursor.fetch_record_batch()))
print(counts[0])
"""
INGEST = """
import sys
from pathlib import Path
from tracelode.collect.ingest import read
from tracelode.store import Archive
trace, _ = read(Path(sys.argv[1]), Archive(sys.argv[2]))
print(trace.rows["kernel"])
"""


def big_database(kernels: int) -> Path:
    """A database of so many kernels, made at the first call: 154 bytes a kernel, 4 seconds a million."""
    home = Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache") / "tracelode-benchmarks"
    path = home / f"nsys-2-{kernels}.sqlite"
    if not path.exists():
        home.mkdir(parents=True, exist_ok=True)
        half = path.with_suffix(f".{os.getpid()}")
        half.unlink(missing_ok=True)
        _write(half, kernels)
        half.rename(path)
    return path


def measure(kernels: int, rounds: int) -> dict[str, Any]:
    """The figures of one size: the least CPU seconds of the rounds, which are taken in turn, after one to compile."""
    path = big_database(kernels)
    contenders: dict[str, list[Measure]] = {"ingest": [], "sqlite3": [], "adbc": []}
    with tempfile.TemporaryDirectory() as folder:
        run(INGEST, str(big_database(200_000)), f"{folder}/warm")  # large enough for the compiled reader
        for number in range(rounds):
            contenders["ingest"].append(run(INGEST, str(path), f"{folder}/{number}"))
            contenders["sqlite3"].append(run(SQLITE3, str(path)))
            contenders["adbc"].append(run(ADBC, str(path)))
        (kept,) = Archive(f"{folder}/0").manifests()
    for name, measures in contenders.items():
        if wrong := {m.answer for m in measures} - {str(kernels)}:
            raise SystemExit(f"{name} counts {wrong} kernels, not {kernels}")
    best = {name: min(measures, key=lambda m: m.seconds) for name, measures in contenders.items()}
    figures: dict[str, Any] = {"nsys_kernels": kernels, "nsys_mb": path.stat().st_size / 1e6}
    for name, least in best.items():
        figures[f"nsys_{name}_kernels_per_s"] = kernels / least.seconds
        figures[f"nsys_{name}_peak_mb"] = max(m.peak for m in contenders[name]) / 1e6
    rows = sum(int(file["rows"]) for file in kept.files.values())
    return figures | {
        "nsys_rows": rows,
        "nsys_ingest_rows_per_s": rows / best["ingest"].seconds,
        "nsys_ingest_speed_to_sqlite3": best["sqlite3"].seconds / best["ingest"].seconds,
        "nsys_ingest_speed_to_adbc": best["adbc"].seconds / best["ingest"].seconds,
        "nsys_kernel_parquet_bytes_each": int(kept.files["kernel"]["bytes"]) / kernels,
    }


def _write(path: Path, kernels: int) -> None:
    random = np.random.default_rng(7)
    with closing(sqlite3.connect(path, isolation_level=None)) as database:
        for statement in ("pragma journal_mode = off", "pragma synchronous = off", "begin", *TABLES.values()):
            database.execute(statement)
        for table, rows in (*ENUMERATIONS.items(), *_descriptions()):
            database.executemany(f"insert into {table} values ({_marks(rows[0])})", rows)
        clock = 0
        for first in range(0, kernels, PIECE):
            clock = _write_piece(database, np.arange(first, min(first + PIECE, kernels)), clock, random)
        database.execute("commit")


def _write_piece(database: sqlite3.Connection, number: Ints, clock: int, random: np.random.Generator) -> int:
    """Writes these kernels and what goes with them; the time at which the last call ends."""
    rows = len(number)
    gap, length = random.integers(2_000, 9_000, rows), 32 * random.integers(45, 220, rows)
    launched = clock + np.cumsum(gap)
    device, spec = number % 2, number // 2 % SPECS
    process = np.array(PROCESSES)[device]
    stream = np.array(STREAMS)[random.integers(0, len(STREAMS), rows)]
    started = _queued(launched + random.integers(4_000, 60_000, rows), length, device * 100 + stream)
    correlation = 10_000 + number * 3
    place = [started, started + length, device, device + 1, stream, correlation, process]
    shape = [spec * 8 + 1, spec % 4 + 1, 32 * (spec % 8 + 1), 1024 * (spec % 48)]
    _insert(
        database,
        "CUPTI_ACTIVITY_KIND_KERNEL",
        "?,?,?,?,0,?,?,?,?,?,?,1,1,?,?,?,1,?,1,1,16,?,0,250871808,?,32768,null,0,null,null,null,null,0,0,0,1,0,0,null,'[]'",
        [*place, FIRST_NAME + spec, FIRST_NAME + SPECS + spec, FIRST_NAME + spec, 16 + spec % 3 * 32, *shape, number],
    )
    some = np.flatnonzero(number % 16 == 0)
    copied = [column[some] for column in place]
    copied[1], copied[4], copied[5] = copied[0] + 1_400, np.full(len(some), COPY_STREAM), copied[5] + 1
    _insert(
        database,
        "CUPTI_ACTIVITY_KIND_MEMCPY",
        f"?,?,?,?,0,?,?,?,?,?,null,?,2,{','.join(['null'] * 7)},1",
        [*copied, random.integers(1, 1 << 22, len(some)), 1 + number[some] // 16 % 2, number[some] // 16 % 2],
    )
    called = np.concatenate([launched, launched[some] + 2_000])
    calls = [called, called + random.integers(1_000, 1_900, len(called)), np.append(process, process[some]) | 77]
    calls += [np.append(correlation, copied[5]), FIRST_TEXT + (np.arange(len(called)) >= rows)]
    order = np.argsort(called)
    _insert(database, "CUPTI_ACTIVITY_KIND_RUNTIME", "?,?,0,?,?,?,0,null", [column[order] for column in calls])
    few = np.flatnonzero(number % 64 == 0)
    waited = [launched[few] + 2_500, launched[few] + 2_900, device[few], device[few] + 1, stream[few]]
    _insert(
        database,
        "CUPTI_ACTIVITY_KIND_SYNCHRONIZATION",
        f"?,?,?,?,null,?,?,?,null,3,{2**32 - 1},0",
        [*waited, correlation[few] + 2, process[few]],
    )
    marked = np.flatnonzero(number % 8 == 0)
    ranges = launched[marked], launched[marked] + 15_000, number[marked] // 8 % 96, process[marked] | 77
    _insert(
        database, "NVTX_EVENTS", f"?,?,59,null,null,null,'layer '||?,?,null,null,0,{','.join(['null'] * 9)}", ranges
    )
    return int(launched[-1])


def _queued(ready: Ints, length: Ints, queue: Ints) -> Ints:
    """When work starts that waits for the work before it in its queue, with 900 ns between them."""
    started = np.empty(len(ready), np.int64)
    for number in np.unique(queue):
        own = queue == number
        busy = np.cumsum(length[own] + 900)
        started[own] = np.maximum.accumulate(ready[own] - busy + length[own] + 900) + busy - length[own] - 900
    return started


def _insert(database: sqlite3.Connection, table: str, values: str, columns: Sequence[Ints]) -> None:
    database.executemany(f"insert into {table} values ({values})", zip(*(c.tolist() for c in columns), strict=True))


def _descriptions() -> Iterator[tuple[str, list[tuple[Any, ...]]]]:
    names = [f"void library::fused_kernel_{at}<float, {at % 7}>(float const*, float*, int)" for at in range(SPECS)]
    short = [f"fused_kernel_{at}" for at in range(SPECS)]
    texts = [*enumerate(CALLS, FIRST_TEXT), *enumerate([*names, *short], FIRST_NAME)]
    yield "StringIds", [*texts]
    yield "PROCESSES", [(process, process >> 24 & 0xFFFFFF, "python3") for process in PROCESSES]
    yield "META_DATA_EXPORT", [("EXPORT_SCHEMA_VERSION", "3.25.0"), ("EXPORT_PRODUCT_NAME", "NVIDIA Nsight Systems")]


def _marks(row: Sequence[Any]) -> str:
    return ",".join("?" * len(row))


def main() -> None:
    """Measures and prints."""
    options = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    options.add_argument("--kernels", type=float, default=5, help="millions of kernels")
    options.add_argument("--rounds", type=int, default=3)
    options.add_argument("-o", "--output", type=Path, help="JSON file for the results")
    given = options.parse_args()
    report = measure(round(given.kernels * 1e6), given.rounds)
    for key, value in report.items():
        print(f"{key:<34}{value:.4g}" if isinstance(value, float) else f"{key:<34}{value}")
    if given.output:
        given.output.write_text(json.dumps(report, indent=1) + "\n")


if __name__ == "__main__":
    main()
