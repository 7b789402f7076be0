"""Regular returns of short windows: the distances, in operations, at which a sequence repeats.

A window is 1, 2, 4, 8 or 16 consecutive symbols, runs of one symbol folded to one. Windows with equal
content form a class. A class that returns at a steady distance votes for that distance; votes that agree form a
cadence. Every step is a sort or a scan over arrays, O(n log n) in all.
"""

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from .sorting import Ints, ragged, stable_order

__all__ = ["Cadence", "Symbols", "cadences"]

Symbols = npt.NDArray[np.integer]
Bools = npt.NDArray[np.bool_]

WIDEST = 16
TOLERANCE = 0.03
MOST_CADENCES = 16
MOST_CLUSTERS = 64
LEAST_NATS = 3.0
# So many anchors at least, and a quarter of the operations, say where the repeats of a cadence are.
ANCHORS = 1 << 17


@dataclass(frozen=True, eq=False)
class Cadence:
    """One distance at which windows return, and the anchors: occurrences of the window classes that voted for it.

    `position` and `owner` (the number of its class) describe each occurrence; `reference` is the steadiest class.
    `significance` is in nats. `slack` is the number of operations by which a return may miss its distance.
    """

    period: int
    slack: int
    significance: float
    classes: int
    position: Ints
    owner: Ints
    reference: int


@dataclass(frozen=True, eq=False)
class _Returns:
    """Classes that return regularly, one entry a class: occurrences are slices of `position`."""

    position: Ints
    start: Ints
    count: Ints
    period: Ints
    regular: Ints
    deviation: Ints


def cadences(
    symbols: Symbols, *, tolerance: float = TOLERANCE, fold: bool = True, pairs: bool = False
) -> list[Cadence]:
    """Lists the distances at which windows of `symbols` return, the best supported first.

    Distances count operations and are at least 2. Runs of one symbol count as one symbol of a window unless `fold` is
    false. A return may miss the distance by the share `tolerance` of it, rounded down: by default distances below 34
    operations are exact. With `pairs` only windows that occur two or three times vote, for sequences of two repeats;
    without, those that occur three times or more. Empty where nothing returns.
    """
    if len(symbols) < 3:
        return []
    first = np.flatnonzero(np.r_[True, (symbols[1:] != symbols[:-1]) | (not fold)])
    found, tested = _returns(symbols[first].astype(np.int64), first, tolerance, pairs)
    order = np.argsort(found.period, kind="stable")
    weight = found.regular * found.period
    result: list[Cadence] = []
    for _ in range(MOST_CLUSTERS):
        if len(order) == 0 or len(result) == MOST_CADENCES:
            break
        begin, end = _heaviest(found.period[order], weight[order], 4 * tolerance / 3)
        members = order[begin:end]
        order = np.r_[order[:begin], order[end:]]
        gain = _significance(found.regular[members], tested, tolerance)
        if gain >= LEAST_NATS:
            result.append(_cadence(found, members, gain, len(symbols), tolerance))
    return result


def _returns(tokens: Ints, place: Ints, tolerance: float, pairs: bool) -> tuple[_Returns, int]:
    """Finds the regular classes of every window width, and how many classes were looked at."""
    parts: list[_Returns] = []
    tested = 0
    n, width = len(tokens), 1
    order = stable_order(tokens)
    fresh = np.r_[True, tokens[order[1:]] != tokens[order[:-1]]]
    while True:
        part, looked = _regular(place[order], fresh, tolerance, pairs)
        parts.append(part)
        tested += looked
        if width == WIDEST or n <= 2 * width or bool(fresh.all()):
            return _joined(parts), tested
        rank = np.empty(n, dtype=np.int64)
        rank[order] = np.cumsum(fresh)
        # By the second half the windows are in order already, only moved: one sort by the first half is left.
        moved = order[order >= width] - width
        moved = moved[moved <= n - 2 * width]
        order = moved[stable_order(rank[moved])]
        first, second = rank[order], rank[order + width]
        fresh = np.r_[True, (first[1:] != first[:-1]) | (second[1:] != second[:-1])]
        width *= 2


