"""A sequence as a program: its iterations and the stretches around them, each with the type of its content."""

from collections.abc import Iterator
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path

import numpy as np
import numpy.typing as npt

from ..store.query import run
from ..store.trace import Trace
from .columns import numbers, state_of
from .contents import Symbols, Texts
from .sorting import Ints
from .variants import types_of

__all__ = ["Content", "Program", "programs"]

STRETCH = -1


@dataclass(frozen=True, eq=False)
class Content:
    """A type of content: what iterations of a level agree on, or stretches around iterations (level -1)."""

    number: int
    level: int
    symbols: Symbols


@dataclass(frozen=True, eq=False)
class Program:
    """A mined sequence, cut into units: iterations and what lies before, between and after them.

    `symbols`, `start_ns` and `end_ns` have one entry per operation, the other arrays one per unit; the units tile the
    operations. `level` and `iteration` are -1 for a stretch around iterations. The time of a unit begins at `from_ns`.
    `distance` counts the edits that make it from the content of its type. Stretches count as `steady`.
    """

    sequence: int
    process: int
    symbols: Symbols
    start_ns: Ints
    end_ns: Ints
    level: Ints
    iteration: Ints
    first: Ints
    stop: Ints
    from_ns: Ints
    steady: npt.NDArray[np.bool_]
    type: Ints
    distance: Ints
    contents: list[Content]

    @property
    def units(self) -> Texts:
        """The units as texts."""
        return Texts(self.symbols, self.first, self.stop)


ITERATIONS = """
select
    iteration.sequence,
    iteration.process,
    iteration.level,
    iteration,
    iteration.first,
    iteration.last + 1 as stop,
    from_ns,
    (phase = 'steady')::bigint as steady
from iteration
join level on level.level = iteration.level
where level.kind = 'iteration'
order by iteration.sequence, level.count * level.period desc, level.level, iteration
"""
"""SQL: the iterations of each sequence, those of the level that covers most operations first, as in `levels.MAIN`."""


def programs(trace: Trace) -> list[Program]:
    """The programs of a trace's sequences that have iterations, in order; types are numbered through all of them.

    Where two iteration levels of a sequence overlap, the one that covers fewer operations is left out. The arrays are
    not to be changed.
    """
    files = tuple((name, trace.files[name]) for name in ("iteration", "level", "member"))
    return list(_programs(trace.id, files, tuple(state_of(file) for _, file in files)))


@lru_cache(maxsize=1)  # one analysis after the other asks for those of the same trace
def _programs(
    trace_id: str, files: tuple[tuple[str, Path], ...], state: tuple[tuple[int, ...], ...]
) -> tuple[Program, ...]:
    """The programs from those files in that state."""
    tables = dict(files)
    rows = run({trace_id: tables}, ITERATIONS)
    columns = numbers(tables["member"], ("sequence", "symbol", "start_ns", "end_ns"))
    found: list[Program] = []
    types = 0
    for part in rows.partition_by("sequence", maintain_order=True):
        number = int(part["sequence"][0])
        begin, stop = np.searchsorted(columns["sequence"], [number, number + 1])
        start_ns, end_ns = (columns[name][begin:stop] for name in ("start_ns", "end_ns"))
        symbols = columns["symbol"][begin:stop].astype(np.int32)
        kept = _apart(
            [piece.drop("sequence", "process").to_numpy() for piece in part.partition_by("level", maintain_order=True)]
        )
        found.append(_program(number, int(part["process"][0]), symbols, start_ns, end_ns, kept, types))
        types += len(found[-1].contents)
    return tuple(found)


def _apart(levels: list[Ints]) -> Ints:
    """The rows of levels that overlap none before them, as `_program` has them; in order."""
    kept: list[Ints] = []
    for rows in levels:
        if all(rows[-1, 3] <= other[0, 2] or other[-1, 3] <= rows[0, 2] for other in kept):
            kept.append(rows)
    together = np.concatenate(kept)
    return together[np.argsort(together[:, 2], kind="stable")]


def _program(
    number: int, process: int, symbols: Symbols, start_ns: Ints, end_ns: Ints, rows: Ints, types: int
) -> Program:
    units = _tiled(rows, start_ns, end_ns)
    level, first, stop = units[:, 0], units[:, 2], units[:, 3]
    kind, distance = np.zeros(len(units), np.int64), np.zeros(len(units), np.int64)
    contents: list[Content] = []
    for one in _levels(level):
        index = np.flatnonzero(level == one)
        found = types_of(Texts(symbols, first[index], stop[index]))
        kind[index], distance[index] = types + len(contents) + found.of, found.distance
        contents += [Content(types + len(contents) + at, one, text) for at, text in enumerate(found.consensus)]
    steady = units[:, 5] != 0
    return Program(
        number, process, symbols, start_ns, end_ns, level, units[:, 1], first, stop, units[:, 4], steady, kind,
        distance, contents,
    )  # fmt: skip


def _levels(level: Ints) -> Iterator[int]:
    """The levels in order of their first unit, the stretches last."""
    yield from (one for one in dict.fromkeys(level.tolist()) if one != STRETCH)
    if STRETCH in level:
        yield STRETCH


def _tiled(rows: Ints, start_ns: Ints, end_ns: Ints) -> Ints:
    """The rows with one more for each stretch of operations that they leave."""
    first, stop = np.r_[0, rows[:, 3]], np.r_[rows[:, 2], len(start_ns)]
    holes = np.flatnonzero(first < stop)
    if not len(holes):
        return rows
    first, stop = first[holes], stop[holes]
    # A stretch has the time since what came before it.
    before = np.maximum.accumulate(np.r_[np.iinfo(np.int64).min, end_ns])[first]
    edges = np.c_[first, stop].ravel()
    least = np.minimum.reduceat(np.r_[start_ns, np.iinfo(np.int64).max], edges)[::2]
    most = np.maximum.reduceat(np.r_[end_ns, np.iinfo(np.int64).min], edges)[::2]
    begin = np.where(first > 0, np.minimum(before, most), least)
    none = np.full(len(holes), STRETCH)
    together = np.concatenate([rows, np.c_[none, none, first, stop, begin, -none]])
    return together[np.argsort(together[:, 2], kind="stable")]
