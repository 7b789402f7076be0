"""What makes an iteration of some runs longer or shorter than one of others: parts that add up to the difference.

Time per iteration is averaged over the steady iterations of each process, then over the processes of a run, then over
the runs of a side, as fractions: so the parts add up exactly. Parts are the operations by name, idle time by cause, and
what is left: work that runs at the same time is in the sum of its operations more than once.
"""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

from ..store.query import run as ask
from ..store.trace import Trace
from .delta import apart, rounded
from .headline import steps
from .kernel_changes import kernel_changes
from .naming import called

__all__ = ["Causes", "Work", "causes", "gaps", "kernels", "of_ranks", "parts", "statement", "work_of"]

IDLE = "gaps"
OVERLAP = "overlap"
TOGETHER = "operations at the same time"

PIECES = """
piece as (
    select trace_id, process, 'total' as kind, 'iteration' as name, null::bigint as calls, sum(time_ns)::bigint as ns
    from steady
    group by trace_id, process
    union all
    select work.trace_id, work.process, 'operation', operation, count(*), coalesce(sum(duration_ns), 0)::bigint
    from ({work}) as work
    asof join steady
        on steady.trace_id = work.trace_id and steady.process = work.process and steady.from_ns <= work.start_ns
    where work.start_ns < steady.end_ns
    group by all
    union all
    select
        segment.trace_id,
        segment.process,
        'gaps',
        coalesce(cause, 'unknown'),
        null,
        sum(least(segment.end_ns, steady.end_ns) - segment.start_ns)::bigint
    from segment
    asof join steady
        on steady.trace_id = segment.trace_id
        and steady.process = segment.process
        and steady.from_ns <= segment.start_ns
    where state = 'idle' and segment.start_ns < steady.end_ns and segment.device is not distinct from steady.device
    group by all
)"""
"""SQL: what the steady iterations of each process are made of, summed up."""
BY_PROCESS = """
select piece.*, steps
from piece
join counted using (trace_id, process)
order by kind <> 'total', trace_id, process, kind, name
"""
SIDES = """
every as (
    select * from piece
    union all
    select trace_id, process, 'overlap', '{overlap}', null, sum(if(kind = 'total', ns, -ns))::bigint
    from piece
    group by trace_id, process
),
size as (
    select run, count(*) as processes from counted join named using (trace_id) group by run
),
rate as (
    select
        starts_with(run, 'base') as base,
        kind,
        name,
        calls / steps / processes as calls,
        ns / steps / processes as ns
    from every
    join counted using (trace_id, process)
    join named using (trace_id)
    join size using (run)
)
select
    kind,
    name,
    coalesce(sum(calls) filter (base), 0) / {base} as base_calls,
    coalesce(sum(calls) filter (not base), 0) / {other} as calls,
    coalesce(sum(ns) filter (base), 0) / {base} as base_ns,
    coalesce(sum(ns) filter (not base), 0) / {other} as ns,
    coalesce(sum(ns) filter (not base), 0) / {other} - coalesce(sum(ns) filter (base), 0) / {base} as delta_ns
from rate
group by kind, name
order by kind <> 'total', kind = 'overlap', abs(delta_ns) desc, kind = 'gaps', name
"""


@dataclass(frozen=True)
class Work:
    """The steady iterations of a process summed up: calls and time by operation, idle time by cause."""

    steps: int
    span_ns: int
    calls: dict[str, int]
    time_ns: dict[str, int]
    idle_ns: dict[str, int]


Run = Sequence[Work]
"""The processes of a run."""


@dataclass(frozen=True)
class _Mean:
    """An average iteration of a side, in fractions of ns."""

    span: Fraction
    calls: Mapping[str, Fraction]
    time: Mapping[str, Fraction]
    idle: Mapping[str, Fraction]

    @property
    def overlap(self) -> Fraction:
        """What operations and gaps leave of the time; negative where operations run at the same time."""
        return self.span - sum(self.time.values(), Fraction(0)) - sum(self.idle.values(), Fraction(0))


