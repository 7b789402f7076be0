"""Do the ranks of a run use memory alike, and what does that say of how the work is divided? Heuristics, named so.

After PASTA's Fig. 15: with data or tensor parallelism all ranks allocate alike, with pipeline parallelism they do not.
"""

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

import numpy as np

from .sorting import Ints
from .words import percent

__all__ = ["Signature", "Use", "signature"]

ALIKE = 0.02
"""Peaks, numbers of changes and curves of ranks that differ by no more than this share are alike."""
PLACES = 101

SUMS, SHARDS, POINTS = ("allreduce",), ("allgather", "reducescatter"), ("send", "recv", "sendrecv")
"""Kinds of collectives, in small letters without signs between."""


@dataclass(frozen=True, eq=False)
class Use:
    """What a rank allocates after each change, and its collectives: how many by kind and phase (None: not known)."""

    label: str
    curve: Ints
    collectives: Mapping[tuple[str, str | None], int] = field(default_factory=dict[tuple[str, str | None], int])


@dataclass(frozen=True)
class Signature:
    """`parallelism` is data, sharded data, tensor, pipeline or undetermined; `difference` is as a share of the peak."""

    symmetric: bool
    difference: float
    parallelism: str
    reason: str


def signature(ranks: Sequence[Use]) -> Signature:
    """What the curves and collectives of the ranks hint at; at least two ranks with a curve each.

    `difference` is the largest difference from the first rank's curve at equal shares of the run, over its peak.
    """
    difference = _difference(ranks)
    counts = [len(rank.curve) for rank in ranks]
    even = difference <= ALIKE and max(counts) - min(counts) <= ALIKE * max(counts)
    sums, shards, points, forward = _collectives(ranks)
    told = f"curves differ by up to {percent(difference, 1)} of the peak"
    if not even:
        if points:
            return Signature(False, difference, "pipeline", f"{told}, and ranks send to and receive from each other")
        return Signature(False, difference, "undetermined", f"{told}, and no transfers between ranks are known")
    if not sums and not shards:
        return Signature(True, difference, "undetermined", f"{told}, and no reductions are known")
    if points and not forward:
        reason = f"{told}, but ranks send to each other as well"
        return Signature(True, difference, "undetermined", reason)
    if shards and not sums:
        return Signature(True, difference, "sharded data", f"{told}; parts are gathered and reduced, nothing else")
    if forward is None:
        return Signature(True, difference, "undetermined", f"{told}; in which phase ranks reduce is not known")
    if forward:
        return Signature(True, difference, "tensor", f"{told}, and ranks reduce in the forward pass")
    return Signature(True, difference, "data", f"{told}, and ranks reduce outside the forward pass only")


def _difference(ranks: Sequence[Use]) -> float:
    shares = np.linspace(0, 1, PLACES)
    curves = [rank.curve[np.round(shares * (len(rank.curve) - 1)).astype(np.int64)] for rank in ranks]
    peak = max(int(rank.curve.max()) for rank in ranks) or 1
    worst = max(float(np.abs(curve - curves[0]).max()) for curve in curves)
    peaks = [int(rank.curve.max()) for rank in ranks]
    return max(worst, float(max(peaks) - min(peaks))) / peak


def _collectives(ranks: Sequence[Use]) -> tuple[int, int, int, int | None]:
    """Reductions, gathered shards and transfers; of the reductions those in forward, None where no phase is known."""
    every = Counter[tuple[str, str | None]]()
    for rank in ranks:
        every.update(rank.collectives)
    found = {(_plain(kind), phase): number for (kind, phase), number in every.items()}
    sums, shards, points = (
        sum(number for (kind, _), number in found.items() if kind in kinds) for kinds in (SUMS, SHARDS, POINTS)
    )
    reductions = {key: number for key, number in found.items() if key[0] in SUMS}
    known = any(phase is not None for _, phase in reductions)
    forward = sum(number for (_, phase), number in reductions.items() if phase == "forward") if known else None
    return sums, shards, points, forward


def _plain(kind: str) -> str:
    return "".join(letter for letter in kind.lower() if letter.isalpha())
