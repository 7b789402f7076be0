"""Texts: ranges of a sequence of symbols, and which of them are equal."""

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from ..store.compiled import jit
from .sorting import Ints, stable_order

__all__ = ["Symbols", "Texts", "equal_groups"]

Symbols = npt.NDArray[np.int32]

SEED, FACTOR, SHIFT = np.uint64(0x9E3779B97F4A7C15), np.uint64(0xBF58476D1CE4E5B9), np.uint64(29)


@dataclass(frozen=True, eq=False)
class Texts:
    """Half-open ranges of a sequence, for example its iterations."""

    symbols: Symbols
    first: Ints
    stop: Ints

    def __len__(self) -> int:
        return len(self.first)

    def __getitem__(self, index: int) -> Symbols:
        return self.symbols[self.first[index] : self.stop[index]]

    @property
    def size(self) -> Ints:
        """The number of symbols of each."""
        return self.stop - self.first

    def take(self, index: Ints) -> "Texts":
        """Those of the texts, in that order."""
        return Texts(self.symbols, self.first[index], self.stop[index])


def equal_groups(texts: Texts) -> Ints:
    """For each text the index of the first one that is equal to it.

    Texts with the same 64-bit hash are compared symbol by symbol, so the answer is exact. One pass over the symbols
    and a sort of the hashes.
    """
    hashes = np.zeros(len(texts), np.uint64)
    leader = np.arange(len(texts), dtype=np.int64)
    _hash(texts.symbols, texts.first, texts.stop, hashes)
    _lead(texts.symbols, texts.first, texts.stop, hashes, stable_order(hashes.view(np.int64)), leader)
    return leader


@jit()
def _hash(symbols: Symbols, first: Ints, stop: Ints, hashes: npt.NDArray[np.uint64]) -> None:
    for text in range(len(first)):
        value = SEED
        for at in range(first[text], stop[text]):
            value = (value ^ np.uint64(symbols[at])) * FACTOR
            value ^= value >> SHIFT
        hashes[text] = value


@jit()
def _lead(symbols: Symbols, first: Ints, stop: Ints, hashes: npt.NDArray[np.uint64], order: Ints, leader: Ints) -> None:
    """Compares each text with the leaders of its hash: mostly one, more only when different texts share a hash."""
    begin = 0
    for at in range(len(order)):
        if hashes[order[at]] != hashes[order[begin]]:
            begin = at
        text = order[at]
        for before in range(begin, at):
            other = order[before]
            mine, others = symbols[first[text] : stop[text]], symbols[first[other] : stop[other]]
            if leader[other] == other and _equal(mine, others):
                leader[text] = other
                break


@jit()
def _equal(one: Symbols, other: Symbols) -> bool:
    if len(one) != len(other):
        return False
    at = 0
    while at < len(one) and one[at] == other[at]:
        at += 1
    return at == len(one)
