"""Matches the nodes of two trees from the roots down: siblings by what they are, in order where that is possible."""

from collections import Counter, defaultdict
from collections.abc import Hashable, Iterator, Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from .alignment import align, columns_of
from .contents import Texts

__all__ = ["Branch", "Pair", "matched"]

LIKE = 0.5
"""Nodes that are called differently are the same if this share of what is in either is in both."""
MOST_COMPARED = 200
"""Siblings that are left on either side, up to which they are compared by what is in them."""


@dataclass(frozen=True)
class Branch:
    """A node of a tree: what it must have in common with the one it is matched with, and what is in it."""

    node: int
    key: Hashable
    inside: Sequence["Branch"] = ()


@dataclass(frozen=True)
class Pair:
    """Nodes that match, or one alone; `parent` is the place of the pair around it in the list, -1 for none."""

    parent: int
    one: int | None
    other: int | None


def matched(one: Sequence[Branch], other: Sequence[Branch]) -> list[Pair]:
    """The pairs of two lists of roots and of all that is in them; each pair is right before what is in it.

    Siblings with equal keys match in order as far as the fewest edits leave them (`mining.alignment`); then those left
    with equal keys, from the first on; then those left whose insides have half of their keys in common.
    """
    found: list[Pair] = []
    stack = [(-1, *pair) for pair in _siblings(one, other)][::-1]
    while stack:
        parent, left, right = stack.pop()
        at = len(found)
        found.append(Pair(parent, left and left.node, right and right.node))
        inside = _siblings(left.inside if left else (), right.inside if right else ())
        stack += [(at, *pair) for pair in inside][::-1]
    return found


def _siblings(one: Sequence[Branch], other: Sequence[Branch]) -> list[tuple[Branch | None, Branch | None]]:
    """The pairs of two lists of siblings, in the order of the second, those of the first alone where they were."""
    partner = _in_order(one, other)
    for pairs in (_anywhere, _alike):
        taken = set(partner.values())
        left = [at for at in range(len(one)) if at not in taken]
        right = [at for at in range(len(other)) if at not in partner]
        if left and right:
            partner |= dict(pairs(one, other, left, right))
    there = set(partner.values())
    result: list[tuple[Branch | None, Branch | None]] = []
    alone = iter([at for at in range(len(one)) if at not in there])
    waiting = next(alone, None)
    for at, branch in enumerate(other):
        while waiting is not None and at in partner and waiting < partner[at]:
            result.append((one[waiting], None))
            waiting = next(alone, None)
        result.append((one[partner[at]] if at in partner else None, branch))
    while waiting is not None:
        result.append((one[waiting], None))
        waiting = next(alone, None)
    return result


def _in_order(one: Sequence[Branch], other: Sequence[Branch]) -> dict[int, int]:
    """For places of the second list the place of the first that the fewest edits leave them."""
    if not one or not other:
        return {}
    number: dict[Hashable, int] = {}
    texts = [
        np.array([number.setdefault(branch.key, len(number)) for branch in part], np.int32) for part in (one, other)
    ]
    text = Texts(texts[1], np.zeros(1, np.int64), np.array([len(other)]))
    columns = columns_of(align(texts[0], text, len(one) + len(other)), text)
    return {at: int(columns[at]) for at in np.flatnonzero(columns >= 0).tolist()}


def _anywhere(
    one: Sequence[Branch], other: Sequence[Branch], left: list[int], right: list[int]
) -> Iterator[tuple[int, int]]:
    places: Mapping[Hashable, list[int]] = defaultdict(list)
    for at in reversed(left):
        places[one[at].key].append(at)
    for at in right:
        if places[other[at].key]:
            yield at, places[other[at].key].pop()


def _alike(
    one: Sequence[Branch], other: Sequence[Branch], left: list[int], right: list[int]
) -> Iterator[tuple[int, int]]:
    free = [at for at in left if one[at].inside][:MOST_COMPARED]
    for at in [at for at in right if other[at].inside][:MOST_COMPARED]:
        found = next((place for place in free if _like(one[place], other[at])), None)
        if found is not None:
            free.remove(found)
            yield at, found


def _like(one: Branch, other: Branch) -> bool:
    counts = [Counter(branch.key for branch in part.inside) for part in (one, other)]
    return (counts[0] & counts[1]).total() >= LIKE * (counts[0] | counts[1]).total()