def _regular(position: Ints, fresh: Bools, tolerance: float, pairs: bool) -> tuple[_Returns, int]:
    """Keeps the classes of which half the returns or more come at the median distance."""
    start = np.flatnonzero(fresh)
    count = np.diff(np.r_[start, len(position)])
    repeated = (count == 2) | (count == 3) if pairs else count >= 3
    start, count = start[repeated], count[repeated]
    tested, gaps = len(start), count - 1
    owner = np.repeat(np.arange(tested, dtype=np.int64), gaps)
    at = ragged(start, gaps)
    gap = position[at + 1] - position[at]
    bits = int(gap.max(initial=1)).bit_length()
    gap = np.sort((owner << bits) | gap) & ((1 << bits) - 1)
    begin = np.cumsum(gaps) - gaps
    period = gap[begin + (gaps - 1) // 2]
    miss = np.abs(gap - np.repeat(period, gaps))
    hit = miss <= np.repeat((tolerance * period).astype(np.int64), gaps)
    regular, deviation = _sums(hit.astype(np.int64), begin), _sums(miss * hit, begin)
    keep = (2 * regular >= np.maximum(gaps, 1 if pairs else 3)) & (period > 1)
    return _Returns(position, start[keep], count[keep], period[keep], regular[keep], deviation[keep]), tested


def _sums(values: Ints, begin: Ints) -> Ints:
    """The sum of each slice, given where they begin."""
    return np.add.reduceat(values, begin) if len(begin) else begin


def _joined(parts: list[_Returns]) -> _Returns:
    """Puts the classes of all window widths into one list."""
    offset = np.cumsum([0] + [len(part.position) for part in parts])
    return _Returns(
        np.concatenate([part.position for part in parts]),
        np.concatenate([part.start + at for part, at in zip(parts, offset, strict=False)]),
        np.concatenate([part.count for part in parts]),
        np.concatenate([part.period for part in parts]),
        np.concatenate([part.regular for part in parts]),
        np.concatenate([part.deviation for part in parts]),
    )


def _heaviest(period: Ints, weight: Ints, width: float) -> tuple[int, int]:
    """The range of sorted periods, wider by the share `width` at most, whose returns span the most operations."""
    total = np.r_[0, np.cumsum(weight)]
    upto = np.searchsorted(period, period * (1 + width), side="right")
    begin = int(np.argmax(total[upto] - total[:-1]))
    return begin, int(upto[begin])


def _significance(regular: Ints, tested: int, tolerance: float) -> float:
    """Nats by which regular returns beat chance, after paying for the choice of these classes among all tested.

    By chance a return falls within the tolerance of a given distance with a probability of about 2 * tolerance.
    """
    gain = float(regular.sum()) * float(np.log(1 / (2 * tolerance)))
    return gain - len(regular) * (1 + float(np.log(max(tested, 1) / len(regular))))


def _cadence(found: _Returns, members: Ints, gain: float, operations: int, tolerance: float) -> Cadence:
    """Collects the anchors of a cluster, the steadiest first: at most one for each operation, or fourth one of many."""
    regular, deviation, count = found.regular[members], found.deviation[members], found.count[members]
    by_period = np.argsort(found.period[members], kind="stable")
    half = np.searchsorted(np.cumsum(regular[by_period]), regular.sum() / 2)
    period = int(found.period[members][by_period][half])
    steady = np.lexsort((members, deviation / regular, -regular / (count - 1)))
    most = min(operations, max(ANCHORS, operations // 4))
    steady = steady[np.cumsum(count[steady]) <= max(most, int(count[steady[0]]))]
    reference = int(np.lexsort((deviation[steady], -regular[steady]))[0])
    members, count = members[steady], count[steady]
    owner = np.repeat(np.arange(len(members), dtype=np.int64), count)
    position = found.position[ragged(found.start[members], count)]
    return Cadence(period, int(tolerance * period), gain, len(members), position, owner, reference)
