"""The suffix structure of a sequence of symbols: everything that repeats in it, where and how often.

It is a suffix array with the lengths of common prefixes. The runs of neighbours that share a prefix, its intervals,
are the inner nodes of the suffix tree.
"""

import time
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from .engine import Sorted, sort_best, sort_with

__all__ = ["Intervals", "SuffixStructure", "Symbols", "build", "non_overlapping"]

Symbols = npt.NDArray[np.int32]
"""A sequence of events as ids: one-dimensional, none negative, otherwise arbitrary."""

Positions = npt.NDArray[np.int32]
LONGEST_TEXT = 2**31 - 2  # positions, lengths and their complements are int32


@dataclass(frozen=True, eq=False)
class Intervals:
    """The substrings that repeat and that some occurrence continues differently, one per index of the arrays.

    Each is the longest common prefix of the suffixes `sa[left[k]]` to `sa[right[k]]`, both included, and no other
    suffix starts with it. The order is by `left`, then by `length`: a node of the suffix tree stands before its
    children.
    """

    sa: Positions
    left: Positions
    right: Positions
    length: Positions
    left_diverse: npt.NDArray[np.bool_]
    """Whether the occurrences have at least two different symbols before them; the start of the text is one too.

    These are the maximal repeats: longer on either side, some occurrence is lost.
    """

    def __len__(self) -> int:
        return self.left.size

    @property
    def count(self) -> Positions:
        """The number of occurrences of each, overlapping ones included."""
        return self.right - self.left + np.int32(1)

    def occurrences(self, index: int) -> Positions:
        """Returns the positions in the text where interval `index` occurs, ascending."""
        return np.sort(self.sa[self.left[index] : self.right[index] + 1])


@dataclass(frozen=True, eq=False)
class SuffixStructure:
    """The sorted suffixes of `symbols`."""

    symbols: Symbols
    engine: str
    """Name of the engine that computed it."""
    seconds: float
    """Time that `build` took; the first one in a fresh installation includes the compilation."""
    sorted: Sorted

    @property
    def sa(self) -> Positions:
        """Start of each suffix, in lexicographic order; a suffix stands before those it is a prefix of."""
        return self.sorted.sa

    @property
    def lcp(self) -> Positions:
        """Length of the common prefix of the suffixes `sa[i - 1]` and `sa[i]`; `lcp[0]` is 0."""
        return self.sorted.lcp

    @property
    def peak_bytes(self) -> int:
        """Most memory that the arrays of `build` took at once, those kept included, where the engine computes."""
        return self.sorted.peak_bytes

    def intervals(self, min_length: int = 1, max_length: int | None = None) -> Intervals:
        """Returns the LCP intervals of at least `min_length` and at most `max_length` symbols.

        Bounds save time and memory, since most repeats of a periodic text are very long.
        """
        if min_length < 1:
            raise ValueError(f"min_length must be at least 1, not {min_length}")
        longest = self.symbols.size if max_length is None else max_length
        return Intervals(self.sa, *self.sorted.find_intervals(min_length, longest))


def build(symbols: Symbols, *, engine: str | None = None) -> SuffixStructure:
    """Sorts the suffixes of a sequence of int32 symbols.

    The engine is chosen by what there is and how long the text is; tests and benchmarks name one. The structure keeps
    its own copy of the symbols. Raises TypeError for another type or shape and ValueError for negative symbols. Any
    length is fine, 0 and 1 too.
    """
    if symbols.dtype != np.int32 or symbols.ndim != 1:
        raise TypeError(f"symbols must be a one-dimensional int32 array, not {symbols.dtype} of shape {symbols.shape}")
    if symbols.size > LONGEST_TEXT:
        raise ValueError(f"a text of {symbols.size} symbols is too long: the limit is {LONGEST_TEXT}")
    if symbols.size and symbols.min() < 0:
        raise ValueError(f"symbols must not be negative: the least is {symbols.min()}")
    started = time.perf_counter()
    own = symbols.copy()
    name, result = (engine, sort_with(engine, own)) if engine else sort_best(own)
    return SuffixStructure(own, name, time.perf_counter() - started, result)


def non_overlapping(positions: Positions, length: int) -> Positions:
    """Returns the occurrences kept when going from left to right and dropping each that overlaps the last one kept.

    `positions` are the ascending starts of stretches of `length` symbols.
    """
    from . import cpu  # loads Numba

    if length < 1:
        raise ValueError(f"length must be at least 1, not {length}")
    positions = np.require(positions, np.int32, ["C", "W"])
    kept = np.empty_like(positions)
    return kept[: cpu.take_apart(positions, length, kept)].copy()
