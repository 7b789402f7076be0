"""Runs on two sides of a comparison: measured, each once, in the order of time."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

from ..mining.headline import HEADLINE
from ..mining.measured_run import MeasuredRun, measure, mined
from ..mining.run_differences import Work, work_of
from ..store.trace import Trace
from .rank_group import Group

__all__ = ["Compared", "Run", "Side", "compared", "files_of"]

WHOLE_OF = "iteration_p50_ns"
"""The metric that every run with steady iterations has."""


@dataclass(frozen=True)
class Run:
    """A run that was measured; `label` tells it from all others that are compared."""

    label: str
    group: Group
    measured: MeasuredRun
    traces: Sequence[Trace]
    work: Sequence[Work]


@dataclass(frozen=True)
class Side:
    """The runs of one side, in order of time where it is known of all."""

    name: str
    runs: Sequence[Run]
    twice: Sequence[str] = ()
    """Names of runs that were given more than once: the same run again is no further run."""

    @property
    def counted(self) -> Sequence[Run]:
        """The runs that count; all where none does, for what there is to show."""
        return [run for run in self.runs if run.measured.excluded is None] or self.runs

    @property
    def counts(self) -> bool:
        """Whether any run counts."""
        return any(run.measured.excluded is None for run in self.runs)

    @property
    def middle(self) -> Run | None:
        """The run whose median iteration is the median one; None where none has steady iterations."""
        there = [run for run in self.counted if run.measured.values[WHOLE_OF] is not None]
        ordered = sorted(there, key=lambda run: run.measured.values[WHOLE_OF] or 0)
        return ordered[(len(ordered) - 1) // 2] if ordered else None

    def values(self, metric: str) -> list[float]:
        """The values of a metric, of the runs that count and collected it."""
        found = (run.measured.values[metric] for run in self.counted)
        return [value for value in found if value is not None]


@dataclass(frozen=True)
class Compared:
    """Two sides. With `whole` at least one has no iterations, so that all their runs were measured as wholes."""

    base: Side
    candidate: Side
    whole: bool

    @property
    def sides(self) -> tuple[Side, Side]:
        """The base and the candidate."""
        return self.base, self.candidate

    @property
    def runs(self) -> list[Run]:
        """The runs of both sides."""
        return [*self.base.runs, *self.candidate.runs]

    @property
    def shared(self) -> list[Run]:
        """The runs of the candidate that count in the base too."""
        there = {tuple(sorted(run.measured.traces)) for run in self.base.counted}
        return [run for run in self.candidate.counted if tuple(sorted(run.measured.traces)) in there]

    def fingerprints(self) -> list[Mapping[str, str]]:
        """The fingerprints of the runs that count."""
        return [run.measured.fingerprint for side in self.sides for run in side.counted]

    def collected(self) -> list[str]:
        """The metrics that at least one run has."""
        return [one.name for one in HEADLINE if any(run.measured.values[one.name] is not None for run in self.runs)]


def compared(base: Sequence[Group], candidate: Sequence[Group]) -> Compared:
    """Measures the runs of both sides, one after the other."""
    whole = False
    found = [_measured(side, whole=False) for side in (base, candidate)]
    if not all(any(run.values[WHOLE_OF] is not None for _, run in side) for side in found):
        whole = True
        found = [_measured(side, whole=True) for side in (base, candidate)]
    sides = [_side(name, side, whole) for name, side in zip(("base", "candidate"), found, strict=True)]
    return Compared(sides[0], sides[1], whole)


def _measured(groups: Sequence[Group], *, whole: bool) -> list[tuple[Group, MeasuredRun]]:
    found = [(group, measure(group.name, group.members, group.archive, whole=whole)) for group in groups]
    return [(group, _complete(group, run)) for group, run in found]


def _complete(group: Group, run: MeasuredRun) -> MeasuredRun:
    """The run, which does not count where some of its files were not read."""
    if not group.unread:
        return run
    there = len(group.unread) + len(group.members)
    return replace(run, excluded=f"{len(group.unread)} of {there} files were not read")


def _side(name: str, found: Sequence[tuple[Group, MeasuredRun]], whole: bool) -> Side:
    once: dict[tuple[str, ...], tuple[Group, MeasuredRun]] = {}
    for group, run in found:
        once.setdefault(tuple(sorted(run.traces)), (group, run))
    twice = [run.name for _, run in found if all(run is not kept for _, kept in once.values())]
    ordered = list(once.values())
    if all(run.began_unix_ns is not None for _, run in ordered):
        ordered.sort(key=lambda pair: pair[1].began_unix_ns or 0)
    runs: list[Run] = []
    for at, (group, run) in enumerate(ordered, 1):
        traces = mined(group.members, group.archive)
        label = f"{name} {at}: {run.name}" if len(ordered) > 1 else f"{name}: {run.name}"
        runs.append(Run(label, group, run, traces, work_of(traces, whole=whole)))
    return Side(name, runs, twice)


def files_of(runs: Sequence[Run]) -> Mapping[str, Sequence[Trace]]:
    """The traces of each run, by its label."""
    return {run.label: run.traces for run in runs}
