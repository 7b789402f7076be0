"""Measures the analyses of a trace: `python -m benchmarks.analyses [--kernels 1e6] [--rounds 3]`.

Planted training runs (noise 1 %) are put into an archive, and mined in a process of its own for each round. There small
runs are mined first, which loads the compiled code: once in a process, however long the traces are, so it is told
apart ("start s"). `differences` compares two runs of half the size. The baseline is DuckDB's sum of time by kernel name
over the same trace, in the same process.
"""

import argparse
import json
import tempfile
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa

from benchmarks.process import run
from benchmarks.setting import tell
from data.generator.planted import Training, label, plant
from tracelode.collect.sink import Sink
from tracelode.store import Archive, Facts, Source

ITERATION = 1245
ANALYSES = ("iterations", "patterns", "hierarchy", "edits")
SMALL = 40
MINE = f"""
import json, sys, time
from tracelode.mining.mine import compare, mine
from tracelode.store import Archive
archive = Archive(sys.argv[1])
small, tiny, one, half, other = (archive.open(id * 64) for id in "01abc")
seconds = {{}}
def timed(name, work):
    begin = time.process_time()
    work()
    seconds[name] = time.process_time() - begin
def load():
    mine(small, archive, *{ANALYSES})
    compare((tiny, archive), (small, archive), "differences")
timed("start", load)
timed("sum by name", lambda: one.sql("select name, sum(duration_ns) from kernel group by name"))
for name in {ANALYSES}:
    timed(name, lambda: mine(one, archive, name))
for trace in (half, other):
    mine(trace, archive, "iterations")
timed("differences", lambda: compare((half, archive), (other, archive), "differences"))
print(json.dumps(seconds))
"""


def add(archive: Archive, id: str, iterations: int, seed: int, *, fused: bool = False) -> int:
    """Puts a planted run into the archive under an id of one repeated digit; how many operations it has."""
    run = plant(Training(iterations=iterations, noise=0.01, seed=seed, fused=fused))
    symbols, names = np.unique(run.symbols, return_inverse=True)
    number = np.arange(len(run.symbols)) + 1
    with archive.stage() as staging:
        sink = Sink(staging)
        calls = {"process": 1, "thread": 1, "name": "cudaLaunchKernel", "kind": "runtime", "correlation": number}
        sink.write("api", {**calls, "start_ns": run.launch_ns, "end_ns": run.launch_ns + 1})
        texts = pa.array([label(int(symbol)) for symbol in symbols])
        work = {"process": 1, "device": 0, "stream": run.stream, "correlation": number}
        work["name"] = pa.DictionaryArray.from_arrays(pa.array(names.astype(np.int32)), texts)
        sink.write("kernel", {**work, "start_ns": run.start_ns, "end_ns": run.end_ns})
        source = Source(f"/planted/{id}", len(number), 0, "planted", 1)
        archive.commit(staging, id=id * 64, source=source, facts=Facts("planted"), notes=sink.finish())
    return len(number)


def measure(kernels: int, rounds: int) -> dict[str, Any]:
    """Least CPU seconds of each analysis over the rounds, their sum, and the most memory of the process."""
    iterations = kernels // ITERATION
    with tempfile.TemporaryDirectory() as folder:
        peaks, found = list[int](), list[dict[str, float]]()
        for number in range(rounds + 1):  # the first one compiles
            archive, size = Archive(Path(folder, str(number))), iterations if number else SMALL
            operations = add(archive, "a", size, 0)
            add(archive, "b", size // 2, 1)
            add(archive, "c", size // 2, 2, fused=True)
            add(archive, "0", SMALL, 0)
            add(archive, "1", SMALL // 2, 1)
            told = run(MINE, str(archive.path))
            peaks.append(told.peak)
            found.append(json.loads(told.answer))
    least = {name: min(one[name] for one in found[1:]) for name in found[0]}
    total = sum(seconds for name, seconds in least.items() if name not in {"start", "sum by name"})
    return {
        "operations": operations,
        **{f"{name} s": seconds for name, seconds in least.items()},
        "five analyses s": total,
        "five analyses µs each": total / operations * 1e6,
        "five analyses and start s": total + least["start"],
        "times the sum by name": total / least["sum by name"],
        "peak MB": max(peaks[1:]) / 1e6,
    }


def main() -> None:
    """Prints the figures, and keeps them where asked."""
    options = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    options.add_argument("--kernels", type=float, nargs="*", default=[1e6])
    options.add_argument("--rounds", type=int, default=3)
    options.add_argument("-o", "--output", type=Path, help="JSON file for the results")
    given = options.parse_args()
    measured = [measure(int(kernels), given.rounds) for kernels in given.kernels]
    tell(measured, given.output, "tracelode", "numba", "numpy", "polars", "duckdb")


if __name__ == "__main__":
    main()
