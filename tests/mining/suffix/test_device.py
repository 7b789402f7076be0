import importlib.util
import subprocess
import sys
import warnings

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


@pytest.mark.skipif(device.is_there(), reason="there is a device")
def test_without_a_device_nothing_of_cupy_is_loaded():
    code = """
import sys, numpy
from tracelode.mining.suffix import build, engine
engine.LEAST_FOR_DEVICE = 1
assert build(numpy.arange(100, dtype=numpy.int32)).engine == "cpu"
sys.exit(any(name.partition(".")[0].startswith("cupy") for name in sys.modules))
"""
    assert subprocess.run([sys.executable, "-c", code], check=False).returncode == 0


@pytest.mark.skipif(importlib.util.find_spec("cupy") is not None, reason="CuPy is installed")
def test_there_is_no_device_without_cupy():
    assert not device.is_there()
