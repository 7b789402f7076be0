"""The array engine of the suffix structure: every step a few operations on whole arrays, on NumPy or CuPy alike."""

import tracemalloc
from collections.abc import Callable, Generator
from contextlib import contextmanager
from dataclasses import dataclass
from functools import partial

import numpy as np

from .arrays import Array, enclosed
from .doubling import sort_suffixes
from .engine import Int32, Sorted
from .intervals import find_intervals
from .lcp import lcp_array
from .merging import suffixes_of_text
from .parsing import parse
from .steps import Steps

__all__ = ["SortedThere", "sort", "sort_on", "suffix_array"]

SHORT = 1 << 12
"""Length below which doubling is not slower than parsing."""


@dataclass(frozen=True, eq=False)
class SortedThere:
    """Sorted suffixes as arrays of the module that computed them."""

    sa: Array
    lcp: Array
    find_intervals: Callable[[int, int], tuple[Array, Array, Array, Array]]


def sort(symbols: Int32) -> Sorted:
    """Sorts the suffixes with NumPy; the peak of memory is measured."""
    with _traced_peak() as peak:
        found = sort_on(Steps(np), symbols)
    return Sorted(found.sa, found.lcp, peak[0] + symbols.nbytes, found.find_intervals)


def sort_on(steps: Steps, symbols: Array, *, short: int = SHORT) -> SortedThere:
    """Sorts the suffixes where the steps run.

    Texts of at most `short` symbols are not parsed.
    """
    if symbols.size == 0:
        nothing = steps.xp.empty(0, steps.xp.int32)
        return SortedThere(nothing, nothing, lambda _shortest, _longest: (nothing, nothing, nothing, nothing > 0))
    order = suffix_array(steps, symbols, short=short)
    lcp, changes = lcp_array(steps, enclosed(steps.xp, symbols), order)
    return SortedThere(order, lcp, partial(find_intervals, steps, lcp, changes))


@contextmanager
def _traced_peak() -> Generator[list[int], None, None]:
    """Yields a list of one number: at the end the most memory that what was made inside took at once, in bytes."""
    peak = [0]
    already = tracemalloc.is_tracing()
    if not already:
        tracemalloc.start()
    before, _ = tracemalloc.get_traced_memory()
    tracemalloc.reset_peak()
    try:
        yield peak
        peak[0] = tracemalloc.get_traced_memory()[1] - before
    finally:
        if not already:
            tracemalloc.stop()


def suffix_array(steps: Steps, symbols: Array, *, short: int = SHORT) -> Array:
    """Returns the suffix array of a text that is not empty: parses it, sorts the suffixes of the parse, and merges."""
    if symbols.size > short:
        parsed = parse(steps, enclosed(steps.xp, symbols))
        if parsed is not None:
            return suffixes_of_text(steps, parsed, suffix_array(steps, parsed.names, short=short))
    order, _ = sort_suffixes(steps, symbols, steps.xp.full(symbols.size, symbols.size, steps.xp.int32))
    return order
