"""The memory of a process that reads traces: taken from the system's allocator, and given back to the system."""

import ctypes
import os
import re
import sys
from pathlib import Path

POOL = "ARROW_DEFAULT_MEMORY_POOL"
_FIRST = "pyarrow" not in sys.modules and POOL not in os.environ
if _FIRST:  # Parquet's writers take memory from the pool that Arrow chooses when it is loaded, and know of no other
    os.environ[POOL] = "system"
import pyarrow as pa  # noqa: E402 - it looks at the environment when it is loaded

if _FIRST:
    del os.environ[POOL]

__all__ = ["give_back", "take_sparingly"]

M_TRIM_THRESHOLD, KEPT = -1, 16 << 20
M_MMAP_THRESHOLD, LARGE = -3, 4 << 20
"""Options of the C library (glibc's malloc.h) and their values in bytes."""

MANY_ROWS = 100_000
MADV_DONTNEED = 4
PACKAGES = re.compile(r"/(?:site|dist)-packages/.*\.so")


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
    _give_back_code()


def _give_back_code() -> None:
    """Takes the code of Python packages out of memory, most of which ran once: 60 MB of the compiler's, 20 of Arrow's.

    What runs again comes back from the system's own copy of the file, 64 KiB at a time.
    """
    maps = Path("/proc/self/maps")
    if not maps.is_file():
        return
    advise = ctypes.CDLL(None).madvise
    for line in maps.read_text().splitlines():
        place, access, *_, path = line.split(maxsplit=5)
        if access == "r-xp" and PACKAGES.search(path):  # code that is in memory as it is in the file
            begin, end = (int(address, 16) for address in place.split("-"))
            advise(ctypes.c_void_p(begin), ctypes.c_size_t(end - begin), MADV_DONTNEED)
