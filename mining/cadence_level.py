"""A level: one cadence measured, and the choice of the level that is the iteration."""

from dataclasses import dataclass, replace

import numpy as np
import numpy.typing as npt

from .cadence import Cadence, Symbols
from .grid import grid
from .likeness import best_likeness
from .phase import Times, choose, pauses
from .sorting import Ints

__all__ = [
    "LONG",
    "MANY",
    "Level",
    "choose_level",
    "leaves_room",
    "measure",
    "name_levels",
    "prefer",
    "same_symbol",
    "spans",
]

# A level must explain this share of the operations, with this much significance, to be the iteration.
LEAST_EXPLAINED = 0.4
# Where occurrences follow each other without interruption, less is enough: the rest may be the start of the program.
LEAST_DENSE = 0.25
DENSE = 0.95
RHYTHM = 0.8
# Confidence falls where a level covers less than this.
FULL = 0.9
# Of the interruptions that follow a longer level this share is equally far apart.
STEADY = 0.6
LEAST_NATS = 20.0
# A longer level is preferred if it explains this many times as much.
MORE = 1.1
# Beyond this many repeats of a level this long, what interrupts them (evaluation, checkpoints) makes a cycle of them.
MANY = 8.5
LONG = 128
# An iteration of fewer operations may as well be a layer, or a call that a program makes again and again.
OPERATIONS = 16


@dataclass(frozen=True, eq=False)
class Level:
    """One cadence of a sequence: what repeats, how often, and how sure that is.

    `period` is the number of operations that most occurrences hold, `slack` how far the others may differ. `kind` is
    "iteration", "micro" (shorter) or "cycle" (longer, of several iterations). `first` and `last` are the ordinals
    covered, `begin` and `stop` the half-open ranges of the `count` whole occurrences. `coverage` is the share of all
    operations inside them, `similarity` what neighbours have in common, `regularity` the share of usual length.
    `confidence` says how sure it is that this level is an iteration, `phase_confidence` that it begins where the
    ranges do; `phase_evidence` says why there. `pause`: the longest waits fall between occurrences. `replayed`: one
    call of the host launches several, as the replay of a graph does.
    """

    period: int
    slack: int
    kind: str
    first: int
    last: int
    count: int
    coverage: float
    regularity: float
    similarity: float
    significance: float
    confidence: float
    phase_confidence: float
    phase_evidence: str
    pause: bool
    begin: Ints
    stop: Ints
    replayed: bool = False

    @property
    def explained(self) -> float:
        """The share of the operations that the level accounts for."""
        return self.coverage * self.similarity * float(np.sqrt(self.regularity))

    @property
    def density(self) -> float:
        """The share of the operations from the first to the last occurrence that lie inside occurrences."""
        return float((self.stop - self.begin).sum()) / (self.last + 1 - self.first)

    def moved(self, by: int, share: float) -> "Level":
        """The level of a stretch that begins at ordinal `by` and is that share of the sequence, seen from the whole."""
        begin, stop = self.begin + by, self.stop + by
        coverage = self.coverage * share
        return replace(self, first=self.first + by, last=self.last + by, coverage=coverage, begin=begin, stop=stop)


def measure(cadence: Cadence, symbols: Symbols, times: Times, marks_ns: Ints | None) -> Level | None:
    """Cuts the sequence at a cadence and measures the result; None where fewer than two whole occurrences are."""
    cut = choose(grid(cadence), symbols, times, marks_ns)
    begin, stop = cut.segments.first, cut.segments.stop
    if len(begin) < 2:
        return None
    size = stop - begin
    period = _usual(size, (begin > 0) & (stop < len(symbols)))
    regularity = float((np.abs(size - period) <= cadence.slack).mean())
    similarity = float((best_likeness(symbols, begin, stop) * size).sum() / size.sum())
    coverage = float(size.sum()) / len(symbols)
    repeats = 1 - 0.6 / len(begin) if len(begin) > 2 else 0.45
    believed = 1 - float(np.exp(-cadence.significance / LEAST_NATS))
    alike = max(similarity**2, 0.3)
    # What the ends of the recording may have cut off an iteration is no evidence against it.
    cut_off = min(int(begin[0]), period) + min(len(symbols) - int(stop[-1]), period)
    covered = min(1.0, (coverage + cut_off / len(symbols)) / FULL) ** 2
    level = Level(
        period=period,
        slack=cadence.slack,
        kind="micro",
        first=int(begin[0]),
        last=int(stop[-1]) - 1,
        count=len(begin),
        coverage=coverage,
        regularity=regularity,
        similarity=similarity,
        significance=cadence.significance,
        confidence=repeats * believed * alike * covered * (1 + regularity) / 2,
        phase_confidence=cut.confidence,
        phase_evidence=cut.evidence,
        pause=pauses(cut.segments, times),
        begin=begin,
        stop=stop,
        replayed=_replayed(begin, times),
    )
    return replace(level, confidence=level.confidence * level.density)