@dataclass(frozen=True)
class Causes:
    """The difference by kind of cause, in ns; the values add up to `total`."""

    total: int
    by_cause: Mapping[str, int]


def work_of(traces: Sequence[Trace], *, whole: bool = False) -> list[Work]:
    """The work of each process of a run that has iterations (with `whole` of each, as one iteration).

    In the order of the traces, which is that of their ranks.
    """
    files = {trace.id: trace.files for trace in traces}
    if not any(trace.has("segment") and (whole or trace.has("iteration")) for trace in traces):
        return []
    tables = f"with {steps({'run': list(files)}, whole=whole)},{PIECES.format(work=_work(traces))}\n"
    found: dict[tuple[str, int], Work] = {}
    for trace_id, process, kind, name, calls, ns, count in ask(files, tables + BY_PROCESS).rows():
        if kind == "total":
            found[trace_id, process] = Work(count, ns, {}, {}, {})
            continue
        work = found[trace_id, process]
        if kind == "operation":
            work.calls[name], work.time_ns[name] = calls, ns
        else:
            work.idle_ns[name] = ns
    place = {trace.id: at for at, trace in enumerate(traces)}
    return [found[key] for key in sorted(found, key=lambda key: (place[key[0]], key[1]))]


def statement(base: Sequence[Sequence[Trace]], other: Sequence[Sequence[Trace]], *, whole: bool = False) -> str:
    """SQL: the numbers that `parts` gives, but not rounded, from the traces of the runs of both sides."""
    runs = {
        f"{side}{at}": run for side, several in (("base", base), ("other", other)) for at, run in enumerate(several)
    }
    ids = {run: [trace.id for trace in traces] for run, traces in runs.items()}
    work = _work([trace for traces in runs.values() for trace in traces])
    sides = SIDES.format(overlap=TOGETHER, base=len(base), other=len(other))
    return f"with {steps(ids, whole=whole)},{PIECES.format(work=work)},{sides.rstrip()}"


def parts(base: Sequence[Run], other: Sequence[Run]) -> list[dict[str, Any]]:
    """The difference of an average iteration of two sides: a row `total`, then its parts, the largest first.

    The overlap is the last one.

    `kind` is total, operation, gaps or overlap. `delta_ns` of the parts add up to that of the total, which is rounded
    to whole ns; `calls_ns` is the part of it that comes of more or fewer calls at the base's speed, `speed_ns` that of
    slower or faster ones. Each side has a run, each run a process.
    """
    one, two = _mean(base), _mean(other)
    total = _row("total", "iteration", (one.span, two.span))
    found = [
        _row("operation", name, _both(one.time, two.time, name), _both(one.calls, two.calls, name))
        for name in sorted({*one.time, *two.time})
    ]
    found += [_row(IDLE, cause, _both(one.idle, two.idle, cause)) for cause in sorted({*one.idle, *two.idle})]
    found.append(_row(OVERLAP, TOGETHER, (one.overlap, two.overlap)))
    found.sort(key=lambda row: (row["kind"] == OVERLAP, -abs(row["delta_ns"]), row["kind"] == IDLE, row["name"]))
    return [*rounded([total]), *rounded(found)]


def causes(found: Iterable[Mapping[str, Any]]) -> Causes:
    """The parts added up by kind of cause: what appeared and vanished, calls and speed of the rest, gaps, overlap."""
    total = 0
    sums: dict[str, int] = dict.fromkeys(("appeared", "vanished", "calls", "speed", IDLE, OVERLAP), 0)
    for row in found:
        if row["kind"] == "total":
            total = row["delta_ns"]
        elif row["kind"] != "operation":
            sums[row["kind"]] += row["delta_ns"]
        elif row["change"] in sums:
            sums[row["change"]] += row["delta_ns"]
        else:
            sums["calls"] += row["calls_ns"]
            sums["speed"] += row["speed_ns"]
    return Causes(total, sums)


