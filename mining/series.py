"""Series of measured runs: those that are comparable, in order of time, judged metric by metric."""

import re
from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from statistics import median
from typing import Literal

from .fingerprint import fingerprint_id
from .gate import RULES, Judgement, Verdict, judgements
from .headline import HEADLINE, Metric
from .measured_run import MeasuredRun

__all__ = ["Accept", "Decision", "Entry", "Pin", "Series", "Track", "all_series"]

PARTS = frozenset({"exposed_communication_ns", "idle_ns", "uvm_stall_ns"})
"""Metrics that are parts of an iteration's time: of a small part, 3 % are nothing."""
PART_FLOOR = 0.01
"""The least change of such a part, relative to the median iteration."""
WORKLOAD = ("model", "config", "batch")
"""Aspects of a fingerprint that say what was run, beside the number of ranks; the others say where and how."""


@dataclass(frozen=True)
class Entry:
    """A run of the history. `unix_ns` is its place in time, by the trace's clock or else by its file's.

    `files` are the paths of its traces, each with when it was written last.
    """

    key: str
    run: MeasuredRun
    unix_ns: int
    timed_by: Literal["trace", "file"]
    files: Mapping[str, int] = field(default_factory=dict[str, int])


@dataclass(frozen=True)
class Accept:
    """A change of metrics of a series that is as it should be: `since` has when the first run began that counts."""

    series: str
    since: Mapping[str, int]
    reason: str
    unix_ns: int


@dataclass(frozen=True)
class Pin:
    """A baseline that does not move: the keys of its runs for some metrics of a series; none, where it moves again."""

    series: str
    runs: Mapping[str, tuple[str, ...]]
    reason: str
    unix_ns: int


Decision = Accept | Pin


@dataclass(frozen=True)
class Track:
    """A metric of a series: the runs that have it, and what was to say after each of them since the last decision.

    `told` belongs to the last of `entries`, to as many as it has. `verdict` is that of the last, unless `why` says what
    is in its way. `pinned` are the runs of a pinned baseline.
    """

    metric: Metric
    entries: tuple[Entry, ...]
    told: tuple[Judgement, ...]
    verdict: Verdict
    why: str | None
    pinned: tuple[Entry, ...]

    @property
    def values(self) -> list[float]:
        """The value of each of the entries."""
        return [self.value(entry) for entry in self.entries]

    @property
    def judgement(self) -> Judgement:
        """What was to say after the last run."""
        return self.told[-1]

    @property
    def judged(self) -> tuple[Entry, ...]:
        """The runs since the last decision."""
        return self.entries[-len(self.told) :]

    @property
    def seen(self) -> tuple[Entry, ...]:
        """The runs that show a change, or may show one; none where all is as it was."""
        return tuple(self.judged[place] for place in self.judgement.seen)

    @property
    def baseline(self) -> tuple[Entry, ...]:
        """The runs that set the limits."""
        return self.pinned or tuple(self.judged[place] for place in self.judgement.baseline)

    def value(self, entry: Entry) -> float:
        """The value of one of the entries."""
        value = entry.run.values[self.metric.name]
        assert value is not None  # only runs that have it are here
        return value


@dataclass(frozen=True)
class Series:
    """Runs of one fingerprint; `excluded` are those that do not count, `replaced_by` is a later series in its place."""

    id: str
    fingerprint: Mapping[str, str]
    entries: tuple[Entry, ...]
    excluded: tuple[Entry, ...]
    tracks: tuple[Track, ...]
    decisions: tuple[Decision, ...]
    replaced_by: str | None = None

    @property
    def last(self) -> Entry:
        """The latest of all its runs, whether it counts or not."""
        return max((*self.entries, *self.excluded), key=_order)

    def is_pinned(self, metric: str) -> bool:
        """Whether the latest decision about the metric of that name pins it, be there runs since or not."""
        about = [one for one in self.decisions if metric in (one.runs if isinstance(one, Pin) else one.since)]
        return bool(about) and isinstance(about[-1], Pin) and bool(about[-1].runs[metric])

    @property
    def worked(self) -> bool:
        """Whether its runs did anything on a device: what did not is no run to watch."""
        return bool(self.tracks) or not self.fingerprint["ranks"].startswith("0")


def all_series(entries: Iterable[Entry], decisions: Iterable[Decision] = ()) -> tuple[Series, ...]:
    """The series of a history, the one with the latest run first.

    A run whose traces are all among those of another is not counted: the other is the same run with more ranks. Nor is
    one of which a file was written over since, and read again under the same name: the newest counts.

    A series is replaced by one of the same workload of which all runs came later: the driver, say, was changed. Or of
    which as many came later as confirm a change: it was one odd night, say. One that was left with a regression is
    not replaced: another driver must not hide it.
    """
    grouped: dict[str, list[Entry]] = defaultdict(list)
    for entry in _whole(_newest(entries)):
        grouped[fingerprint_id(entry.run.fingerprint)].append(entry)
    decided: dict[str, list[Decision]] = defaultdict(list)
    for decision in sorted(decisions, key=lambda one: one.unix_ns):
        decided[decision.series].append(decision)
    found = [_series(id, sorted(own, key=_order), decided[id]) for id, own in grouped.items()]
    found.sort(key=lambda one: (-one.last.unix_ns, one.id))
    return tuple(replace(one, replaced_by=_successor(one, found)) for one in found)


