"""How often the gate is wrong: runs that never happened are judged, as `watch check` judges those that did."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from tracelode.mining.gate import RULES, Judgement, judgements

__all__ = ["EFFECTS", "WORLDS", "Cell", "simulated", "table"]

TRIALS = 4_000
SEED = 20261130
EFFECTS = (0.0, 0.03, 0.05, 0.10)

Noise = Callable[[Any, tuple[int, int]], Any]
WORLDS: dict[str, Noise] = {
    "normal": lambda random, shape: random.normal(0, 0.01, shape),
    "heavy tails": lambda random, shape: random.standard_t(3, shape) * 0.01 / 3**0.5,
    "outliers": lambda random, shape: (
        random.normal(0, 0.01, shape) + (random.random(shape) < 0.03) * random.uniform(0.1, 0.5, shape)
    ),
    "two kinds of nodes": lambda random, shape: random.normal(0, 0.01, shape) + 0.03 * (random.random(shape) < 0.2),
}
"""Runs that vary by 1 %: normally, with heavy tails, with 3 % bad days, with one node in five 3 % slower."""


@dataclass(frozen=True)
class Cell:
    """The share of checks that fail, and the runs that a check takes."""

    failed: float
    runs: float


def simulated(world: str, effect: float, *, trials: int = TRIALS, before: int = RULES.window) -> Cell:
    """A check after so many runs `before` the change: while it is inconclusive, one or two further runs are made."""
    random = np.random.default_rng(SEED)
    values = 1 + WORLDS[world](random, (trials, before + RULES.runs))
    values[:, before:] *= 1 + effect
    failed = taken = 0
    for series in values.tolist():
        told = judgements(series)[before:]
        at = _decided(told)
        taken += at + 1
        failed += told[at].verdict == "regression"
    return Cell(failed / trials, taken / trials)


def _decided(told: Sequence[Judgement]) -> int:
    return next((at for at, one in enumerate(told) if one.verdict != "inconclusive"), len(told) - 1)


def table() -> tuple[str, dict[tuple[str, float], Cell]]:
    """The table of docs/watch.md, and its numbers."""
    cells = {(world, effect): simulated(world, effect) for world in WORLDS for effect in EFFECTS}
    lines = [
        "| how runs vary | no change | +3 % | +5 % | +10 % | runs a check without a change |",
        "|---|--:|--:|--:|--:|--:|",
    ]
    for world in WORLDS:
        row = [cells[world, effect] for effect in EFFECTS]
        shares = " | ".join(
            f"{100 * cell.failed:.{2 if not effect else 1}f} %" for cell, effect in zip(row, EFFECTS, strict=True)
        )
        lines.append(f"| {world} | {shares} | {row[0].runs:.2f} |")
    return "\n".join(lines) + "\n", cells