def same_symbol(operations: int) -> Level:
    """The level of a sequence of one symbol: each operation repeats the last, which says little about iterations."""
    begin = np.arange(operations, dtype=np.int64)
    return Level(
        period=1,
        slack=0,
        kind="iteration",
        first=0,
        last=len(begin) - 1,
        count=len(begin),
        coverage=1.0,
        regularity=1.0,
        similarity=1.0,
        significance=0.0,
        confidence=0.3,
        phase_confidence=1.0,
        phase_evidence="one symbol",
        pause=False,
        begin=begin,
        stop=begin + 1,
    )


def choose_level(found: list[Level]) -> Level | None:
    """The level that is the iteration.

    The shortest level that explains much is taken, and left for a longer one that explains more or that its
    interruptions follow. What one call launches several of is no iteration: the program takes no part in it.
    """
    found = [level for level in found if level.significance >= LEAST_NATS and not level.replayed]
    usable = [
        level for level in found if level.explained >= (LEAST_DENSE if level.density >= DENSE else LEAST_EXPLAINED)
    ]
    top = max((level.explained for level in usable), default=0.0)
    chosen: Level | None = None
    for level in sorted(usable, key=lambda level: level.period):
        if 2 * level.explained >= top and (chosen is None or prefer(chosen, level)):
            chosen = level
    if chosen is None:
        # Shapes that change each time leave little in common but the rhythm of the operations that do not change.
        rhythms = [level for level in found if level.coverage * level.regularity >= RHYTHM]
        chosen = max(rhythms, key=lambda level: level.significance, default=None)
    return chosen


def leaves_room(level: Level) -> bool:
    """Whether a longer level could be preferred to this one."""
    excess = _excess(level)
    return level.explained * MORE < 1 or bool((excess > 6 * np.median(np.abs(excess))).any())


def prefer(short: Level, long: Level) -> bool:
    """Whether a longer level rather than a shorter one is the iteration."""
    if long.period <= short.period:
        return False
    whole = short.explained >= 0.8 * long.explained and (short.pause or not long.pause)
    if whole and short.period >= LONG and long.period > MANY * short.period:
        return False
    if long.explained > MORE * short.explained:
        return True
    return long.explained >= 0.9 * short.explained and _follows(short, long)


def name_levels(found: list[Level], chosen: Level) -> list[Level]:
    """Names all levels by their place relative to the iteration; multiples of it that add nothing are left out."""
    kept = [level for level in found if level is chosen or _primitive(level, chosen)]
    kinds = ["iteration" if x is chosen else "micro" if x.period <= chosen.period else "cycle" for x in kept]
    named = [replace(level, kind=kind) for level, kind in zip(kept, kinds, strict=True)]
    return [
        replace(x, confidence=x.confidence * min(1, x.period / OPERATIONS)) if x.kind == "iteration" else x
        for x in named
    ]


def spans(begin: Ints, stop: Ints, times: Times) -> tuple[Ints, Ints]:
    """The earliest start and the latest end of the operations of each range."""
    edges = np.stack([begin, stop], axis=1).ravel()
    low = np.minimum.reduceat(np.r_[times.start_ns, 0], edges)[::2]
    return low, np.maximum.reduceat(np.r_[times.end_ns, 0], edges)[::2]


def _usual(size: Ints, inner: npt.NDArray[np.bool_]) -> int:
    """The size most occurrences have; where no size is that common, the median of those the ends do not touch."""
    values, counts = np.unique(size, return_counts=True)
    best = int(np.argmax(counts))
    if 2 * counts[best] > len(size):
        return int(values[best])
    return int(np.median(size[inner] if inner.any() else size))


def _replayed(begin: Ints, times: Times) -> bool:
    """Whether most occurrences were launched by the call that launched the operation before them."""
    begin = begin[begin > 0]
    if times.launch_ns is None or len(begin) == 0:
        return False
    return 2 * int((times.launch_ns[begin] == times.launch_ns[begin - 1]).sum()) > len(begin)


def _primitive(level: Level, chosen: Level) -> bool:
    """Whether a level is more than a multiple of the iteration: it must explain breaks or alternating contents."""
    times = (level.period + chosen.period // 2) // chosen.period
    if times < 2 or abs(level.period - times * chosen.period) > level.slack:
        return True
    return _follows(chosen, level) or level.similarity > chosen.similarity + 0.02


def _follows(short: Level, long: Level) -> bool:
    """Whether interruptions of the short level come once in each occurrence of the long one, at a steady distance."""
    rest = long.period % short.period
    least = rest / 2 if 0 < rest < short.period - short.slack else short.period / 2
    breaks = np.flatnonzero(_excess(short) >= least)
    breaks = breaks[(short.begin[breaks] >= long.first) & (short.stop[breaks] <= long.last + 1)]
    if 2 * len(breaks) < long.count or len(breaks) == 0:
        return False
    step = np.diff(breaks)
    return len(step) == 0 or float((step == np.median(step)).mean()) >= STEADY


def _excess(level: Level) -> Ints:
    """How many operations more than a period lie from each occurrence to the next; for the last, in it."""
    return np.r_[np.diff(level.begin), level.stop[-1:] - level.begin[-1:]] - level.period
