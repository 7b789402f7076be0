"""What an engine of the suffix structure gives, and which of them a text is given to."""

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

__all__ = ["ENGINES", "Bool", "Found", "Int32", "Sorted", "choose", "sort_best", "sort_with"]

Int32 = npt.NDArray[np.int32]
Bool = npt.NDArray[np.bool_]
Found = tuple[Int32, Int32, Int32, Bool]
"""First slot, last slot, length and left diversity of intervals, ordered by first slot, then length."""

ENGINES = ("cpu", "array", "cuda")
"""Compiled code; arrays of NumPy; arrays of CuPy with kernels of our own. All give the same answers, bit for bit."""

LEAST_FOR_DEVICE = 1 << 24
"""Symbols from which a device is worth starting up, which takes about a second: so long the CPU needs for as many."""
MOST_FOR_ARRAYS = 1 << 30
"""Symbols up to which the array engine's 32-bit positions leave room for what is added to them."""


@dataclass(frozen=True, eq=False)
class Sorted:
    """The sorted suffixes of a text."""

    sa: Int32
    lcp: Int32
    peak_bytes: int
    """Most memory that the arrays took at once, the text included."""
    find_intervals: Callable[[int, int], Found]
    """Finds the LCP intervals of the least and greatest length given."""


def choose(size: int) -> str:
    """Returns the engine for a text of so many symbols: the device where there is one and the text is long."""
    if LEAST_FOR_DEVICE <= size <= MOST_FOR_ARRAYS:
        from . import device

        if device.is_there() and device.has_room(size):
            return "cuda"
    return "cpu"


def sort_with(name: str, symbols: Int32) -> Sorted:
    """Sorts the suffixes of a text with the engine of that name; raises ValueError if it cannot."""
    if name not in ENGINES:
        raise ValueError(f"there is no engine {name!r}: there are {', '.join(ENGINES)}")
    if name != "cpu" and symbols.size > MOST_FOR_ARRAYS:
        raise ValueError(f"a text of {symbols.size} symbols is too long for the engine {name!r}: use 'cpu'")
    if name == "cpu":
        from .cpu import sort  # loads Numba
    elif name == "array":
        from .array import sort
    else:
        from .device import sort
    return sort(symbols)


def sort_best(symbols: Int32) -> tuple[str, Sorted]:
    """Sorts the suffixes of a text with the engine chosen for it; returns the engine's name, too."""
    name = choose(symbols.size)
    if name == "cpu":
        return name, sort_with(name, symbols)
    try:
        return name, sort_with(name, symbols)
    except MemoryError:  # other processes have taken the device's memory meanwhile
        return "cpu", sort_with("cpu", symbols)
