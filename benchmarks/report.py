"""Measures the performance report of a large trace: `python -m benchmarks.report [--kernels 1e6] [-o FILE]`.

A planted training run is put into an archive, and `tracelode report perf` makes its page in a process of its own: once
mining everything, once more from what the archive keeps. The baseline is DuckDB's sum of time by kernel name over the
same trace, in a process of its own as well.
"""

import argparse
import tempfile
from pathlib import Path
from typing import Any

from benchmarks.analyses import ITERATION, add
from benchmarks.process import run
from benchmarks.setting import tell
from tracelode.store import Archive

REPORT = (
    "import os, sys; from tracelode.reports.cli import main; "
    "sys.stderr = open(os.devnull, 'w'); sys.argv[0] = 'tracelode'; sys.exit(main())"
)
BASELINE = """
import sys
from tracelode.store import Archive
Archive(sys.argv[1]).open("a" * 64).sql("select name, sum(duration_ns) from kernel group by name")
"""


def measure(kernels: int) -> dict[str, Any]:
    """CPU seconds and peak memory of the first and the second report, bytes of the page, and the baseline's seconds."""
    with tempfile.TemporaryDirectory() as folder:
        small, archive = Archive(Path(folder, "small")), Archive(Path(folder, "large"))
        add(small, "a", 40, 0)
        operations = add(archive, "a", kernels // ITERATION, 0)
        page = Path(folder, "page.html")
        run(REPORT, "report", "perf", "aaaa", "--archive", str(small.path), "-o", str(page))  # compiles
        baseline = run(BASELINE, str(archive.path))
        asked = ("report", "perf", "aaaa", "--archive", str(archive.path), "-o", str(page))
        first, second = run(REPORT, *asked), run(REPORT, *asked)
        return {
            "operations": operations,
            "first s": first.seconds,
            "first peak MB": first.peak / 1e6,
            "second s": second.seconds,
            "second peak MB": second.peak / 1e6,
            "page MB": page.stat().st_size / 1e6,
            "sum by name s": baseline.seconds,
            "times the sum by name": first.seconds / baseline.seconds,
        }


def main() -> None:
    """Prints the figures, and keeps them where asked."""
    options = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    options.add_argument("--kernels", type=float, default=1e6)
    options.add_argument("-o", "--output", type=Path, help="JSON file for the results")
    given = options.parse_args()
    tell([measure(int(given.kernels))], given.output, "tracelode", "numba", "numpy", "polars", "duckdb")


if __name__ == "__main__":
    main()
