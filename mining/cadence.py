"""Regular returns of short windows: the distances, in operations, at which a sequence repeats.

A window is 1, 2, 4, 8 or 16 consecutive symbols, runs of one symbol folded to one. Windows with equal
content form a class. A class that returns at a steady distance votes for that distance; votes that agree form a
cadence. Every step is a sort or a scan over arrays, O(n log n) in all.
"""

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from .sorting import Ints, ragged
from .windows import distances, windows

__all__ = ["Cadence", "Symbols", "cadences"]

Symbols = npt.NDArray[np.integer]

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
    tested, used = 0, 0
    position = np.empty(WIDEST.bit_length() * len(tokens), np.int64)  # untouched memory costs nothing
    least, most = (2, 3) if pairs else (3, len(tokens))
    for one in windows(tokens, WIDEST):
        found = distances(one, place, least, most, tolerance, position[used:])
        keep = (2 * found.regular >= np.maximum(found.count - 1, 1 if pairs else 3)) & (found.period > 1)
        columns = (found.start + used, found.count, found.period, found.regular, found.deviation)
        parts.append(_Returns(position, *(column[keep] for column in columns)))
        tested, used = tested + len(found.count), used + len(one.order)
    return _joined(position, parts), tested


def _joined(position: Ints, parts: list[_Returns]) -> _Returns:
    """Puts the classes of all window widths into one list."""
    names = ("start", "count", "period", "regular", "deviation")
    return _Returns(position, *(np.concatenate([getattr(part, name) for part in parts]) for name in names))


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
