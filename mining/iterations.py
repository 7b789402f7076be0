"""Finds the iterations of a program in the order of its GPU operations: no markers, names or counts are needed."""

from dataclasses import dataclass, replace

import numpy as np
import numpy.typing as npt

from .cadence import Cadence, Symbols, cadences
from .cadence_level import (
    LONG,
    MANY,
    Level,
    choose_level,
    leaves_room,
    measure,
    name_levels,
    prefer,
    same_symbol,
    spans,
)
from .likeness import best_likeness
from .passes import one_pass
from .phase import Times
from .sorting import Ints
from .stages import turning_point

__all__ = ["STEADY", "WARM_UP", "Iterations", "Level", "iterations", "levels", "main_level"]

# A stretch before or after the iterations is looked at if it is this long, and counts if it is covered so far.
LEAST_STAGE = 0.2
LEAST_STAGE_COVERAGE = 0.6
# Below this density or regularity, iterations of varying length are looked for, with this tolerance.
REGULAR = 0.9
LOOSE = 0.15
PAIR_EXPLAINS = 0.8
# Iterations that explain less than this share may be those of one of several stages; together these explain more.
EXPLAINS = 0.9
MORE = 1.1
# Where batches are grouped, so many times the usual scatter lies between groups, of no more than MANY batches.
APART = 4
# One operation again and again is no iteration where it takes less than this share of the time from first to last.
LEAST_BUSY = 0.01
# An iteration that has less of this, relative to the median, in common with its neighbours deviates.
LIKE_THE_REST = 0.9


WARM_UP, STEADY, DEVIATING = "warm-up", "steady", "deviating"


@dataclass(frozen=True, eq=False)
class Iterations:
    """The whole occurrences of a level, one per index: inclusive ordinals of their operations, spans, and phases.

    A phase is "warm-up" for the leading occurrences that differ from the rest, "deviating" for later ones that do,
    "steady" for all others.
    """

    first: Ints
    last: Ints
    start_ns: Ints
    end_ns: Ints
    phase: npt.NDArray[np.str_]

    @property
    def from_ns(self) -> Ints:
        """Where the time of each begins: at the end of the iteration right before it, but not after its own end."""
        begins = self.start_ns.copy()
        adjacent = np.flatnonzero(self.first[1:] == self.last[:-1] + 1) + 1
        begins[adjacent] = np.minimum(self.end_ns[adjacent - 1], self.end_ns[adjacent])
        return begins


def levels(
    symbols: Symbols, start_ns: Ints, end_ns: Ints, launch_ns: Ints | None = None, *, marks_ns: Ints | None = None
) -> list[Level]:
    """Lists the cadences of one sequence, the shortest first; those of kind "iteration" are the answer.

    `symbols` are at least 0. The sequence is in the order of `launch_ns`, or of `start_ns` where launches are not
    known. `marks_ns`, on the clock of that order, only decide where in the cycle an iteration begins. There is more
    than one iteration level where a program goes through stages with iterations of their own, and none where only the
    layers of a single pass repeat, or a single operation that hardly takes time. Empty where nothing repeats.
    """
    found = _staged(_Stretch(symbols, Times(start_ns, end_ns, launch_ns), marks_ns), int(LEAST_STAGE * len(symbols)))
    chosen = [level for level in found if level.kind == "iteration"]
    if len(chosen) == 1 and one_pass(chosen[0], symbols):
        found = [replace(level, kind="micro") for level in found]
    return sorted(found, key=lambda level: (level.period, level.first))


def main_level(found: list[Level]) -> Level | None:
    """The level of kind "iteration" that covers most operations; None where there is none."""
    chosen = [level for level in found if level.kind == "iteration"]
    return max(chosen, key=lambda level: (level.coverage, level.count), default=None)


def iterations(level: Level, symbols: Symbols, start_ns: Ints, end_ns: Ints) -> Iterations:
    """The whole occurrences of a level in order."""
    starts, ends = spans(level.begin, level.stop, Times(start_ns, end_ns))
    like = best_likeness(symbols, level.begin, level.stop)
    size = level.stop - level.begin
    unlike = (np.abs(size - level.period) > level.slack) | (like < LIKE_THE_REST * np.median(like))
    lead = int(np.argmin(unlike)) if not unlike.all() else 0
    phase = np.where(unlike, DEVIATING, STEADY)
    phase[:lead] = WARM_UP
    return Iterations(level.begin, level.stop - 1, starts, ends, phase)


