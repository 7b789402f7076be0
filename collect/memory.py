"""The memory of a process that reads traces: taken from the system's allocator, and given back to the system."""

import ctypes

import pyarrow as pa

__all__ = ["give_back", "take_sparingly"]

M_TRIM_THRESHOLD, KEPT = -1, 16 << 20
M_MMAP_THRESHOLD, LARGE = -3, 4 << 20
"""Options of the C library (glibc's malloc.h) and their values in bytes."""

MANY_ROWS = 500_000


def take_sparingly() -> None:
    """Has Arrow take memory where everything else does, and large arrays be given back as soon as they are freed.

    A third less in all than with a pool of Arrow's own. A little of what is freed is kept for the next columns: the
    system clears every page that it gives again.
    """
    pa.set_memory_pool(pa.system_memory_pool())
    tune = getattr(ctypes.CDLL(None), "mallopt", None)
    if tune is not None:
        tune(M_MMAP_THRESHOLD, LARGE)
        tune(M_TRIM_THRESHOLD, KEPT)


def give_back(rows: int) -> None:
    """Gives freed memory back to the system after so many rows, where the C library can: a step's peak then is its own.

    Nothing is done after few rows: looking through the memory of a large process takes longer than reading them.
    """
    if rows < MANY_ROWS:
        return
    trim = getattr(ctypes.CDLL(None), "malloc_trim", None)
    if trim is not None:
        trim(0)
