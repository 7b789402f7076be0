"""Measures the performance report against Holistic Trace Analysis: `python -m benchmarks.peer [--mb 100] [-o FILE]`.

Both read the same generated Kineto trace, each in a process of its own: `tracelode report perf` reads, mines and writes
its page; the peer (`traceinsight` on PyPI) reads it and makes five of its analyses, which the page has as well, without
drawing any. It is installed into an environment of its own; where that cannot be done, that is said in place of its
figures. Equality comes first: both must find the device idle for the same share of time, up to what the peer loses by
rounding to microseconds.
"""

import argparse
import json
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Any

from benchmarks.__main__ import big_trace
from benchmarks.process import run
from benchmarks.report import REPORT
from benchmarks.setting import tell

PEER = """
import logging, sys
logging.disable(logging.CRITICAL)
from hta.trace_analysis import TraceAnalysis
analysis = TraceAnalysis(trace_files={0: sys.argv[1]}, trace_dir="")
breakdown = analysis.get_temporal_breakdown(visualize=False)
analysis.get_gpu_kernel_breakdown(visualize=False)
analysis.get_idle_time_breakdown(ranks=[0], visualize=False)
analysis.get_comm_comp_overlap(visualize=False)
analysis.get_cuda_kernel_launch_stats(ranks=[0], visualize=False)
print(float(breakdown["idle_time_pctg"].iloc[0]) / 100)
"""
ROUNDING = 0.02
"""How much of the time may lie between the two shares: whole microseconds are a hundredth of these kernels."""


def environment(folder: Path) -> str | None:
    """The Python of a new environment with the peer; None where it cannot be installed."""
    python = folder / "peer" / "bin" / "python"
    steps = ([sys.executable, "-m", "venv", folder / "peer"], [python, "-m", "pip", "install", "-q", "traceinsight"])
    done = all(subprocess.run(step, check=False, stdout=sys.stderr).returncode == 0 for step in steps)
    return str(python) if done else None


def measure(megabytes: int) -> dict[str, Any]:
    """CPU seconds and peak memory of both, and how they compare."""
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        trace, page = big_trace(folder, megabytes), folder / "page.html"
        asked = ("report", "perf", str(trace), "-o", str(page), "--archive")
        run(REPORT, "report", "perf", "data/samples/train.json.gz", "-o", str(page), "--archive", str(folder / "warm"))
        ours = run(REPORT, *asked, str(folder / "archive"))
        figures = {
            "trace MB": trace.stat().st_size / 1e6,
            "report s": ours.seconds,
            "report peak MB": ours.peak / 1e6,
        }
        python = environment(folder)
        if python is None:
            return figures | {"peer": "not installed"}
        peer = run(PEER, str(trace), python=python)
        idle, theirs = _idle(page.with_suffix(".json")), float(peer.answer)
        if abs(idle - theirs) > ROUNDING:
            raise SystemExit(f"the device is idle for {idle:.1%} of the time, by the peer for {theirs:.1%}")
        return figures | {
            "peer": _version(python),
            "peer s": peer.seconds,
            "peer peak MB": peer.peak / 1e6,
            "peer to report": peer.seconds / ours.seconds,
            "idle share": idle,
            "peer's idle share": theirs,
        }


def _idle(report: Path) -> float:
    """The share of the device's time that a report calls idle."""
    blocks = [block for section in json.loads(report.read_text())["sections"] for block in section["blocks"]]
    (shares,) = {
        row["share"]
        for block in blocks
        for row in block.get("rows", ())
        if row.get("state") == "idle" and "share" in row
    }
    return float(shares)


def _version(python: str) -> str:
    program = "from importlib.metadata import version; print('traceinsight', version('traceinsight'))"
    return subprocess.run([python, "-c", program], check=True, capture_output=True, text=True).stdout.strip()


def main() -> None:
    """Prints the figures, and keeps them where asked."""
    options = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    options.add_argument("--mb", type=int, default=100, help="size of the generated trace in MB")
    options.add_argument("-o", "--output", type=Path, help="JSON file for the results")
    given = options.parse_args()
    tell([measure(given.mb)], given.output, "tracelode", "numba", "numpy", "polars", "duckdb")


if __name__ == "__main__":
    main()
