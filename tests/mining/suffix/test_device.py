import ctypes
import os
import subprocess
import sys
import warnings
from collections.abc import Callable
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

from tests.mining.suffix.texts import FAMILIES, Symbols, text_of
from tracelode.mining.suffix import Intervals, build, device, plain
from tracelode.mining.suffix.plain import PHRASE_END

needs_device = pytest.mark.skipif(not device.is_there(), reason="no CUDA device, or no CuPy")


def arrays_of(intervals: Intervals) -> list[Symbols]:
    return [intervals.left, intervals.right, intervals.length, intervals.left_diverse]


@pytest.fixture(scope="module", autouse=True)
def _loaded_without_its_warnings() -> None:
    if device.is_there():
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # about how CuPy was installed
            import cupy  # noqa: F401  # loads it


@pytest.fixture
def driver(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> SimpleNamespace:
    """A stand-in for the CUDA driver with one device, beside a CuPy that can be found."""

    def count(number: Any) -> int:
        number._obj.value = found.devices
        return 0

    found = SimpleNamespace(devices=1, cuInit=lambda _flags: 0, cuDeviceGetCount=count)
    (tmp_path / "cupy.py").touch()
    monkeypatch.syspath_prepend(tmp_path)
    monkeypatch.setattr(ctypes, "CDLL", lambda _name: found)
    return found


@pytest.fixture
def cupy(monkeypatch: pytest.MonkeyPatch) -> SimpleNamespace:
    """A stand-in for CuPy that has a compiler and 8 kB of memory."""
    pool = SimpleNamespace(free_bytes=lambda: 0)
    runtime = SimpleNamespace(memGetInfo=lambda: (8000, 8000))
    cuda = SimpleNamespace(nvrtc=SimpleNamespace(getVersion=lambda: (13, 0)), runtime=runtime)
    module = SimpleNamespace(cuda=cuda, get_default_memory_pool=lambda: pool)
    monkeypatch.setitem(sys.modules, "cupy", module)
    return module


@pytest.mark.gpu
@needs_device
@pytest.mark.parametrize("size", [1, 2, 5, 1000, 5000, 60_000])
@pytest.mark.parametrize("family", FAMILIES)
def test_device_and_cpu_give_the_same_arrays(family: str, size: int):
    text = text_of(family, size)
    here, there = build(text, engine="cpu"), build(text, engine="cuda")
    assert there.engine == "cuda"
    assert there.sa.dtype == there.lcp.dtype == np.int32
    assert np.array_equal(here.sa, there.sa)
    assert np.array_equal(here.lcp, there.lcp)
    for bounds in ((1, None), (2, 5), (1, 64)):
        for ours, theirs in zip(arrays_of(here.intervals(*bounds)), arrays_of(there.intervals(*bounds)), strict=True):
            assert ours.dtype == theirs.dtype
            assert np.array_equal(ours, theirs)


@pytest.mark.gpu
@needs_device
def test_an_empty_text_is_sorted_on_the_device_too():
    structure = build(np.empty(0, np.int32), engine="cuda")
    assert structure.sa.size == structure.lcp.size == len(structure.intervals()) == 0


@pytest.mark.gpu
@needs_device
@pytest.mark.parametrize("family", FAMILIES)
def test_each_kernel_gives_what_array_operations_give_on_the_device(family: str):
    import cupy

    from tracelode.mining.suffix.arrays import enclosed

    steps = device.device_steps()
    text = enclosed(cupy, cupy.asarray(text_of(family, 30_000)))
    flags = steps.mark_phrase_starts(cupy, text, 1)
    assert bool((flags == plain.mark_phrase_starts(cupy, text, 1)).all())
    bounds = cupy.flatnonzero(flags).astype(cupy.int32)
    hashes = steps.hash_phrases(cupy, text, bounds, 1)
    assert bool((hashes == plain.hash_phrases(cupy, text, bounds, 1)).all())
    example = cupy.maximum(cupy.arange(bounds.size - 1, dtype=cupy.int32) - PHRASE_END, 0)
    alike = steps.count_unlike(cupy, text, bounds, example) == 0
    assert alike == (plain.count_unlike(cupy, text, bounds, example) == 0)
    one = cupy.arange(0, 29_000, 7, dtype=cupy.int32)
    other = one + 1 + one % 500
    ours = steps.common_prefixes(cupy, text, one, other)
    assert bool((ours == plain.common_prefixes(cupy, text, one, other)).all())


@pytest.mark.gpu
@needs_device
def test_the_stated_peak_is_that_of_the_device():
    text = text_of("periodic with edits", 200_000)
    structure = build(text, engine="cuda")
    assert 12 * text.size < structure.peak_bytes < device.BYTES_PER_SYMBOL * text.size


def test_without_a_device_nothing_of_cupy_is_loaded(tmp_path: Path):
    (tmp_path / "cupy.py").touch()  # found before any that is installed
    code = """
import sys, numpy
from tracelode.mining.suffix import build, engine
sys.path.insert(0, sys.argv[1])
engine.LEAST_FOR_DEVICE = 1
assert build(numpy.arange(100, dtype=numpy.int32)).engine == "cpu"
sys.exit(any(name.partition(".")[0].startswith("cupy") for name in sys.modules))
"""
    hidden = {**os.environ, "CUDA_VISIBLE_DEVICES": ""}  # from the driver, where there is one
    assert subprocess.run([sys.executable, "-c", code, tmp_path], check=False, env=hidden).returncode == 0


@pytest.mark.parametrize(("status", "devices", "expected"), [(0, 1, True), (0, 0, False), (100, 1, False)])
def test_a_device_is_there_if_the_driver_starts_and_reports_one(
    status: int, devices: int, expected: bool, driver: SimpleNamespace
):
    driver.cuInit = lambda _flags: status
    driver.devices = devices
    assert device.is_there.__wrapped__() == expected


def test_there_is_no_device_without_a_driver(driver: SimpleNamespace, monkeypatch: pytest.MonkeyPatch):
    def missing(name: str) -> None:
        raise OSError(f"{name}: cannot open shared object file")

    assert device.is_there.__wrapped__()
    monkeypatch.setattr(ctypes, "CDLL", missing)
    assert not device.is_there.__wrapped__()


def test_there_is_no_device_without_cupy(driver: SimpleNamespace, monkeypatch: pytest.MonkeyPatch):
    assert device.is_there.__wrapped__()
    monkeypatch.setitem(sys.modules, "cupy", None)  # as if it were not installed
    assert not device.is_there.__wrapped__()


def test_memory_that_cupy_keeps_for_itself_is_room_too(cupy: SimpleNamespace):
    cupy.cuda.runtime.memGetInfo = lambda: (70 * device.BYTES_PER_SYMBOL, 10**9)
    cupy.get_default_memory_pool().free_bytes = lambda: 30 * device.BYTES_PER_SYMBOL
    assert device.has_room(99)
    assert not device.has_room(100)


@pytest.mark.parametrize(
    "fault",
    [
        pytest.param(
            lambda cupy: fail_at(cupy.cuda.nvrtc, "getVersion", "no such file: libnvrtc.so.13"), id="compiler"
        ),
        pytest.param(lambda cupy: fail_at(cupy.cuda.runtime, "memGetInfo", "cudaErrorInsufficientDriver"), id="driver"),
        pytest.param(lambda _: sys.modules.update(cupy=None), id="import"),  # the fixture puts it back
    ],
)
def test_there_is_no_room_where_cupy_does_not_work(fault: Callable[[Any], None], cupy: SimpleNamespace):
    assert device.has_room(99)
    fault(cupy)
    assert not device.has_room(99)


def fail_at(module: SimpleNamespace, name: str, message: str) -> None:
    def fail() -> None:
        raise RuntimeError(message)

    setattr(module, name, fail)
