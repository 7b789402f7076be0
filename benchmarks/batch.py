"""Measures a batch of many small traces: `python -m benchmarks.batch [--traces 10000] [--jobs 2] [-o FILE]`.

Traces of 120 kernels, each another one, are read and mined by one process in a loop over `read` and `mine`, by
`tracelode batch` in one process, and by it in several; then the batch is called again with nothing to do. Time is CPU
time of all processes of a contender; what compiles has run before. Equality comes first: all archives hold the same
traces and the same mined tables.
"""

import argparse
import json
import shutil
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from benchmarks.process import Measure, run
from benchmarks.setting import tell

LOOP = """
import json, sys
from pathlib import Path
from tracelode.collect.ingest import read
from tracelode.mining.mine import mine
from tracelode.store import Archive
archive = Archive(sys.argv[1])
for path in sorted(Path(sys.argv[2]).iterdir()):
    trace, _ = read(path, archive, run=path.name)
    mine(trace, archive, *json.loads(sys.argv[3]))
archive.catalogue()
"""
BATCH = "import os, sys; from tracelode.reports.cli import main; sys.stderr = open(os.devnull, 'w'); main()"
SOME = ("segments",)
PIPELINE = 'archive = "{archive}"\nmine = {mine}\n[[ingest]]\npaths = ["{traces}/*"]\n'


def write_traces(folder: Path, count: int) -> None:
    """Writes that many Kineto traces of 120 kernels, each another one."""
    folder.mkdir()
    for number in range(count):
        kernels = [
            {"ph": "X", "cat": "kernel", "name": f"kernel_{at % 4}", "pid": 0, "tid": 7, "ts": at * 10.0}
            | {"dur": 4.0 + (at + number) % 3, "args": {"device": 0, "stream": 7, "correlation": at + 1}}
            for at in range(120)
        ]
        trace = {"schemaVersion": 1, "number": number, "traceEvents": kernels}
        (folder / f"{number:05}.json").write_text(json.dumps(trace))


def measure(folder: Path, count: int, jobs: int, mine: tuple[str, ...]) -> Iterator[tuple[str, Any]]:
    """CPU milliseconds a trace and peak memory of each contender; the peak is that of the largest process."""
    write_traces(folder / "few", 2)
    _batch(folder, "few", "warm", mine)
    write_traces(folder / "traces", count)
    yield "traces", count
    yield "bytes a trace", sum(path.stat().st_size for path in (folder / "traces").iterdir()) // count
    yield "analyses", ", ".join(mine) or "none"
    loop = run(LOOP, str(folder / "loop"), str(folder / "traces"), json.dumps(mine))
    yield "loop ms a trace", loop.seconds / count * 1e3
    yield "loop peak MB", loop.peak / 1e6
    expected = _results(folder / "loop")
    shutil.rmtree(folder / "loop")
    for name, used in (("batch", 1), ("batch in processes", jobs)):
        one = _batch(folder, "traces", name, mine, "--jobs", str(used))
        if _results(folder / name) != expected:
            raise SystemExit(f"{name} gives other results than the loop")
        yield f"{name} ms a trace", one.seconds / count * 1e3
        yield f"{name} peak MB", one.peak / 1e6
        yield f"{name} to loop", one.seconds / loop.seconds
        again = _batch(folder, "traces", name, mine)
        yield f"{name} again s", again.seconds
        shutil.rmtree(folder / name)


def _batch(folder: Path, traces: str, archive: str, mine: tuple[str, ...], *options: str) -> Measure:
    pipeline = folder / f"{archive}.toml"
    pipeline.write_text(PIPELINE.format(archive=archive, traces=traces, mine=json.dumps(mine)))
    return run(BATCH, "batch", str(pipeline), *options)


def _results(archive: Path) -> set[str]:
    """The traces, and the mined tables of each, by the content of their manifests' files."""
    found: set[str] = set()
    for manifest in [*archive.glob("traces/*/manifest.json"), *archive.glob("derived/*/*/manifest.json")]:
        for file in json.loads(manifest.read_text())["files"].values():
            found.add(f"{manifest.parent.relative_to(archive)} {file['file']} {file['sha256']}")
    return found


def main() -> None:
    """Prints the figures, and keeps them where asked."""
    options = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    options.add_argument("--traces", type=int, default=10_000)
    options.add_argument("--jobs", type=int, default=2)
    options.add_argument("--mine", nargs="*", default=SOME, help="analyses; without a name none")
    options.add_argument("-o", "--output", type=Path, help="JSON file for the results")
    given = options.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        figures: dict[str, Any] = {}
        for name, figure in measure(Path(folder), given.traces, given.jobs, tuple(given.mine)):
            print(name, figure, file=sys.stderr, flush=True)
            figures[name] = figure
    tell([figures], given.output, "tracelode", "numba", "numpy", "pyarrow", "polars", "duckdb")


if __name__ == "__main__":
    main()
