"""Which kernels take another time in some runs than in others, told so that few of those told are chance."""

from collections.abc import Mapping, Sequence
from statistics import median
from typing import Any

from .false_discoveries import discoveries
from .run_effect import probability

__all__ = ["LEAST_RUNS", "kernel_changes"]

LEAST_RUNS = 3
"""Runs that each side must have, for a word on single kernels."""

Times = Mapping[str, float]


def kernel_changes(base: Sequence[Times], other: Sequence[Times], *, share: float = 0.05) -> list[dict[str, Any]]:
    """Each kernel's time per iteration, of runs on two sides, with how likely chance alone makes them differ as much.

    A side's time is the median of its runs, which one bad day does not move; of a kernel that a run does not name it
    is 0. `changed` is true for those that differ by
    more than chance: of these a `share` is expected to be wrong (Benjamini and Hochberg 1995). Empty with too few runs
    on a side. The largest difference first.
    """
    if min(len(base), len(other)) < LEAST_RUNS:
        return []
    rows: list[dict[str, Any]] = []
    for name in sorted({name for times in (*base, *other) for name in times}):
        one, two = ([float(times.get(name, 0)) for times in side] for side in (base, other))
        before, now = median(one), median(two)
        rows.append(
            {
                "name": name,
                "base_ns": before,
                "ns": now,
                "delta_ns": now - before,
                "change": (now - before) / before if before else None,
                "p": probability(one, two),
            }
        )
    told = discoveries([row["p"] for row in rows], share=share)
    rows = [row | {"changed": changed} for row, changed in zip(rows, told, strict=True)]
    return sorted(rows, key=lambda row: (-abs(row["delta_ns"]), row["name"]))
