"""Sorts iterations by content: each type is what many of them agree on, and each iteration is of the nearest type."""

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from .alignment import MOST_EDITS, align, unlike
from .consensus import consensus
from .contents import Symbols, Texts, equal_groups
from .sorting import Ints

__all__ = ["LEAST_RECURRING", "RECURS", "Types", "types_of"]

SAME = 0.2
"""Texts of one type differ by fewer edits than this share of their length."""
RELATED = 0.5
"""A text that recurs in no similar form is of the nearest type if it differs by fewer edits than this share."""
FAR, LEAST_FAR = 3, 0.02
"""Within a type, texts with this many times the median of edits, and this share of its length, may be another type."""
RECURS, LEAST_RECURRING = 0.02, 3
"""Similar texts are a type beside a similar one if they are this share of all, and so many."""
MOST_TYPES, MOST_FAILURES = 32, 16
STEPS = 400_000_000
"""Where very many texts are far from all types, fewer edits are looked for: so many steps (a second) for each type."""


@dataclass(frozen=True, eq=False)
class Types:
    """The types of texts, the most frequent first: `of[i]` is the type of text i, `distance[i]` its edits from it."""

    consensus: list[Symbols]
    of: Ints
    distance: Ints


def types_of(texts: Texts) -> Types:
    """Sorts texts into types; a text that is unlike all others is alone in its type.

    Equal texts count as one with their number as weight. A content that recurs is a type however little it differs
    from another; contents that never recur exactly are gathered around the most frequent one and aligned.
    """
    leader = equal_groups(texts)
    heads = np.flatnonzero(leader == np.arange(len(texts)))
    group = np.searchsorted(heads, leader)
    pool = _Pool(texts.take(heads), np.bincount(group, minlength=len(heads)))
    found = _nearest(pool, _recurring(pool))
    return _numbered(found, group)


@dataclass(frozen=True, eq=False)
class _Pool:
    """Distinct texts and how often each occurs."""

    texts: Texts
    weight: Ints

    @property
    def total(self) -> int:
        """The number of texts."""
        return int(self.weight.sum())

    @property
    def least(self) -> int:
        """The number of similar texts that make a type beside a similar one."""
        return max(LEAST_RECURRING, int(np.ceil(RECURS * self.total)))

    def order(self) -> Ints:
        """The most frequent first; of equals the one of the most usual length, then the earliest."""
        usual = np.sort(np.repeat(self.texts.size, self.weight))[self.total // 2] if len(self.texts) else 0
        return np.lexsort((np.abs(self.texts.size - usual), -self.weight))


def _limit(length: int, share: float) -> int:
    return min(MOST_EDITS, max(1, int(share * length)))


def _recurring(pool: _Pool) -> list[Symbols]:
    """What recurs: the contents around which others gather, improved by their votes; at least one."""
    least = pool.least
    found: list[Symbols] = []
    free = np.ones(len(pool.texts), np.bool_)
    failures = 0
    for head in pool.order().tolist():
        if len(found) == MOST_TYPES or failures == MOST_FAILURES:
            break
        if not free[head]:
            continue
        limit = _limit(len(pool.texts[head]), SAME)
        near = np.flatnonzero(free & ((pool.weight < least) | (np.arange(len(free)) == head)))
        near = near[unlike(pool.texts[head], pool.texts.take(near)) <= limit]
        near = near[align(pool.texts[head], pool.texts.take(near), limit).distance >= 0]
        agreed = consensus(pool.texts[head], pool.texts.take(near), pool.weight[near], limit)
        if _stands_out(agreed, pool, near, found):
            found.append(agreed)
            near = near[~_far(agreed, pool, near)]
        else:
            failures += 1
        free[near] = False
        free[head] = False
    return found


def _far(agreed: Symbols, pool: _Pool, near: Ints) -> npt.NDArray[np.bool_]:
    """Which of the texts around a content have so many more edits than usual that they may be of another type."""
    distance = align(agreed, pool.texts.take(near), 2 * _limit(len(agreed), SAME)).distance
    usual = np.median(np.repeat(distance, pool.weight[near]))
    return (distance < 0) | (distance > max(FAR * float(usual), LEAST_FAR * len(agreed)))


def _stands_out(agreed: Symbols, pool: _Pool, near: Ints, found: list[Symbols]) -> bool:
    """Whether a content recurs, and describes its texts at least twice as well as those found before."""
    if not found:
        return True
    weight = int(pool.weight[near].sum())
    if weight < max(2, int(np.ceil(RECURS * pool.total))):
        return False
    texts, limit = pool.texts.take(near), 2 * _limit(len(agreed), SAME)
    own = np.average(_distances(agreed, texts, limit), weights=pool.weight[near])
    others = [np.average(_distances(other, texts, limit), weights=pool.weight[near]) for other in found]
    return bool(2 * own <= min(others)) and (weight >= pool.least or bool(min(others) >= limit))


def _distances(reference: Symbols, texts: Texts, limit: int) -> Ints:
    """The edits of each text, `limit` + 1 where they are more."""
    found = np.full(len(texts), limit + 1, np.int64)
    close = np.flatnonzero(unlike(reference, texts) <= limit)
    distance = align(reference, texts.take(close), limit).distance
    found[close[distance >= 0]] = distance[distance >= 0]
    return found


def _nearest(pool: _Pool, recurring: list[Symbols]) -> Types:
    """The nearest of the recurring contents to each distinct text, or itself where none is near."""
    best = np.full(len(pool.texts), np.iinfo(np.int64).max)
    of = np.full(len(pool.texts), -1, np.int64)
    for number, content in enumerate(recurring):
        steps = int((STEPS / max(1, len(pool.texts))) ** 0.5)
        limit = max(_limit(len(content), SAME), min(_limit(len(content), RELATED), steps))
        open_ = np.flatnonzero(unlike(content, pool.texts) < np.minimum(best, limit + 1))
        distance = _distances(content, pool.texts.take(open_), limit)
        better = (distance <= limit) & (distance < best[open_])
        best[open_[better]], of[open_[better]] = distance[better], number
    alone = np.flatnonzero(of < 0)
    of[alone], best[alone] = len(recurring) + np.arange(len(alone)), 0
    return Types([*recurring, *(pool.texts[text] for text in alone.tolist())], of, best)


def _numbered(found: Types, group: Ints) -> Types:
    """The types of all texts, numbered by frequency, then by first text; those of no text are left out."""
    of = found.of[group]
    count = np.bincount(of, minlength=len(found.consensus))
    first = np.full(len(found.consensus), len(of))
    np.minimum.at(first, of, np.arange(len(of)))
    order = np.lexsort((first, -count))[: int((count > 0).sum())]
    number = np.zeros(len(found.consensus), np.int64)
    number[order] = np.arange(len(order))
    return Types([found.consensus[old] for old in order.tolist()], number[of], found.distance[group])
