"""Iterations planted in synthetic sequences"""

import time
from collections.abc import Iterable, Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from benchmarks.scores import rotated_f1, strict_f1
from data.generator.planted import Planted, Serving, Training, plant
from tracelode.mining.iterations import Level, levels

__all__ = ["CASES", "row", "rows"]

EVERYTHING: dict[str, Any] = {
    "noise": 0.01, "swaps": 0.05, "variants": 3, "accumulation": 4, "phases": 2, "warm_up": 3, "evaluate_every": 20,
    "checkpoint_every": 50, "slow": 3, "odd": 3,
}  # fmt: skip
CASES: dict[str, Training | Serving] = {
    "clean": Training(),
    "noise 0.2 %": Training(noise=0.002),
    "noise 1 %": Training(noise=0.01),
    "noise 3 %": Training(noise=0.03),
    "noise 5 %": Training(noise=0.05),
    "12 layers, noise 1 %": Training(layers=12, noise=0.01),
    "96 layers, noise 1 %": Training(layers=96, noise=0.01, iterations=50),
    "4 variants": Training(variants=4),
    "4 variants, noise 1 %": Training(variants=4, noise=0.01),
    "swaps 5 %": Training(swaps=0.05),
    "accumulation 4": Training(accumulation=4, iterations=50),
    "2 phases": Training(phases=2),
    "warm-up 3": Training(warm_up=3),
    "evaluation every 20": Training(evaluate_every=20),
    "checkpoint every 20": Training(checkpoint_every=20),
    "5 slow, 5 odd": Training(slow=5, odd=5),
    "graph replay": Training(graph=True),
    "all on": Training(**EVERYTHING),
    "all on, 1 phase": Training(**(EVERYTHING | {"phases": 1})),
    "all on, noise 5 %": Training(**(EVERYTHING | {"noise": 0.05})),
    "decoding": Serving(),
    "decoding by graph": Serving(graph=True),
}
"""The plans, by what they have on; their seeds are those of the run."""


def rows(seeds: Sequence[int]) -> list[dict[str, object]]:
    """A row a case: the least over the seeds of F1, the greatest deviation of period and count."""
    return [row(name, [replace(plan, seed=seed) for seed in seeds]) for name, plan in CASES.items()]


def row(name: str, plans: Sequence[Training | Serving]) -> dict[str, object]:
    """The row of plans that differ in their seeds. `rotated` and `strict` are F1; `off` counts operations."""
    measures = [_measure(plan) for plan in plans]
    operations = sum(size for *_, size, _ in measures)
    return {
        "case": name,
        "rotated": min(rotated for rotated, *_ in measures),
        "strict": min(strict for _, strict, *_ in measures),
        "period off": max(off for _, _, off, *_ in measures),
        "planted": _each(planted for *_, planted, _, _, _ in measures),
        "found": _each(count for *_, count, _, _ in measures),
        "operations": operations // len(plans),
        "µs each": round(sum(seconds for *_, seconds in measures) / operations * 1e6, 2),
    }


def _each(counts: Iterable[int]) -> str:
    """The count of each seed; one where all are equal."""
    counts = list(counts)
    return " ".join(map(str, counts if len(set(counts)) > 1 else counts[:1]))


def _measure(plan: Training | Serving) -> tuple[float, float, int, int, int, int, float]:
    planted = plant(plan)
    begin = time.process_time()
    found = levels(planted.symbols, planted.start_ns, planted.end_ns, planted.launch_ns)
    seconds = time.process_time() - begin
    chosen = [level for level in found if level.kind == "iteration"]
    off = max((_off(level, planted) for level in chosen), default=-1)
    rotated, strict = rotated_f1(chosen, planted.starts), strict_f1(chosen, planted.starts)
    count = sum(level.count for level in chosen)
    return rotated, strict, off, len(planted.starts), count, len(planted.symbols), seconds


def _off(level: Level, planted: Planted) -> int:
    """By how much the period misses the median length of the planted iterations that the level lies among."""
    inside = (planted.starts >= level.first - level.period) & (planted.stops <= level.last + level.period)
    return abs(level.period - int(np.median((planted.stops - planted.starts)[inside]))) if inside.any() else -1
