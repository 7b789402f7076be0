"""Checks and measures the suffix structure on a CUDA device: `python -m benchmarks.suffix_on_gpu -o FOLDER`.

Takes about four minutes; needs CuPy, Numba and pytest, and is started in the root of the repository. Every stage is on
its own: a fault in one is written down and the next begins. The results go to `FOLDER/suffix_on_gpu.json`, which is
written again after each stage. Times are of arrays on the device, synchronised, unless "copied" is said.
"""

import argparse
import cProfile
import functools
import io
import json
import pstats
import shutil
import subprocess
import sys
import time
import traceback
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from benchmarks.suffix import LONGEST, WORKLOADS, workload

Ints = npt.NDArray[np.int32]
Report = dict[str, Any]

TESTS = "tests/mining/suffix/test_device.py"
OF_PRIMITIVES = 100_000_000
SAMPLED = 100_000
STAGES = {
    "array": ("parse", "suffixes_of_text", "sort_suffixes", "enclosed", "lcp_array", "find_intervals"),
    "parsing": ("_group", "_sort_dictionary", "_phrase_ranks", "ragged", "sort_suffixes", "sort_by"),
    "merging": ("_classes", "_place_strays"),
    "doubling": ("sort_by", "unpack", "_following_rank", "_unfinished", "_class_starts"),
    "lcp": ("unpack", "first_of_each"),
    "intervals": ("tree_of_minima",),
}
"""Functions whose own time, without that of others named here, is told in the breakdown, by module."""


class Run:
    """The report so far, and the time left."""

    def __init__(self, folder: Path, seconds: float):
        self.file = folder / "suffix_on_gpu.json"
        self.begun = time.perf_counter()
        self.seconds = seconds
        self.report: Report = {}

    def stage(self, name: str, work: Callable[..., Any], *given: Any, needs: float = 0) -> None:
        """Does one stage unless less than `needs` seconds are left; keeps its result or its fault."""
        left = self.seconds - (time.perf_counter() - self.begun)
        begin = time.perf_counter()
        if left < needs:
            self.report[name] = f"left out: {left:.0f} s left, {needs:.0f} s needed"
        else:
            try:
                self.report[name] = work(*given)
            except Exception:  # noqa: BLE001  # a fault in one stage must leave the others
                self.report[name] = {"fault": traceback.format_exc()}
        self.file.write_text(json.dumps(self.report, indent=1) + "\n")
        told = json.dumps(self.report[name])
        print(
            f"[{time.perf_counter() - self.begun:6.1f} s] {name} ({time.perf_counter() - begin:.1f} s): {told}",
            flush=True,
        )


def machine() -> Report:
    """Returns what the figures were measured on."""
    import cupy

    properties = cupy.cuda.runtime.getDeviceProperties(0)
    names = "--query-gpu=name,driver_version,clocks.sm,clocks.mem,memory.total"
    program = shutil.which("nvidia-smi") or "true"
    told = subprocess.run([program, names, "--format=csv"], capture_output=True, text=True, check=False)
    return {
        "device": properties["name"].decode(),
        "multiprocessors": properties["multiProcessorCount"],
        "l2_bytes": properties["l2CacheSize"],
        "nvidia-smi": told.stdout.splitlines(),
        "python": sys.version.split()[0],
        "numpy": np.__version__,
        "cupy": cupy.__version__,
        "runtime": cupy.cuda.runtime.runtimeGetVersion(),
        "scans": [int(one) for one in cupy._core.get_routine_accelerators()],
    }


def timed(work: Callable[[], Any], rounds: int) -> list[float]:
    """Returns the milliseconds of each round, after one that does not count."""
    import cupy

    work()
    found: list[float] = []
    for _ in range(rounds):
        cupy.cuda.Device().synchronize()
        begin = time.perf_counter()
        work()
        cupy.cuda.Device().synchronize()
        found.append(round((time.perf_counter() - begin) * 1e3, 3))
    return found


