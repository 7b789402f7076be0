"""Matches the iterations of ranks that work together, and says which of them the others wait for.

Ranks meet in collectives, so the same iteration takes about as long on each: it is by their durations that iterations
are matched, where a recording begins an iteration earlier on one rank than on another. Time outside communication is a
rank's own; whoever has more of it than the others is the one they wait for.
"""

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from ..store.trace import Trace
from .levels import MAIN, PARTS
from .slow import ROBUST
from .sorting import Ints

if TYPE_CHECKING:
    import polars as pl

__all__ = ["ITERATIONS", "Match", "Rank", "match", "ranks_of", "slower"]

# Iterations of two ranks are shifted against each other by no more than this, so that half of the shorter recording
# is matched.
MOST_SHIFT = 16
# A shift must make the disagreement this much smaller; an iteration of other length counts as this much of it.
CLEARLY, UNLIKE = 0.5, 0.005
# A rank is slower if its own time is longer by this share and by so many robust deviations.
SLOWER, DEVIATIONS = 0.03, 3

ITERATIONS = f"""
with main as ({MAIN}),
part as ({PARTS})
select
    part.process,
    part.iteration,
    any_value(iteration.operations) as operations,
    any_value(part.iteration_ns)::bigint as time_ns,
    coalesce(sum(part.time_ns) filter (state = 'communication'), 0)::bigint as communication_ns
from part
join main on main.process = part.process
join iteration
    on iteration.process = part.process and iteration.level = main.level and iteration.iteration = part.iteration
group by part.process, part.iteration
order by part.process, part.iteration
"""
"""SQL: the iterations of the main level of each process, with their time and how much of it is communication alone."""


@dataclass(frozen=True, eq=False)
class Rank:
    """The iterations of one process, in order: their numbers, operations, time and communication."""

    process: int
    iteration: Ints
    operations: Ints
    time_ns: Ints
    communication_ns: Ints

    @property
    def own_ns(self) -> Ints:
        """The time outside communication."""
        return self.time_ns - self.communication_ns

    def part(self, begin: int, stop: int) -> "Rank":
        """Some of its iterations."""
        some = slice(begin, stop)
        return Rank(
            self.process, self.iteration[some], self.operations[some], self.time_ns[some], self.communication_ns[some]
        )


@dataclass(frozen=True, eq=False)
class Match:
    """The iterations that two ranks went through together: equally many of each, one beside the other."""

    base: Rank
    other: Rank


def ranks_of(trace: Trace) -> list[Rank]:
    """The processes of a trace that have iterations; `iteration_states` must have been mined."""
    if not trace.has("iteration_state"):
        return []
    rows = trace.sql(ITERATIONS)
    return [_rank(part) for part in rows.partition_by("process", maintain_order=True)]


def _rank(rows: "pl.DataFrame") -> Rank:
    columns = ("iteration", "operations", "time_ns", "communication_ns")
    return Rank(int(rows["process"][0]), *(rows[name].to_numpy().astype(np.int64) for name in columns))


def match(base: Rank, other: Rank) -> Match | None:
    """Matches iterations one after the other, shifted so that times and operations agree best; None where none do."""
    n, m = len(base.iteration), len(other.iteration)
    if not n or not m:
        return None
    least = (min(n, m) + 1) // 2
    shifts = sorted(range(-min(MOST_SHIFT, n - least), min(MOST_SHIFT, m - least) + 1), key=abs)
    told = [_disagreement(base, other, shift) for shift in shifts]
    best = int(np.argmin(told))
    return _shifted(base, other, shifts[best] if told[best] < CLEARLY * told[0] else 0)


def slower(found: Match) -> tuple[float, bool]:
    """By how much the other rank's own time is longer than the base's, as a share of the base's, and if it stands out.

    The medians over the matched iterations are compared. A negative share says that the base is the slower one.
    """
    late = found.other.own_ns - found.base.own_ns
    middle = float(np.median(late))
    spread = ROBUST * float(np.median(np.abs(late - middle)))
    least = float(min(np.median(found.base.own_ns), np.median(found.other.own_ns)))
    usual = float(np.median(found.base.own_ns))
    stands_out = abs(middle) > max(SLOWER * least, DEVIATIONS * spread / np.sqrt(len(late)))
    return middle / max(usual, 1.0), bool(stands_out)


def _shifted(base: Rank, other: Rank, shift: int) -> Match:
    begin, ahead = max(0, -shift), max(0, shift)
    count = min(len(base.iteration) - begin, len(other.iteration) - ahead)
    return Match(base.part(begin, begin + count), other.part(ahead, ahead + count))


def _disagreement(base: Rank, other: Rank, shift: int) -> float:
    """How far times differ, on average in relative terms, and how many iterations differ in their operations."""
    pair = _shifted(base, other, shift)
    one, two = np.maximum(pair.base.time_ns, 1), np.maximum(pair.other.time_ns, 1)
    unlike = pair.base.operations != pair.other.operations
    return float(np.abs(np.log(two / one)).mean()) + UNLIKE * float(unlike.mean())
