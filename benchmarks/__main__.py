"""Measures tracelode against baselines in the same run: `python -m benchmarks [--mb 1000] [--kernels 5] [--rounds 3]`.

Each figure is of a process of its own: CPU seconds and peak memory as the system accounts for them, the least of the
rounds, which are taken in turn. Equality comes first: both sides must count the same kernels.
"""

import argparse
import json
import sys
import tempfile
from pathlib import Path

from benchmarks.nsys import measure as measure_nsys
from benchmarks.process import Measure, run
from benchmarks.setting import setting
from data.generator import Run, Workload, write_kineto

LOADED_BYTES = 4.5
"""Memory that json.load takes for each byte of the file (4.3 were measured)."""

JSON_LOAD = """
import json, sys
events = json.load(open(sys.argv[1], encoding="utf-8"))["traceEvents"]
print(sum(event.get("cat") == "kernel" for event in events))
"""
INGEST = """
import sys
from pathlib import Path
from tracelode.collect.ingest import read
from tracelode.store import Archive
trace, _ = read(Path(sys.argv[1]), Archive(sys.argv[2]))
print(trace.rows["kernel"])
"""
MINE = """
import sys, time
from tracelode.mining.mine import mine
from tracelode.store import Archive
archive = Archive(sys.argv[2])
(manifest,) = archive.manifests()
begin = time.process_time()
mine(archive.open(manifest.id), archive)
print(time.process_time() - begin, file=sys.stderr)
print(manifest.files["kernel"]["rows"])
"""


def big_trace(folder: Path, megabytes: int) -> Path:
    """A generated training run of about that size as uncompressed Kineto JSON."""
    probe = folder / "probe.json"
    write_kineto(Run(_workload(8)), probe)
    iterations = max(8, round(8 * megabytes * 1e6 / probe.stat().st_size))
    path = folder / "trace.json"
    write_kineto(Run(_workload(iterations)), path)
    return path


def _workload(iterations: int) -> Workload:
    return Workload(iterations=iterations, python_frames=True, deep_stacks=True, clock_step_ns=32)


def _available_bytes() -> int:
    """Memory that a process may have now."""
    lines = Path("/proc/meminfo").read_text().splitlines()
    return next(int(line.split()[1]) << 10 for line in lines if line.startswith("MemAvailable:"))


def _beside(load: Measure | None, ingest: Measure, size: int) -> dict[str, object]:
    """The baseline, and what ingest is to it."""
    if load is None:
        return {"json_load": f"not run: it needs {LOADED_BYTES * size / 1e9:.0f} GB of memory"}
    return {
        "json_load_mb_per_s": size / 1e6 / load.seconds,
        "json_load_peak_mb": load.peak / 1e6,
        "ingest_speed_to_json_load": load.seconds / ingest.seconds,
        "ingest_memory_to_json_load": ingest.peak / load.peak,
    }


def main() -> None:
    """Generates or takes a trace, measures all contenders in turn, and prints ratios."""
    options = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    options.add_argument("--mb", type=int, default=1000, help="size of the generated trace in MB")
    options.add_argument("--kernels", type=float, default=5, help="millions of kernels in the nsys database; 0: none")
    options.add_argument("--rounds", type=int, default=3)
    options.add_argument("--trace", type=Path, help="an uncompressed Kineto file to measure on instead")
    options.add_argument("-o", "--output", type=Path, help="JSON file for the results")
    given = options.parse_args()
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        trace = given.trace or big_trace(folder, given.mb)
        size = trace.stat().st_size
        run(INGEST, "data/samples/train.json.gz", str(folder / "warm"))  # compiles once, outside the measurement
        run(MINE, "", str(folder / "warm"))
        loads, ingests, mines = [], [], []
        for round_number in range(given.rounds):
            archive = str(folder / f"archive-{round_number}")
            if LOADED_BYTES * size < _available_bytes():
                loads.append(run(JSON_LOAD, str(trace)))
            ingests.append(run(INGEST, str(trace), archive))
            mines.append(run(MINE, "", archive))
        stored = sum(f.stat().st_size for f in (folder / "archive-0" / "traces").rglob("kernel.parquet"))
    answers = {measure.answer for measure in (*loads, *ingests, *mines)}
    if len(answers) > 1:
        sys.exit(f"contenders disagree about the number of kernels: {', '.join(sorted(answers))}")
    kernels = int(answers.pop())
    ingest, mine = (min(part, key=lambda m: m.seconds) for part in (ingests, mines))
    report: dict[str, object] = {
        **setting("tracelode", "numba", "numpy", "pyarrow", "polars", "duckdb"),
        "trace_mb": size / 1e6,
        "kernels": kernels,
        "ingest_mb_per_s": size / 1e6 / ingest.seconds,
        "ingest_peak_mb": ingest.peak / 1e6,
        **_beside(min(loads, key=lambda m: m.seconds, default=None), ingest, size),
        "kernel_parquet_bytes_each": stored / kernels,
        "mine_s_per_million_kernels": min(m.own_seconds or m.seconds for m in mines) / kernels * 1e6,
        "mine_peak_mb": mine.peak / 1e6,
        "mine_time_to_ingest": mine.seconds / ingest.seconds,
    }
    if given.kernels:
        report |= measure_nsys(round(given.kernels * 1e6), given.rounds)
    for key, value in report.items():
        print(f"{key:<34}{value:.4g}" if isinstance(value, float) else f"{key:<34}{value}")
    if given.output:
        given.output.write_text(json.dumps(report, indent=1) + "\n")


if __name__ == "__main__":
    main()