def primitives() -> Report:
    """Returns the milliseconds of the operations everything is made of, at 1e8."""
    import cupy

    numbers = cupy.asarray(np.random.default_rng(3).integers(0, OF_PRIMITIVES, OF_PRIMITIVES, dtype=np.int32))
    wide = numbers.astype(cupy.int64)
    wide <<= 27
    flags = numbers % 8 == 0
    out = cupy.empty_like(numbers)
    small = cupy.arange(1000, dtype=cupy.int32)
    return {
        "copy int32": timed(lambda: cupy.copyto(out, numbers), 3),
        "sort int64": timed(lambda: wide.copy().sort(), 3),
        "sort int32": timed(lambda: numbers.copy().sort(), 3),
        "cumsum int32 in place": timed(lambda: cupy.cumsum(out, dtype=cupy.int32, out=out), 3),
        "gather int32 at random": timed(lambda: numbers[numbers], 3),
        "scatter int32 at random": timed(lambda: out.__setitem__(numbers, numbers), 3),
        "flatnonzero of flags": timed(lambda: cupy.flatnonzero(flags), 3),
        "add 1000 numbers": timed(lambda: small + 1, 20)[10:],
        "flatnonzero of 1000": timed(lambda: cupy.flatnonzero(small), 20)[10:],
        "sort 1000 numbers": timed(lambda: small.copy().sort(), 20)[10:],
    }


def same_as_cpu(name: str, size: int) -> Report:
    """Returns whether device and CPU give the same arrays, and the seconds of the CPU engine."""
    from tracelode.mining.suffix import build

    text = workload(name, size)
    build(text[:1000], engine="cpu").intervals(1, 2)
    here = build(text, engine="cpu")
    there = build(text, engine="cuda")
    begin = time.perf_counter()
    ours = here.intervals(1, LONGEST)
    seconds = time.perf_counter() - begin
    theirs = there.intervals(1, LONGEST)
    pairs = {"sa": (here.sa, there.sa), "lcp": (here.lcp, there.lcp)}
    for part in ("left", "right", "length", "left_diverse"):
        pairs[part] = getattr(ours, part), getattr(theirs, part)
    unlike = [
        part for part, (one, other) in pairs.items() if one.dtype != other.dtype or not np.array_equal(one, other)
    ]
    return {
        "compared": len(pairs),
        "unlike": unlike,
        "intervals": len(ours),
        "cpu_seconds": here.seconds,
        "cpu_intervals_seconds": seconds,
        "cuda_seconds_copied": there.seconds,
        "peak_bytes_per_symbol": there.peak_bytes / size,
    }


def measured(text: Ints, rounds: int) -> tuple[Report, Any]:
    """Returns the milliseconds of the three steps on the device, and what they found."""
    import cupy

    from tracelode.mining.suffix.array import suffix_array
    from tracelode.mining.suffix.arrays import enclosed
    from tracelode.mining.suffix.device import device_steps, peak_of
    from tracelode.mining.suffix.intervals import find_intervals
    from tracelode.mining.suffix.lcp import lcp_array

    steps = device_steps()
    symbols = cupy.asarray(text)
    with peak_of(cupy) as peak:
        order = suffix_array(steps, symbols)
        lcp, changes = lcp_array(steps, enclosed(cupy, symbols), order)
        find_intervals(steps, lcp, changes, 1, LONGEST)
    times = {
        "suffix array": timed(lambda: suffix_array(steps, symbols), rounds),
        "lcp": timed(lambda: lcp_array(steps, enclosed(cupy, symbols), order), rounds),
        "intervals": timed(lambda: find_intervals(steps, lcp, changes, 1, LONGEST), rounds),
    }
    least = {step: min(found) for step, found in times.items()}
    return {
        "milliseconds": times,
        "sa_lcp_ms": least["suffix array"] + least["lcp"],
        "all_three_ms": sum(least.values()),
        "peak_bytes_per_symbol": (peak[0] + symbols.nbytes) / text.size,
    }, (symbols, order, lcp, changes)