@dataclass(frozen=True, eq=False)
class _Stretch:
    """A stretch of a sequence: operations, their times and marks."""

    symbols: Symbols
    times: Times
    marks_ns: Ints | None

    @property
    def busy(self) -> float:
        """The time of the operations, summed, in times of the span from the first start to the last end."""
        starts, ends = self.times.start_ns, self.times.end_ns
        return float((ends - starts).sum()) / max(int(ends.max() - starts.min()), 1)

    def part(self, begin: int, stop: int) -> "_Stretch":
        """The stretch from one ordinal to another."""
        return _Stretch(self.symbols[begin:stop], self.times.part(begin, stop), self.marks_ns)

    def measured(self, found: list[Cadence]) -> list[Level]:
        """The levels of cadences that have at least two whole occurrences."""
        levels = [measure(cadence, self.symbols, self.times, self.marks_ns) for cadence in found]
        return [level for level in levels if level is not None]


def _staged(stretch: _Stretch, least: int) -> list[Level]:
    """The levels of a stretch, or of its stages, no shorter than `least`, where these explain more."""
    found, n = _mined(stretch), len(stretch.symbols)
    main = main_level(found)
    turn = None if main is not None and main.explained >= EXPLAINS else turning_point(stretch.symbols)
    if turn is not None and min(turn, n - turn) >= least:
        parts = [_stage(stretch, begin, stop, least) for begin, stop in ((0, turn), (turn, n))]
        best = [level for level in (*parts[0], *parts[1]) if level.kind == "iteration"]
        # Layers forward and backward look like two stages too.
        long = min((level.period for level in best), default=0) >= LONG
        told = sum(level.explained for level in best)
        if all(parts) and long and (main is None or told > MORE * main.explained):
            return parts[0] + parts[1]
    if main is not None:
        for begin, stop in ((0, main.first), (main.last + 1, n)):
            if stop - begin >= max(least, LEAST_STAGE * n):
                more = _stage(stretch, begin, stop, least)
                shortest = min((level.period for level in more if level.kind == "iteration"), default=0)
                found += more if 4 * shortest >= main.period else []
    return found


def _mined(stretch: _Stretch) -> list[Level]:
    """The levels of a stretch, with one of them named the iteration if any explains enough of it."""
    symbols = stretch.symbols
    if len(symbols) >= 3 and bool((symbols == symbols[0]).all()):
        level = same_symbol(len(symbols))
        return [level if stretch.busy >= LEAST_BUSY else replace(level, kind="micro")]
    found = stretch.measured(cadences(symbols))
    chosen = choose_level(found)
    if chosen is None:
        # The lengths of runs may tell what the order of runs does not.
        found, chosen = _improved(found, chosen, stretch.measured(cadences(symbols, fold=False)))
    irregular = chosen is None or min(chosen.density, chosen.regularity) < REGULAR
    if chosen is None or irregular or _may_group(chosen):
        loose = stretch.measured(cadences(symbols, tolerance=LOOSE))
        more, better = _improved(found, chosen, [level for level in loose if level.count > 2])
        # A regular level is as good as it can be: only a longer one may take its place.
        if chosen is None or irregular or (better is not None and better.period > chosen.period + chosen.slack):
            found, chosen = more, better
    if chosen is None or leaves_room(chosen):
        pairs = stretch.measured(cadences(symbols, pairs=True))
        two = [level for level in pairs if level.count == 2 and level.explained >= PAIR_EXPLAINS]
        found, chosen = _improved(found, chosen, two)
    return found if chosen is None else name_levels(found, chosen)


def _may_group(level: Level) -> bool:
    """Whether a level may be a batch, several of which make an iteration: something follows each group of them."""
    if level.period < LONG or level.count < 3:
        return False
    apart = np.abs(np.diff(level.begin) - level.period)
    return float((apart > APART * np.median(apart)).mean()) >= 1 / MANY


def _improved(found: list[Level], chosen: Level | None, more: list[Level]) -> tuple[list[Level], Level | None]:
    """Takes the best of further levels if it is to be preferred, or is the chosen one seen better."""
    better = choose_level(more)
    if better is None:
        return found, chosen
    same = [level for level in more if chosen is not None and abs(level.period - chosen.period) <= level.slack]
    if chosen is None or any(prefer(level, better) for level in (chosen, *same)):
        return [*found, better], better
    if abs(better.period - chosen.period) <= better.slack and better.explained > chosen.explained:
        return [*(level for level in found if level is not chosen), better], better
    return found, chosen


def _stage(stretch: _Stretch, begin: int, stop: int, least: int) -> list[Level]:
    """The levels of a long part of a stretch, if it holds iterations of its own."""
    found = _staged(stretch.part(begin, stop), least)
    best = main_level(found)
    if best is None or best.count < 3 or best.coverage < LEAST_STAGE_COVERAGE:
        return []
    return [level.moved(begin, (stop - begin) / len(stretch.symbols)) for level in found]
