"""Which node of a performance graph follows which, and how long the device is idle in between, and why."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from .nodes import NONE, Graph
from .sorting import Ints, stable_order

__all__ = ["Gaps", "Successions", "successions"]


@dataclass(frozen=True, eq=False)
class Gaps:
    """The idle stretches of devices: the operation that ends each, how long it is, and why, an index of causes."""

    operation: Ints
    time_ns: Ints
    cause: Ints
    causes: Sequence[str]


@dataclass(frozen=True, eq=False)
class Successions:
    """Successions of siblings, one entry for each pair, by parent, source and target.

    `source` is `NONE` where nothing comes before, `parent` then the device. `gaps` of `count` successions have idle
    time in between, `idle_ns` in all and `longest_ns` at most, of it `cause_ns` for the `cause` that has most of it
    (`NONE` without any).
    """

    parent: Ints
    source: Ints
    target: Ints
    count: Ints
    gaps: Ints
    idle_ns: Ints
    longest_ns: Ints
    cause: Ints
    cause_ns: Ints


def successions(found: Graph, apart: Ints, gaps: Gaps) -> Successions:
    """The successions of operations that come one after the other, told of the siblings that hold the two.

    `apart` tells stretches of operations apart that do not follow each other (sequences, devices). An idle stretch
    counts to the succession that ends with the operation that ends it, so the idle time of a device is shared out
    exactly. Between two units, for example iterations, it is these that follow each other. Cost: sorts.
    """
    pair, source, target = _pairs(*_ends(found, apart), len(found.nodes))
    parent, source, target = _siblings(found, source, target)
    joined, source, target, parent = _pairs(source, target, len(found.nodes), parent)
    edge = joined[pair]
    size = len(source)
    own = edge[gaps.operation]
    by_cause = np.zeros((size, max(len(gaps.causes), 1)), np.int64)
    np.add.at(by_cause, (own, gaps.cause), gaps.time_ns)
    longest = np.zeros(size, np.int64)
    np.maximum.at(longest, own, gaps.time_ns)
    most = by_cause.argmax(axis=1)
    idle = by_cause.sum(axis=1)
    inside = np.lexsort((target, source, parent))
    result = (
        parent, source, target, np.bincount(edge, minlength=size), np.bincount(own, minlength=size),
        idle, longest, np.where(idle > 0, most, NONE), by_cause[np.arange(size), most],
    )  # fmt: skip
    return Successions(*(column[inside] for column in result))


def _pairs(source: Ints, target: Ints, nodes: int, *more: Ints) -> tuple[Ints, ...]:
    """The number of each pair among the different ones, their sources and targets, and what else one of each has."""
    key = (source + 1) * (nodes + 1) + target
    order = stable_order(key)
    fresh = np.r_[True, np.diff(key[order]) != 0][: len(order)]
    number = np.empty(len(order), np.int64)
    number[order] = np.cumsum(fresh) - 1
    first = order[fresh]
    return number, *(column[first] for column in (source, target, *more))


def _ends(found: Graph, apart: Ints) -> tuple[Ints, Ints]:
    """For each operation the node before it and its own: leaves, or the nodes of their units where these differ."""
    source, target = np.full(len(apart), NONE, np.int64), found.leaf.copy()
    same = np.flatnonzero(apart[1:] == apart[:-1]) + 1
    source[same] = found.leaf[same - 1]
    unit, number = found.unit, found.number
    across = same[(unit[same] != unit[same - 1]) | (number[same] != number[same - 1])]
    source[across], target[across] = unit[across - 1], unit[across]
    return source, target


def _siblings(found: Graph, source: Ints, target: Ints) -> tuple[Ints, Ints, Ints]:
    """The node around both ends, and what of it holds each; an end of nothing stays, below the device."""
    up = np.array([node.parent for node in found.nodes], np.int64)
    depth = np.zeros(len(up), np.int64)
    for node, parent in enumerate(up.tolist()):
        depth[node] = 0 if parent == NONE else depth[parent] + 1
    begins = source == NONE
    one = np.where(begins, target, source)
    two = target.copy()
    for deep in range(int(depth.max(initial=0)), 0, -1):
        apart = one != two
        # A pair that meets in a node is a succession of that node with itself; elsewhere both go up to siblings.
        move = (depth[one] == deep) & ((depth[two] < deep) | (apart & (up[one] != up[two])))
        move_two = (depth[two] == deep) & ((depth[one] < deep) | (apart & (up[one] != up[two])))
        move |= begins & (depth[one] == deep) & (deep > 1)
        move_two |= begins & (depth[two] == deep) & (deep > 1)
        one, two = np.where(move, up[one], one), np.where(move_two, up[two], two)
    return up[two], np.where(begins, NONE, one), two