def measured_alone(name: str, size: int) -> Report:
    """Returns the milliseconds of the three steps on the device for a text of that name."""
    return measured(workload(name, size), 5)[0]


def breakdown(text: Ints) -> Report:
    """Returns own milliseconds and calls of the functions in `STAGES` and of each kernel, each synchronised."""
    import importlib

    import cupy

    from tracelode.mining.suffix import array
    from tracelode.mining.suffix.device import device_steps
    from tracelode.mining.suffix.steps import Steps

    spent: dict[str, list[float]] = {}
    inner = [0.0]

    def watched(name: str, function: Callable[..., Any]) -> Callable[..., Any]:
        @functools.wraps(function)
        def call(*given: Any, **named: Any) -> Any:
            cupy.cuda.Device().synchronize()
            begin = time.perf_counter()
            inner.append(0.0)
            result = function(*given, **named)
            cupy.cuda.Device().synchronize()
            whole = time.perf_counter() - begin
            own = whole - inner.pop()
            inner[-1] += whole
            entry = spent.setdefault(name, [0.0, 0])
            entry[0] += own * 1e3
            entry[1] += 1
            return result

        return call

    real = device_steps()
    functions = {field: getattr(real, field) for field in Steps.__dataclass_fields__ if field != "xp"}
    steps = replace(real, **{field: watched(field, one) for field, one in functions.items() if callable(one)})
    symbols = cupy.asarray(text)
    before: list[tuple[Any, str, Any]] = []
    for module_name, functions in STAGES.items():
        module = importlib.import_module(f"tracelode.mining.suffix.{module_name}")
        for function in functions:
            before.append((module, function, getattr(module, function)))
            setattr(module, function, watched(f"{module_name}.{function}", getattr(module, function)))
    try:
        for _ in range(2):
            spent.clear()
            begin = time.perf_counter()
            array.sort_on(steps, symbols).find_intervals(1, LONGEST)
            cupy.cuda.Device().synchronize()
            whole = (time.perf_counter() - begin) * 1e3
    finally:
        for module, function, value in before:
            setattr(module, function, value)
    ordered = sorted(spent.items(), key=lambda item: -item[1][0])
    return {"whole_ms": round(whole, 2), "own_ms_and_calls": {k: [round(v[0], 3), v[1]] for k, v in ordered}}


def profile(text: Ints) -> list[str]:
    """Returns where the interpreter spends its time while it tells the device what to do."""
    import cupy

    from tracelode.mining.suffix.array import sort_on
    from tracelode.mining.suffix.device import device_steps

    symbols, watch, told = cupy.asarray(text), cProfile.Profile(), io.StringIO()
    for _ in range(5):
        watch.enable()
        sort_on(device_steps(), symbols).find_intervals(1, LONGEST)
        watch.disable()
    pstats.Stats(watch, stream=told).sort_stats("tottime").print_stats(45)
    return [line.strip() for line in told.getvalue().splitlines() if line.strip()]


def sampled(text: Ints, found: Any) -> Report:
    """Checks device arrays of a long text: all positions occur, and at random ranks order and LCP are right."""
    import cupy

    from tracelode.mining.suffix import cpu
    from tracelode.mining.suffix.device import device_steps
    from tracelode.mining.suffix.intervals import find_intervals

    _, order, lcp, changes = found
    seen = cupy.zeros(text.size, cupy.bool_)
    seen[order] = True
    whole = bool(seen.all())
    del seen
    sa, common = order.get(), lcp.get()
    wrong = 0
    for rank in np.random.default_rng(1).integers(1, text.size, SAMPLED).tolist():
        one, other, length = int(sa[rank - 1]), int(sa[rank]), int(common[rank])
        wrong += not (_agree(text, one, other, length) and _ends_before(text, one + length, other + length))
    theirs = [numbers.get() for numbers in find_intervals(device_steps(), lcp, changes, 1, LONGEST)]
    ours = cpu.find_intervals(text, sa, common, 1, LONGEST)
    alike = all(
        one.dtype == other.dtype and np.array_equal(one, other) for one, other in zip(ours, theirs, strict=True)
    )
    return {"every_position_occurs": whole, "ranks": SAMPLED, "wrong": wrong, "intervals_as_on_cpu": alike}