def of_ranks(base: Sequence[Run], other: Sequence[Run]) -> Mapping[tuple[str, str], Sequence[int]]:
    """The difference of each operation and cause of idle time on each rank, in ns, by `kind` and `name` of `parts`.

    Empty where runs have no ranks, or not all as many.
    """
    (count, *more) = {len(run) for run in (*base, *other)}
    if more or count < 2:
        return {}
    found: dict[tuple[str, str], list[int]] = {}
    for rank in range(count):
        for row in parts(*([[run[rank]] for run in side] for side in (base, other))):
            if row["kind"] in ("operation", IDLE):
                found.setdefault((row["kind"], row["name"]), [0] * count)[rank] = row["delta_ns"]
    return found


def kernels(base: Sequence[Run], other: Sequence[Run], *, share: float = 0.05) -> list[dict[str, Any]]:
    """Each operation's time per iteration on both sides, with how likely chance alone makes the runs differ as much.

    `changed` is true for those that differ by more than chance: of these a `share` is expected to be wrong (Benjamini
    and Hochberg 1995). Empty with fewer than three runs on a side. The largest difference first.
    """
    sides = [[_floats(_mean([run]).time) for run in side] for side in (base, other)]
    return kernel_changes(*sides, share=share)


def gaps(base: Sequence[Run], other: Sequence[Run], *, share: float = 0.05) -> list[dict[str, Any]]:
    """The same for idle time, by what the device waits for."""
    sides = [[_floats(_mean([run]).idle) for run in side] for side in (base, other)]
    return kernel_changes(*sides, share=share)


def _floats(times: Mapping[str, Fraction]) -> dict[str, float]:
    return {name: float(ns) for name, ns in times.items()}


def _work(traces: Sequence[Trace]) -> str:
    """SQL: the operations of traces with what they are called."""
    there = {table for trace in traces for table in trace.files}
    return " union all ".join(
        f"select trace_id, process, start_ns, duration_ns, {name} as operation from {table}"
        for table, name in called().items()
        if table in there
    )


def _mean(side: Sequence[Run]) -> _Mean:
    """The average over the runs of a side of the average over the processes of each."""
    weights = [(one, Fraction(1, len(side) * len(run) * one.steps)) for run in side for one in run]
    span = sum((one.span_ns * weight for one, weight in weights), Fraction(0))
    return _Mean(
        span,
        *(_added((getattr(one, name), weight) for one, weight in weights) for name in ("calls", "time_ns", "idle_ns")),
    )


def _added(values: Iterable[tuple[Mapping[str, int], Fraction]]) -> dict[str, Fraction]:
    sums: dict[str, Fraction] = {}
    for own, weight in values:
        for name, value in own.items():
            sums[name] = sums.get(name, Fraction(0)) + value * weight
    return sums


def _both(base: Mapping[str, Fraction], other: Mapping[str, Fraction], name: str) -> tuple[Fraction, Fraction]:
    return base.get(name, Fraction(0)), other.get(name, Fraction(0))


def _row(
    kind: str, name: str, times: tuple[Fraction, Fraction], calls: tuple[Fraction, Fraction] | None = None
) -> dict[str, Any]:
    """A row of `parts`, its differences as fractions."""
    row = {"kind": kind, "name": name, "base_ns": round(times[0]), "ns": round(times[1])}
    if calls is None:
        delta = times[1] - times[0]
        change = "same" if not delta else "longer" if delta > 0 else "shorter"
        return row | {
            "base_calls": None,
            "calls": None,
            "change": change,
            "delta_ns": delta,
            "calls_ns": None,
            "speed_ns": None,
        }
    return row | {"base_calls": float(calls[0]), "calls": float(calls[1]), **apart(calls, times)}
