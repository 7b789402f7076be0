"""Sequences of GPU operations with planted structure, and the truth about it.

A `Training` is nested: iterations of forward, backward and optimizer, layers inside them; around them evaluations and
checkpoints; in them noise, variants, outliers. A `Serving` is requests of as many decoding steps as it happens. `plant`
gives arrays, ten million operations in seconds; `planted_trace` writes trace files.
"""

from dataclasses import dataclass, replace

import numpy as np
import numpy.typing as npt

from .planted_edits import edited, swapped
from .planted_parts import BASES, CHECKPOINT, COLLECTIVE, NAMES, Loop
from .planted_program import Fusion, Outlier, Program, Serving, Training, program
from .planted_times import Timeline, timeline

__all__ = ["Fusion", "Loop", "Outlier", "Planted", "Segment", "Serving", "Training", "label", "plant", "plant_ranks"]

Ints = npt.NDArray[np.int64]
COMPUTE_STREAM, COLLECTIVE_STREAM = 7, 20
COLLECTIVE_NS, CHECKPOINT_NS = 180_000, 400_000
SLOW, WARM = 40, 1.5


@dataclass(frozen=True)
class Segment:
    """A stretch of the sequence: ordinals [first, stop); `number` counts those of its kind from 0.

    `kind` is "warm-up" or "iteration" (numbered together), "evaluation", "checkpoint", "prefill" or "token".
    """

    kind: str
    number: int
    first: int
    stop: int


@dataclass(frozen=True, eq=False)
class Planted:
    """One rank's operations in the order of their launches, and what was planted.

    All arrays have one entry per operation. `graph_node` is 0 where no graph was replayed. `starts` and `stops` are the
    half-open ranges of the iterations (of the tokens, in a serving), warm-up included. `consensus` is the first steady
    iteration as it was before noise, `loops` the repetitions in it. `requests` are where a serving's requests begin.
    """

    symbols: npt.NDArray[np.int32]
    stream: Ints
    launch_ns: Ints
    start_ns: Ints
    end_ns: Ints
    graph_node: Ints
    segments: list[Segment]
    consensus: npt.NDArray[np.int32]
    loops: list[Loop]
    outliers: list[Outlier]
    fusions: list[Fusion]
    requests: Ints

    @property
    def iterations(self) -> list[Segment]:
        """The segments that are iterations, warm-up included."""
        return [segment for segment in self.segments if segment.kind in ("warm-up", "iteration", "token")]

    @property
    def starts(self) -> Ints:
        """Where iterations begin."""
        return np.array([segment.first for segment in self.iterations], dtype=np.int64)

    @property
    def stops(self) -> Ints:
        """Where they stop."""
        return np.array([segment.stop for segment in self.iterations], dtype=np.int64)


def label(symbol: int) -> str:
    """The name of a symbol: its operation, and its shape's number behind @ if it is not the first."""
    shape, base = divmod(symbol, BASES)
    return f"{NAMES[base]}@{shape}" if shape else NAMES[base]


def plant(plan: Training | Serving) -> Planted:
    """The operations of a plan's first rank as if it ran alone."""
    return _rank(plan, program(plan), 0).planted(None)


def plant_ranks(plan: Training) -> list[Planted]:
    """The operations of all ranks: in every iteration the last all-reduce ends when the slowest has come to it."""
    common = program(plan)
    ranks = [_rank(plan, common, rank) for rank in range(plan.ranks)]
    slowest = np.max([rank.played(None).segment_ns for rank in ranks], axis=0)
    return [rank.planted(slowest) for rank in ranks]


@dataclass(frozen=True, eq=False)
class _Rank:
    """What one rank does, before its times are known."""

    program: Program
    symbols: Ints
    source: Ints
    first: Ints
    place: Ints
    duration_ns: Ints
    graph: bool

    def played(self, segment_ns: Ints | None) -> Timeline:
        """The times, its segments prolonged by waiting in all-reduces to those lengths."""
        reduces = self.symbols == COLLECTIVE
        joins = reduces & self.program.joins[self.source]
        replayed = (self.program.node[self.source] > 1) & self.graph
        alone = timeline(self.duration_ns, self.first, reduces, joins, replayed)
        if segment_ns is None:
            return alone
        join = np.flatnonzero(joins)
        at = np.searchsorted(self.first, join, side="right") - 1
        last = np.r_[at[1:] != at[:-1], np.ones(min(len(at), 1), dtype=np.bool_)]
        duration = self.duration_ns.copy()
        duration[join[last]] += (segment_ns - alone.segment_ns)[at[last]]
        return timeline(duration, self.first, reduces, joins, replayed)

    def planted(self, segment_ns: Ints | None) -> Planted:
        """The operations with their times and truth."""
        times, told = self.played(segment_ns), self.program
        stops = np.r_[self.first[1:], len(self.symbols)]
        ranges = zip(told.kinds, told.numbers, self.first.tolist(), stops.tolist(), strict=True)
        return Planted(
            symbols=self.symbols.astype(np.int32),
            stream=np.where(self.symbols == COLLECTIVE, COLLECTIVE_STREAM, COMPUTE_STREAM),
            launch_ns=times.launch_ns,
            start_ns=times.start_ns,
            end_ns=times.end_ns,
            graph_node=told.node[self.source] * self.graph,
            segments=[Segment(*row) for row in ranges],
            consensus=told.consensus.astype(np.int32),
            loops=told.loops,
            outliers=[
                replace(one, operations=tuple(self.place[list(one.operations)].tolist())) for one in told.outliers
            ],
            fusions=told.fusions,
            requests=self.first[told.requests],
        )


def _rank(plan: Training | Serving, told: Program, rank: int) -> _Rank:
    """Disturbs the program as the plan says, with durations around the usual one of each operation."""
    random = np.random.default_rng([plan.seed, rank])
    symbols, first = told.symbols, told.first
    source = place = np.arange(len(symbols))
    if plan.swaps:
        fixed = told.protected.copy()
        fixed[first] = True
        source = place = swapped(symbols, plan.swaps, random, fixed)
        symbols = symbols[source]
    if plan.noise:
        edits = edited(symbols, plan.noise, random, told.protected)
        symbols, source, first, place = edits.symbols, source[edits.source], edits.place[first], edits.place[place]
    usual = np.random.default_rng(plan.seed).lognormal(9.4, 0.7, BASES)
    usual[COLLECTIVE], usual[CHECKPOINT] = COLLECTIVE_NS, CHECKPOINT_NS
    spread = 1 + plan.spread * random.standard_normal(len(symbols), dtype=np.float32)
    factor = np.where(told.slow, SLOW, 1) * np.where(told.warm, WARM, 1)
    speed = plan.straggle if isinstance(plan, Training) and rank == plan.straggler else 1
    factor = factor[source] * np.where(symbols == COLLECTIVE, 1, speed)
    duration = (usual[symbols % BASES] * np.maximum(spread, 0.2) * factor).astype(np.int64)
    return _Rank(told, symbols, source, first, place, duration, plan.graph)
