"""Finds the iterations of a program in the order of its GPU operations: no markers, names or counts are needed."""

from dataclasses import dataclass

import numpy as np

from .cadence import Cadence, Symbols, cadences
from .cadence_level import Level, choose_level, leaves_room, measure, name_levels, prefer, same_symbol, spans
from .likeness import best_likeness
from .phase import Times
from .sorting import Ints

__all__ = ["Iteration", "Level", "iterations", "levels", "main_level"]

# A stretch before or after the iterations is looked at if it is this long, and counts if it is covered so far.
LEAST_STAGE = 0.2
LEAST_STAGE_COVERAGE = 0.6
# Below this density or regularity, iterations of varying length are looked for, with this tolerance.
REGULAR = 0.9
LOOSE = 0.15
PAIR_EXPLAINS = 0.8
# An iteration that has less of this, relative to the median, in common with its neighbours deviates.
LIKE_THE_REST = 0.9


@dataclass(frozen=True)
class Iteration:
    """One whole occurrence of a level: inclusive ordinals of its operations, its span on the device and its phase.

    `phase` is "warm-up" for the leading occurrences that differ from the rest, "deviating" for later ones that do,
    "steady" for all others.
    """

    first: int
    last: int
    start_ns: int
    end_ns: int
    phase: str


def levels(
    symbols: Symbols, start_ns: Ints, end_ns: Ints, launch_ns: Ints | None = None, *, marks_ns: Ints | None = None
) -> list[Level]:
    """Lists the cadences of one sequence, the shortest first; those of kind "iteration" are the answer.

    `symbols` are at least 0. The sequence is in the order of `launch_ns`, or of `start_ns` where launches are not
    known. `marks_ns`, on the clock of that order, only decide where in the cycle an iteration begins. There is more
    than one iteration level where a program goes through stages with iterations of their own. Empty where nothing
    repeats.
    """
    stretch = _Stretch(symbols, Times(start_ns, end_ns, launch_ns), marks_ns)
    found = _mined(stretch)
    main = main_level(found)
    if main is not None:
        for begin, stop in ((0, main.first), (main.last + 1, len(symbols))):
            if stop - begin >= LEAST_STAGE * len(symbols):
                found += _stage(stretch, begin, stop, main)
    return sorted(found, key=lambda level: (level.period, level.first))


def main_level(found: list[Level]) -> Level | None:
    """The level of kind "iteration" that covers most operations; None where there is none."""
    chosen = [level for level in found if level.kind == "iteration"]
    return max(chosen, key=lambda level: (level.coverage, level.count), default=None)


def iterations(level: Level, symbols: Symbols, start_ns: Ints, end_ns: Ints) -> list[Iteration]:
    """Lists the whole occurrences of a level in order."""
    starts, ends = spans(level.begin, level.stop, Times(start_ns, end_ns))
    like = best_likeness(symbols, level.begin, level.stop)
    size = level.stop - level.begin
    unlike = (np.abs(size - level.period) > level.slack) | (like < LIKE_THE_REST * np.median(like))
    lead = int(np.argmin(unlike)) if not unlike.all() else 0
    phase = ["warm-up" if at < lead else "deviating" if odd else "steady" for at, odd in enumerate(unlike.tolist())]
    columns = (level.begin.tolist(), (level.stop - 1).tolist(), starts.tolist(), ends.tolist(), phase)
    return [Iteration(*row) for row in zip(*columns, strict=True)]


@dataclass(frozen=True, eq=False)
class _Stretch:
    """A stretch of a sequence: operations, their times and marks."""

    symbols: Symbols
    times: Times
    marks_ns: Ints | None

    def part(self, begin: int, stop: int) -> "_Stretch":
        """The stretch from one ordinal to another."""
        return _Stretch(self.symbols[begin:stop], self.times.part(begin, stop), self.marks_ns)

    def measured(self, found: list[Cadence]) -> list[Level]:
        """The levels of cadences that have at least two whole occurrences."""
        levels = [measure(cadence, self.symbols, self.times, self.marks_ns) for cadence in found]
        return [level for level in levels if level is not None]


def _mined(stretch: _Stretch) -> list[Level]:
    """The levels of a stretch, with one of them named the iteration if any explains enough of it."""
    symbols = stretch.symbols
    if len(symbols) >= 3 and bool((symbols == symbols[0]).all()):
        return [same_symbol(stretch.times)]
    found = stretch.measured(cadences(symbols))
    chosen = choose_level(found)
    if chosen is None:
        # The lengths of runs may tell what the order of runs does not.
        found, chosen = _improved(found, chosen, stretch.measured(cadences(symbols, fold=False)))
    if chosen is None or min(chosen.density, chosen.regularity) < REGULAR:
        loose = stretch.measured(cadences(symbols, tolerance=LOOSE))
        found, chosen = _improved(found, chosen, [level for level in loose if level.count > 2])
    if chosen is None or leaves_room(chosen):
        pairs = stretch.measured(cadences(symbols, pairs=True))
        two = [level for level in pairs if level.count == 2 and level.explained >= PAIR_EXPLAINS]
        found, chosen = _improved(found, chosen, two)
    return found if chosen is None else name_levels(found, chosen)


def _improved(found: list[Level], chosen: Level | None, more: list[Level]) -> tuple[list[Level], Level | None]:
    """Takes the best of further levels if it is to be preferred, or is the chosen one seen better."""
    better = choose_level(more)
    if better is None:
        return found, chosen
    if chosen is None or prefer(chosen, better):
        return [*found, better], better
    if abs(better.period - chosen.period) <= better.slack and better.explained > chosen.explained:
        return [*(level for level in found if level is not chosen), better], better
    return found, chosen


def _stage(stretch: _Stretch, begin: int, stop: int, main: Level) -> list[Level]:
    """The levels of a long stretch outside the main iterations, if it holds comparable iterations of its own."""
    found = _mined(stretch.part(begin, stop))
    best = main_level(found)
    if best is None or best.count < 3 or best.coverage < LEAST_STAGE_COVERAGE or 4 * best.period < main.period:
        return []
    return [level.moved(begin, (stop - begin) / len(stretch.symbols)) for level in found]
