"""Tells the layers of a single pass from iterations: a recording of one inference repeats, but only within itself."""

import numpy as np

from .cadence import Symbols
from .cadence_level import Level

__all__ = ["one_pass"]

# A model has no more layers than this, and a layer no more operations; iterations of a training have more.
MOST_LAYERS, LONGEST_LAYER = 128, 128
# What comes before the first layer, or after the last, is no longer than so many layers.
HEAD = 1.5
STRANGE = 2
CONTIGUOUS = 0.95
CLEAR = 0.6


def one_pass(level: Level, symbols: Symbols) -> bool:
    """Whether a level is what a single pass repeats: layers, after a short head of other operations.

    Iterations that a recording was cut out of begin with a part of an iteration, and where a program does something
    between iterations waits or marks say where one begins: then it is no single pass.
    """
    head, tail = level.first, len(symbols) - 1 - level.last
    if level.phase_evidence == "marks" or level.phase_confidence >= CLEAR or level.density < CONTIGUOUS:
        return False
    if level.period > LONGEST_LAYER or level.count > MOST_LAYERS or max(head, tail) > HEAD * level.period:
        return False
    # Before the first occurrence a cut recording has what stands at the end of one.
    cycle = symbols[level.first : level.first + level.period]
    before = cycle[(np.arange(head) - head) % len(cycle)]
    return int((symbols[:head] != before).sum()) >= STRANGE