def _agree(text: Ints, one: int, other: int, length: int) -> bool:
    """Returns whether two stretches are equal; of long ones both ends and 8 windows in between are looked at."""
    if length <= 20_000:
        return np.array_equal(text[one : one + length], text[other : other + length])
    windows = [(0, 5000), (length - 5000, 5000), *((at, 100) for at in np.linspace(5000, length - 6000, 8).astype(int))]
    return all(np.array_equal(text[one + at :][:most], text[other + at :][:most]) for at, most in windows)


def _ends_before(text: Ints, one: int, other: int) -> bool:
    return other < text.size and (one == text.size or bool(text[one] < text[other]))


def run_tests() -> Report:
    """Runs the tests that need a device."""
    command = [sys.executable, "-m", "pytest", "-q", "-m", "gpu", "-p", "no:cacheprovider", TESTS]
    done = subprocess.run(command, capture_output=True, text=True, check=False, timeout=90)
    return {"exit_code": done.returncode, "output": (done.stdout + done.stderr)[-3000:]}


def big(run: Run, name: str, size: int) -> str:
    """Measures, breaks down and checks one text of many symbols, each a stage of its own."""
    import cupy

    begin = time.perf_counter()
    text = workload(name, size)
    made = time.perf_counter() - begin
    found: list[Any] = []

    def measure() -> Report:
        times, arrays = measured(text, 3)
        found.append(arrays)
        return times

    run.stage(f"measured: {name} {size}", measure)
    run.stage(f"breakdown: {name} {size}", breakdown, text)
    if found:
        run.stage(f"sampled: {name} {size}", sampled, text, found.pop(), needs=10)
    cupy.get_default_memory_pool().free_all_blocks()
    return f"text made in {made:.1f} s"


def main() -> None:
    """Runs all stages."""
    options = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    options.add_argument("-o", "--output", type=Path, required=True, help="folder for the results")
    options.add_argument("--seconds", type=float, default=225, help="time that may be taken")
    options.add_argument("--big", type=int, default=100_000_000, help="symbols of the longest texts")
    given = options.parse_args()
    run = Run(given.output, given.seconds)
    run.stage("machine", machine)
    run.stage("primitives", primitives)
    for size in (10_000, 100_000, 1_000_000):
        for name in WORKLOADS:
            run.stage(f"same as cpu: {name} {size}", same_as_cpu, name, size)
    for name in WORKLOADS:
        run.stage(f"measured: {name} 1000000", measured_alone, name, 1_000_000)
    for name in WORKLOADS:
        run.stage(f"measured: {name} 10000000", measured_alone, name, 10_000_000, needs=10)
    run.stage("breakdown: rep 10000000", breakdown, workload("rep", 10_000_000), needs=10)
    for name in ("rep", "rep1", "rnd", "rep0"):
        run.stage(f"{name} {given.big}", big, run, name, given.big, needs=25)
        if name == "rep":
            for other in WORKLOADS:
                run.stage(f"same as cpu: {other} 10000000", same_as_cpu, other, 10_000_000, needs=15)
    run.stage("profile: rep 1000000", profile, workload("rep", 1_000_000))
    run.stage("tests", run_tests, needs=40)
    for name in ("rep", "rnd"):
        run.stage(f"same as cpu: {name} {given.big}", same_as_cpu, name, given.big, needs=50)
    print(json.dumps({key: value for key, value in run.report.items() if "fault" in value}, indent=1))


if __name__ == "__main__":
    main()
