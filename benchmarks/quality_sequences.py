"""Sequences: are the first two the backward and the forward layer? Differences: planted fusions and nothing else?"""

from collections.abc import Sequence as Several

import numpy as np
import polars as pl

from data.generator.planted import Planted, Training, plant
from tracelode.mining.differences import Both, Side, changed_words
from tracelode.mining.iterations import levels, main_level
from tracelode.mining.pattern import Pattern, patterns
from tracelode.mining.sequence import Sequence
from tracelode.mining.typical import typical

__all__ = ["rows"]

LAYERS = 12, 24, 96
NOISE = 0.0, 0.002, 0.01, 0.02, 0.05
ITERATIONS = 60


def rows(seeds: Several[int]) -> list[dict[str, object]]:
    """A row for each number of layers and noise: in how many of the seeds the answer is exactly the planted one."""
    return [_row(layers, noise, seeds) for layers in LAYERS for noise in NOISE]


def _row(layers: int, noise: float, seeds: Several[int]) -> dict[str, object]:
    top, fused, same, kept = 0, 0, 0, 0.0
    for seed in seeds:
        base = plant(Training(iterations=ITERATIONS, layers=layers, seed=seed, noise=noise))
        fusion = plant(Training(iterations=ITERATIONS, layers=layers, seed=seed + 100, noise=noise, fused=True))
        again = plant(Training(iterations=ITERATIONS, layers=layers, seed=seed + 200, noise=noise))
        found = _patterns(base)
        planted = [base.consensus[loop.offset :][: loop.period].tolist() for loop in base.loops[:2]]
        top += sorted(list(one.symbols) for one in found[:2]) == sorted(planted)
        backward = [one for one in found if list(one.symbols) == planted[1]]
        kept += len(backward[0].first) / (layers * ITERATIONS) if backward else 0
        words = sorted(list(word) for one in fusion.fusions for word in (one.before, one.after))
        fused += _changes(base, fusion) == words
        same += _changes(base, again) == []
    return {
        "layers": layers,
        "noise": noise,
        "first two are the layers": f"{top} of {len(seeds)}",
        "backward layers counted": kept / len(seeds),
        "fusions and nothing else": f"{fused} of {len(seeds)}",
        "nothing in equal runs": f"{same} of {len(seeds)}",
    }


def _patterns(run: Planted) -> list[Pattern]:
    """The patterns of a run, with the iterations that the miner finds."""
    level = main_level(levels(run.symbols, run.start_ns, run.end_ns, run.launch_ns))
    sequence = Sequence(0, 1, 0, None, run.symbols, run.start_ns, run.end_ns, run.launch_ns, [], pl.DataFrame())
    if level is None:
        return patterns(sequence)
    known = typical(run.symbols, level.begin, level.stop - 1)
    return patterns(sequence, iterations=level.count, typical=known, longest=level.period // 2)


def _changes(base: Planted, other: Planted) -> list[list[int]]:
    return sorted(word.tolist() for word in changed_words(Both.of(_side(base), _side(other))))


def _side(run: Planted) -> Side:
    """The whole run, its iterations as planted."""
    number = np.clip(np.searchsorted(run.starts, np.arange(len(run.symbols)), "right") - 1, 0, None)
    time = run.end_ns - run.start_ns
    return Side(run.symbols, time, number, np.zeros(1, np.int64), len(run.starts), int(time.sum()))
