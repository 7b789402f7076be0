"""The array engine on a CUDA device, through CuPy. Nothing of CuPy is loaded unless the driver reports a device."""

import ctypes
import importlib
import importlib.util
from collections.abc import Callable, Generator
from contextlib import contextmanager
from functools import cache
from typing import Any

import numpy as np

from .array import SortedThere, sort_on
from .engine import Found, Int32, Sorted
from .fused import fused_steps
from .kernels import SOURCE
from .steps import Steps

__all__ = ["device_steps", "has_room", "is_there", "peak_of", "sort"]

BYTES_PER_SYMBOL = 80
"""Device memory to have free for each symbol.

The most that was seen is 54, with random symbols, else 31; the same steps take 66 with NumPy for one symbol repeated.
"""
THREADS = 256


@cache
def is_there() -> bool:
    """Returns whether the CUDA driver reports a device and CuPy is installed; imports nothing of CuPy."""
    if importlib.util.find_spec("cupy") is None:
        return False
    try:
        driver = ctypes.CDLL("libcuda.so.1")
    except OSError:
        return False
    count = ctypes.c_int(0)
    return driver.cuInit(0) == 0 and driver.cuDeviceGetCount(ctypes.byref(count)) == 0 and count.value > 0


def has_room(size: int) -> bool:
    """Returns whether the device has memory for a text of so many symbols; CuPy must work for that."""
    try:
        cupy = _cupy()
        cupy.cuda.nvrtc.getVersion()  # the compiler of all kernels, which CuPy alone does not bring
        free, _ = cupy.cuda.runtime.memGetInfo()
    except (ImportError, RuntimeError):  # CuPy for another CUDA version, a driver too old for it, or no compiler
        return False
    return size * BYTES_PER_SYMBOL < free + cupy.get_default_memory_pool().free_bytes()


def sort(symbols: Int32) -> Sorted:
    """Sorts the suffixes on the device; the LCP array stays there too, for the intervals."""
    cupy = _cupy()
    with peak_of(cupy) as peak:
        found = sort_on(device_steps(), cupy.asarray(symbols))
    return Sorted(found.sa.get(), found.lcp.get(), peak[0], _on_host(found))


def _on_host(found: SortedThere) -> Callable[[int, int], Found]:
    def find_intervals(shortest: int, longest: int) -> Found:
        left, right, length, diverse = found.find_intervals(shortest, longest)
        return left.get(), right.get(), length.get(), diverse.get()

    return find_intervals


@cache
def device_steps() -> Steps:
    """Returns the steps as kernels, compiled for the current device."""
    cupy = _cupy()
    kernel = cache(cupy.RawModule(code=SOURCE, options=("-std=c++14",)).get_function)

    def launch(name: str, items: int, *arguments: Any) -> None:
        if items:
            grid = (items + THREADS - 1) // THREADS
            kernel(name)((grid,), (THREADS,), (*arguments, np.int64(items)))

    return fused_steps(cupy, launch)


@contextmanager
def peak_of(cupy: Any) -> Generator[list[int], None, None]:
    """Yields a list of one number: at the end the most bytes that arrays made inside took at once."""
    now = [0]
    peak = [0]

    class Count(cupy.cuda.MemoryHook):
        name = "count"

        def malloc_postprocess(self, **told: Any) -> None:
            now[0] += told["mem_size"]
            peak[0] = max(peak[0], now[0])

        def free_postprocess(self, **told: Any) -> None:
            now[0] -= told["mem_size"]

    with Count():
        yield peak


def _cupy() -> Any:
    return importlib.import_module("cupy")
