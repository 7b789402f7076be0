"""Measures the event collector: `python -m benchmarks.record [--kernels 1e6] [--rounds 3]`.

Kernels, and copies a tenth as many, are replayed through the collector by the stubs of libcuda and libcupti that the
tests use, with totals only and with rows. The worker's CPU time is what it says itself; in the program's thread it is
that of the callbacks. Both are told for each record, beside walking the same records alone: with the stub's decoder,
which the worker's time contains, and with NVIDIA's where TRACELODE_REAL_CUPTI names a libcupti of CUDA 13.0 or 13.1.
Reading the recording into an archive is told by its CPU time and by the size of its Parquet files. What the device,
the driver and CUPTI itself cost is in none of these figures.
"""

import argparse
import os
import subprocess
import tempfile
import time
from pathlib import Path
from typing import Any

import numpy as np

from benchmarks.setting import tell
from tests.native.programs import Programs, build, missing
from tests.native.replays import COPY, KERNEL, Replay, recently
from tracelode.collect.ingest import read
from tracelode.store import Archive

NAMES = 200
BUFFER_BYTES = 2 << 20
COPIES = 10
"""There is a copy for so many kernels."""


def write_replay(programs: Programs, kernels: int, path: Path) -> int:
    """Writes a file of kernels and copies in turn; how many records it has."""
    random, base, block = np.random.default_rng(3), recently(), 10_000
    replay = Replay(programs.layout())
    names = np.array([replay.text(f"_ZN{name}kernel{'I' * (40 + name % 120)}EvT_") for name in range(NAMES)])
    for _ in range(kernels // block):
        start = base + np.cumsum(random.integers(0, 3_000, block))
        length = random.integers(1_000, 100_000, block)
        name = random.integers(0, NAMES, block)
        grid = 1 + name * random.integers(1, 4, block)
        replay.add(KERNEL, block, start=start, end=start + length, name=names[name], gridX=grid, blockX=256)
        replay.add(COPY, block // COPIES, start=base, end=base + 900, bytes=4096, copyKind=1, copyCount=1)
    replay.write(path)
    return replay.records


def walk(programs: Programs, cupti: Path, replay: Path, records: int) -> float:
    """Nanoseconds a record of walking alone."""
    command = [programs.folder / "walk", cupti, replay, str(BUFFER_BYTES)]
    told = subprocess.run(command, capture_output=True, text=True, check=True).stdout
    found, nanoseconds = map(int, told.split())
    if found != records:
        raise SystemExit(f"{cupti} finds {found} of {records} records")
    return nanoseconds / records


def record(programs: Programs, replay: Path, records: int, detail: str) -> dict[str, float]:
    """Figures of one recording, which must be whole."""
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        outcome = programs.run(
            folder / "out",
            replay,
            TRACELODE_RECORD_DETAIL=detail,
            TRACELODE_RECORD_BUFFERS="256",
            STUB_TIMES=str(folder / "times"),
        )
        callback_ns, own_bytes = map(int, (folder / "times").read_text().split())
        state = outcome.spool.state
        kept = into_archive(outcome.folders[0], folder / "archive", records) if detail == "rows" else {}
    if (outcome.status, sum(state["records"].values()), state["dropped"]) != (7, records, 0):
        raise SystemExit(f"the recording is not whole: {outcome.told} {state}")
    return {
        f"{detail}: worker ns each": state["worker_cpu_ns"] / records,
        f"{detail}: application ns each": callback_ns / records,
        f"{detail}: spool bytes each": state["spool_bytes"] / records,
        f"{detail}: process MB": own_bytes / 1e6,
        f"{detail}: of it buffers MB": state["buffer_bytes"] / 1e6,
        **kept,
    }


def into_archive(recording: Path, archive: Path, records: int) -> dict[str, float]:
    """What reading a recording costs, and how large it is then."""
    before = time.process_time_ns()
    trace, _ = read(recording, Archive(archive))
    spent = time.process_time_ns() - before
    kept = sum(trace.rows[table] for table in ("kernel", "copy"))
    if kept != records:
        raise SystemExit(f"{kept} of {records} records are in the archive")
    size = sum(path.stat().st_size for path in trace.files.values())
    return {"ingest: CPU ns each": spent / records, "ingest: Parquet bytes each": size / records}


def measure(kernels: int, rounds: int) -> dict[str, Any]:
    """The least of each figure over the rounds, in which all are measured in turn."""
    figures: dict[str, Any] = {}
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        (folder / "programs").mkdir()
        programs = build(folder / "programs", "-O2")
        records = write_replay(programs, kernels, folder / "replay")
        decoders = {"stub": programs.cupti}
        if real := os.environ.get("TRACELODE_REAL_CUPTI"):
            decoders["NVIDIA's"] = Path(real)
        for _ in range(rounds):
            found = {
                f"walk with {which} decoder, ns each": walk(programs, cupti, folder / "replay", records)
                for which, cupti in decoders.items()
            }
            for detail in ("totals", "rows"):
                found |= record(programs, folder / "replay", records, detail)
            for key, value in found.items():
                figures[key] = min(value, figures.get(key, value))
    decoding = figures["walk with stub decoder, ns each"]
    reducing = {f"{detail} / walk": figures[f"{detail}: worker ns each"] / decoding for detail in ("totals", "rows")}
    return {"records": records, **figures, **reducing}


def main() -> None:
    """Prints the figures, and keeps them where asked."""
    options = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    options.add_argument("--kernels", type=float, default=1e6)
    options.add_argument("--rounds", type=int, default=3)
    options.add_argument("-o", "--output", type=Path, help="JSON file for the results")
    given = options.parse_args()
    if lacking := missing():
        raise SystemExit(f"the event collector cannot be built: {lacking}")
    tell([measure(int(given.kernels), given.rounds)], given.output, "tracelode", "numpy")


if __name__ == "__main__":
    main()