def _order(entry: Entry) -> tuple[int, list[tuple[int, str]], str]:
    parts = re.findall(r"\d+|\D+", entry.run.name)  # of runs at one time number 2 comes before number 10
    return entry.unix_ns, [(int(part), "") if part.isdecimal() else (-1, part) for part in parts], entry.key


def _newest(entries: Iterable[Entry]) -> list[Entry]:
    """The entries but those with a file that a run of the same name has in a later state."""
    all_ = list(entries)
    newest: dict[tuple[str, str], int] = defaultdict(int)
    for entry in all_:
        for path, written_ns in entry.files.items():
            newest[entry.run.name, path] = max(newest[entry.run.name, path], written_ns)
    return [one for one in all_ if all(newest[one.run.name, path] == ns for path, ns in one.files.items())]


def _whole(entries: Sequence[Entry]) -> list[Entry]:
    """The entries but those of which the traces are some of another's."""
    holders: dict[str, list[frozenset[str]]] = defaultdict(list)
    for entry in entries:
        for trace in entry.run.traces:
            holders[trace].append(frozenset(entry.run.traces))
    return [
        entry
        for entry in entries
        if not any(frozenset(entry.run.traces) < other for other in holders[next(iter(entry.run.traces))])
    ]


def _successor(one: Series, others: Sequence[Series]) -> str | None:
    """The series with the latest run that is in the place of this one."""
    regressed = any(track.verdict == "regression" for track in one.tracks)
    for other in others:
        if other.id == one.id or _workload(other) != _workload(one):
            continue
        later = sum(entry.unix_ns > one.last.unix_ns for entry in other.entries)
        if later and not regressed and (later == len(other.entries) or later >= RULES.runs):
            return other.id
    return None


def _workload(series: Series) -> tuple[str, ...]:
    """What was run; "7 of 8" and "8 of 8" ranks are the same, with one of them lost."""
    return *(series.fingerprint[aspect] for aspect in WORKLOAD), series.fingerprint["ranks"].rpartition(" of ")[2]


def _series(id: str, entries: Sequence[Entry], decisions: Sequence[Decision]) -> Series:
    counted = [entry for entry in entries if entry.run.excluded is None]
    tracks = [_track(metric, counted, entries[-1], decisions) for metric in HEADLINE]
    return Series(
        id,
        entries[-1].run.fingerprint,
        tuple(counted),
        tuple(entry for entry in entries if entry.run.excluded is not None),
        tuple(track for track in tracks if track),
        tuple(decisions),
    )


def _track(metric: Metric, counted: Sequence[Entry], last: Entry, decisions: Sequence[Decision]) -> Track | None:
    """What became of a metric; None where no run has it."""
    own = [entry for entry in counted if entry.run.values.get(metric.name) is not None]
    if not own:
        return None
    start, pinned, gone = _decided(metric, own, decisions)
    why = _in_the_way(metric, own[-1], last)
    if gone and len(pinned) < RULES.least:
        why = why or f"{gone} of the runs that its baseline is pinned to are gone: pin it anew"
        pinned = []
    since = max(own.index(entry) for entry in pinned) + 1 if pinned else start
    if since == len(own):  # nothing came since: what is judged is the baseline itself
        since, pinned = start, []
    values = [entry.run.values[metric.name] or 0.0 for entry in own]
    base = [values[own.index(entry)] for entry in pinned]
    rules = replace(RULES, floor=_floor(metric, own[start:]))
    told = judgements(values[since:], better=metric.better, rules=rules, pinned=base or None)
    verdict = told[-1].verdict
    if why is not None and verdict != "regression":
        verdict = "inconclusive"
    return Track(metric, tuple(own), tuple(told), verdict, why, tuple(pinned))


def _decided(metric: Metric, own: Sequence[Entry], decisions: Sequence[Decision]) -> tuple[int, list[Entry], int]:
    """The place of the first run that counts, the runs of a pinned baseline, and how many of those are gone.

    The latest decisions hold.
    """
    start, pinned, gone = 0, list[Entry](), 0
    for decision in decisions:
        if isinstance(decision, Pin):
            if metric.name in decision.runs:
                keys = decision.runs[metric.name]
                pinned = [entry for entry in own if entry.key in keys]
                gone = len(keys) - len(pinned)
        elif metric.name in decision.since:
            since = decision.since[metric.name]
            first = next((at for at, entry in enumerate(own) if entry.unix_ns >= since), len(own))
            start, pinned, gone = min(max(start, first), len(own) - 1), [], 0
    return start, pinned, gone


def _floor(metric: Metric, entries: Sequence[Entry]) -> float:
    if metric.name not in PARTS:
        return 0.0
    whole = [value for entry in entries if (value := entry.run.values.get("iteration_p50_ns"))]
    return PART_FLOOR * median(whole) if whole else 0.0


def _in_the_way(metric: Metric, newest: Entry, last: Entry) -> str | None:
    """Why the last run of the series does not say anything of the metric."""
    if newest.key == last.key:
        return None
    if last.run.excluded is not None:
        return f"the last run, {last.run.name}, does not count: {last.run.excluded}"
    return f"{metric.title} was not collected in the last run, {last.run.name}"
