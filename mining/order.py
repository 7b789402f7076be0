"""The order in which the operations of one device were issued, from what the trace knows of launches.

Streams run first in, first out: on one stream the order of device starts is the order of launches. Between streams
only launch times order operations as the program issued them. So:

1. An operation without a launch that no launched one precedes on its stream was queued before the recording began.
   Such operations are left out of the merged order: what came between them on other streams was not recorded.
2. Launched operations of all streams merge by launch time. An operation without a launch after a launched one takes
   the launch of the one before it on its stream. Operations of one launch, the replay of a graph, are in the order of
   their nodes, which every replay has, where each node ran once and no stream ran them in another order; else in that
   of their device starts, in which streams race.
3. A stream without any launch stands alone, in the order of device starts.
4. Where launches are known for less than half of the operations, or rule 2 would lend too many, every stream stands
   alone with all its operations.

Launch times and device times are never compared with each other.
"""

from dataclasses import dataclass

import numpy as np

from .columns import MISSING
from .sorting import Ints, lexical_order

__all__ = ["Order", "Ordered", "merge_order"]

MOST_LENT = 0.05


@dataclass(frozen=True, eq=False)
class Ordered:
    """Indices of operations in one order, and their launch times where that order is one of launches."""

    index: Ints
    launch_ns: Ints | None


@dataclass(frozen=True, eq=False)
class Order:
    """The sequences of a device, and the indices of operations queued before the recording began."""

    sequences: list[Ordered]
    queued: Ints


def merge_order(launch_ns: Ints, start_ns: Ints, stream: Ints, tie: Ints | None = None) -> Order:
    """Orders the operations of one process and device, given in any order.

    `launch_ns` is `MISSING` where unknown; `stream` numbers streams; `tie` is the graph node, 0 where there is none.
    Every index is in exactly one sequence or queued. Cost: a sort, two where a launch is unknown,
    three more of what graphs replayed.
    """
    last = np.zeros_like(start_ns) if tie is None else tie
    known = launch_ns != MISSING
    if len(known) and known.all():
        node = _nodes(launch_ns, last, start_ns, stream)
        issue = lexical_order(launch_ns, node, start_ns, last, stream)
        return Order([Ordered(issue, launch_ns[issue])], np.zeros(0, dtype=np.int64))
    order = lexical_order(stream, start_ns, launch_ns, last)
    at = np.arange(len(order))
    fresh = np.r_[np.ones(min(len(order), 1), dtype=np.bool_), stream[order][1:] != stream[order][:-1]]
    begin = np.maximum.accumulate(np.where(fresh, at, 0))
    known = known[order]
    latest = np.maximum.accumulate(np.where(known, at, -1))
    leading = latest < begin
    number = np.cumsum(fresh) - 1
    linked = np.bincount(number, weights=known)[number] > 0 if len(order) else known
    lent = int((~known & ~leading).sum())
    if 2 * known.sum() < linked.sum() or lent > MOST_LENT * linked.sum():
        return Order(_alone(order, number), np.zeros(0, dtype=np.int64))
    merged = order[~leading]
    launch = launch_ns[order[latest[~leading]]]
    node = _nodes(launch, last[merged], start_ns[merged], stream[merged])
    issue = lexical_order(launch, node, start_ns[merged], last[merged])
    sequences = [Ordered(merged[issue], launch[issue])] if len(merged) else []
    return Order(sequences + _alone(order[~linked], number[~linked]), order[leading & linked])


def _nodes(launch_ns: Ints, node: Ints, start_ns: Ints, stream: Ints) -> Ints:
    """The graph nodes that order operations of equal launches, 0 for all of a launch whose nodes cannot."""
    result = np.zeros_like(node)
    at = np.flatnonzero(node != 0)
    if len(at) == 0:
        return result
    at = at[np.lexsort((node[at], launch_ns[at]))]
    fresh = np.r_[True, launch_ns[at[1:]] != launch_ns[at[:-1]]]
    replay = np.cumsum(fresh) - 1
    twice = ~fresh & (node[at] == np.roll(node[at], 1))
    # A lexical sort is stable: by stream, each replay's operations stay in the order of their nodes.
    by_stream = np.lexsort((stream[at], replay))
    one, next_one = at[by_stream[:-1]], at[by_stream[1:]]
    same = (stream[one] == stream[next_one]) & (launch_ns[one] == launch_ns[next_one])
    raced = np.r_[same & (start_ns[one] > start_ns[next_one]), False]
    bad = np.bincount(replay, weights=twice) + np.bincount(replay[by_stream], weights=raced) > 0
    result[at] = np.where(bad[replay], 0, node[at])
    return result


def _alone(order: Ints, number: Ints) -> list[Ordered]:
    """One sequence for each stream, in the order of device starts."""
    cuts = np.flatnonzero(number[1:] != number[:-1]) + 1
    return [Ordered(part, None) for part in np.split(order, cuts) if len(part)]
