"""The text that most of a set of similar texts agree on, symbol by symbol."""

import numpy as np

from .alignment import DELETION, INSERTION, SUBSTITUTION, Alignment, align
from .contents import Symbols, Texts
from .sorting import Ints

__all__ = ["consensus"]

ROUNDS = 6
"""Rounds of alignment, at most; most often the second changes nothing."""


def consensus(reference: Symbols, texts: Texts, weight: Ints, limit: int) -> Symbols:
    """Improves a reference until the majority of the texts, each of some weight, agrees with each of its symbols.

    In each round all texts are aligned with the reference. A column becomes the symbol that most have there, or goes
    when most lack it; a symbol that most have between two columns is inserted. Texts with more than `limit` edits have
    no say. Deterministic: of equals the present symbol stays, else the smallest wins.
    """
    for _ in range(ROUNDS):
        voted = _voted(reference, texts, weight, align(reference, texts, limit))
        if np.array_equal(voted, reference):
            break
        reference = voted
    return reference


def _voted(reference: Symbols, texts: Texts, weight: Ints, found: Alignment) -> Symbols:
    """The reference after one round of votes."""
    total = int(weight[found.distance >= 0].sum())
    votes = weight[found.text]
    symbol = np.r_[texts.symbols, np.int32(0)][texts.first[found.text] + found.place]
    changed = _replaced(reference, found, symbol, votes, total)
    column, rank, inserted = _insertions(found, symbol, votes, total)
    gone = _sums(found, votes, DELETION, len(reference)) * 2 > total
    position = np.r_[np.flatnonzero(~gone), column]
    order = np.lexsort((np.r_[np.full(int((~gone).sum()), len(texts.symbols)), rank], position))
    return np.r_[changed[~gone], inserted][order].astype(np.int32)


def _replaced(reference: Symbols, found: Alignment, symbol: Symbols, votes: Ints, total: int) -> Symbols:
    """The reference with each column as most have it, where more have one other symbol than the present one."""
    present = total - _sums(found, votes, SUBSTITUTION, len(reference)) - _sums(found, votes, DELETION, len(reference))
    chosen = found.kind == SUBSTITUTION
    column, other, count = _counted(found.column[chosen].astype(np.int64), symbol[chosen], votes[chosen])
    # By count, then by symbol downwards, so that the last one written to a column is the first among equals.
    order = np.lexsort((-other, count))
    result = reference.copy()
    column, other, count = column[order], other[order], count[order]
    better = count > present[column]
    result[column[better]] = other[better]
    return result


def _insertions(found: Alignment, symbol: Symbols, votes: Ints, total: int) -> tuple[Ints, Ints, Symbols]:
    """What most have between columns: the column it goes before, its rank among those that do, the symbol."""
    chosen = np.flatnonzero(found.kind == INSERTION)
    column, text = found.column[chosen], found.text[chosen]
    fresh = np.r_[True, (column[1:] != column[:-1]) | (text[1:] != text[:-1])][: len(chosen)]
    at = np.arange(len(chosen))
    rank = at - np.maximum.accumulate(np.where(fresh, at, 0))
    width = int(rank.max(initial=0)) + 1
    slot, inserted, count = _counted(column.astype(np.int64) * width + rank, symbol[chosen], votes[chosen])
    most = count * 2 > total
    return slot[most] // width, slot[most] % width, inserted[most]


def _sums(found: Alignment, votes: Ints, kind: int, columns: int) -> Ints:
    """The votes for an edit of that kind by column."""
    chosen = found.kind == kind
    return np.bincount(found.column[chosen], votes[chosen], columns).astype(np.int64)


def _counted(slot: Ints, symbol: Symbols, votes: Ints) -> tuple[Ints, Symbols, Ints]:
    """The distinct pairs of slot and symbol, ascending, and the votes for each."""
    order = np.lexsort((symbol, slot))
    slot, symbol, votes = slot[order], symbol[order], votes[order]
    first = np.flatnonzero(np.r_[True, (slot[1:] != slot[:-1]) | (symbol[1:] != symbol[:-1])][: len(slot)])
    return slot[first], symbol[first], np.add.reduceat(votes, first) if len(first) else votes
