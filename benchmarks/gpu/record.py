"""Measures what recording costs on a GPU, and whether it is right: `python -m benchmarks.gpu.record -o FOLDER`.

Takes at most five minutes and needs no network; `record.sh` beside this sets up what it needs. Each part has a time of
its own, fails on its own, and is in the results as soon as it is done: docs/recording-costs.md says what they mean.
"""

import argparse
import ctypes
import os
import platform
import re
import shutil
import sys
import tempfile
import time
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import Any

from benchmarks.gpu.parts import PARTS, Measurement
from benchmarks.gpu.running import Book, Clock, plain, run
from benchmarks.gpu.tools import TO_SHOW, Workplace, missing

ROOT = Path(__file__).parents[2]
PACKAGES = ("numpy", "numba", "pyarrow", "duckdb", "polars", "torch", "triton", "nvidia-cuda-cupti")
HAS_TORCH = "import importlib.util, sys; sys.exit(importlib.util.find_spec('torch') is None)"
NEEDED = (*TO_SHOW, "pytest")


def gpus() -> int:
    """How many devices the NVIDIA driver has; 0 where there is no driver."""
    try:
        driver = ctypes.CDLL("libcuda.so.1")
    except OSError:
        return 0
    count = ctypes.c_int(0)
    if driver.cuInit(0) or driver.cuDeviceGetCount(ctypes.byref(count)):
        return 0
    return count.value


def python_with_torch(named: str | None) -> str | None:
    """The Python for the training steps: the one named, else this one or the one on the PATH if it has PyTorch."""
    for python in [named] if named else [sys.executable, shutil.which("python3")]:
        if python and run([python, "-c", HAS_TORCH], plain(os.environ), Clock.of(60)).status == 0:
            return python
    return None


def about() -> dict[str, Any]:
    """The machine and the versions, in the form of the other results."""
    versions: dict[str, str] = {}
    for name in PACKAGES:
        try:
            versions[name] = version(name)
        except PackageNotFoundError:
            continue
    from tracelode.store.version import VERSION

    return {
        "machine": f"{platform.machine()}, {os.cpu_count()} cores, Python {platform.python_version()}",
        "versions": {"tracelode": VERSION, **versions},
        "load_average": os.getloadavg()[0],
        "time": time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime()),
    }


def gpu() -> dict[str, Any]:
    """What the driver's tool and the compiler say."""
    asked = (
        "name",
        "driver_version",
        "memory.total",
        "clocks.sm",
        "clocks.mem",
        "persistence_mode",
        "mig.mode.current",
    )
    smi = ["nvidia-smi", f"--query-gpu={','.join(asked)}", "--format=csv,noheader"]
    told = run(smi, plain(os.environ), Clock.of(20))
    compiler = re.search(r"release ([0-9.]+)", run(["nvcc", "--version"], plain(os.environ), Clock.of(20)).output)
    lines = told.output.splitlines() if told.status == 0 else []
    devices = [dict(zip(asked, line.split(", "), strict=False)) for line in lines]
    return {"devices": devices, "kernel": platform.release(), "nvcc": compiler.group(1) if compiler else None}


def short_name(devices: list[dict[str, str]]) -> str:
    """The device's name as the results' file names have it: h200."""
    name = devices[0]["name"].lower() if devices else "gpu"
    return re.sub(r"[^a-z0-9]+", "-", name.removeprefix("nvidia").strip())


def main() -> int:
    """Runs all parts; 2 where there is no GPU."""
    options = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    options.add_argument(
        "-o", "--output", type=Path, default=Path(os.environ.get("OUT") or ROOT / "benchmarks" / "results")
    )
    options.add_argument("--seconds", type=float, default=290, help="time for all parts")
    options.add_argument("--python", help="a Python that has PyTorch, for the training steps")
    options.add_argument("--programs", type=Path, help="a folder with launch and clock, already compiled")
    options.add_argument("--repeats", type=int, default=30, help="of each measured operation of launch.cu")
    options.add_argument("--parts", default=",".join(PARTS), help=f"only some of {', '.join(PARTS)}")
    given = options.parse_args()
    if not gpus():
        print("error: no NVIDIA GPU on this machine: nothing was measured", file=sys.stderr)
        return 2
    clock = Clock.of(given.seconds)
    lacking = [name for name in ("nvcc", "g++") if not shutil.which(name)] + missing(NEEDED)
    if lacking:
        print(f"missing here: {', '.join(lacking)}", file=sys.stderr)
    with tempfile.TemporaryDirectory(prefix="recording-costs-") as folder:
        place = Workplace(ROOT, Path(folder), python_with_torch(given.python))
        facts: dict[str, Any] = {**about(), "gpu": gpu(), "missing": lacking}
        given.output.mkdir(parents=True, exist_ok=True)
        path = given.output / f"{facts['time'][:10]}-{short_name(facts['gpu']['devices'])}-record.json"
        book = Book(path, clock, lambda line: print(line, flush=True), facts)
        work = Measurement(place, book, given.programs, given.repeats)
        for name, (seconds, part) in work.parts(given.output).items():
            if name in given.parts.split(","):
                book.part(name, seconds, part)
    print(book.path)
    return 0


if __name__ == "__main__":
    sys.exit(main())
