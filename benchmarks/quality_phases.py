"""Warm-up, evaluations and checkpoints planted between iterations"""

from collections.abc import Sequence
from dataclasses import replace

import numpy as np

from data.generator.planted import Planted, Training, plant
from tracelode.mining.iterations import WARM_UP, iterations, levels

__all__ = ["CASES", "rows"]

CASES = {
    "warm-up 3": Training(warm_up=3),
    "warm-up 3, noise 1 %": Training(warm_up=3, noise=0.01),
    "evaluation every 20": Training(evaluate_every=20),
    "checkpoint every 20": Training(checkpoint_every=20),
    "all three, noise 1 %": Training(warm_up=3, evaluate_every=20, checkpoint_every=50, noise=0.01),
    "all three, 3 variants, swaps 5 %": Training(
        warm_up=3, evaluate_every=20, checkpoint_every=50, variants=3, swaps=0.05
    ),
}
BETWEEN = ("evaluation", "checkpoint")


def rows(seeds: Sequence[int]) -> list[dict[str, object]]:
    """A row a case, summed over the seeds.

    `warm-up` iterations are planted, `told` found as such, some of these rightly. `between` counts the operations of
    evaluations and checkpoints; those that ended up in an iteration are `inside`.
    """
    result: list[dict[str, object]] = []
    for name, plan in CASES.items():
        parts = [_measure(plant(replace(plan, seed=seed))) for seed in seeds]
        planted, told, right, between, inside = (sum(column) for column in zip(*parts, strict=True))
        result.append(
            {
                "case": name, "warm-up": planted, "told": told, "of these right": right, "between": between,
                "of these inside": inside,
            }
        )  # fmt: skip
    return result


def _measure(planted: Planted) -> tuple[int, int, int, int, int]:
    cadences = levels(planted.symbols, planted.start_ns, planted.end_ns, planted.launch_ns)
    told: list[int] = []
    covered = np.zeros(len(planted.symbols), dtype=np.bool_)
    for level in (level for level in cadences if level.kind == "iteration"):
        found = iterations(level, planted.symbols, planted.start_ns, planted.end_ns)
        told += found.first[found.phase == WARM_UP].tolist()
        for first, last in zip(found.first.tolist(), found.last.tolist(), strict=True):
            covered[first : last + 1] = True
    warm = [segment.first for segment in planted.segments if segment.kind == "warm-up"]
    right = sum(any(abs(first - start) <= 20 for first in told) for start in warm)
    between = [segment for segment in planted.segments if segment.kind in BETWEEN]
    size = sum(segment.stop - segment.first for segment in between)
    return len(warm), len(told), right, size, sum(int(covered[one.first : one.stop].sum()) for one in between)
