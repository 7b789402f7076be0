"""Looks at the ranks of a run together: one trace at a time is read, and only sums and collectives of each are kept.

What is found is kept with the trace of each rank, in the tables `run_rank`, `run_iteration` and `run_collective`.
"""

import hashlib
import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

import numpy as np

from ..store.query import run as ask
from ..store.tables import TABLES
from ..store.trace import Trace
from .levels import MAIN, PARTS
from .mine import Keeper, mine, version
from .rank_clocks import Clock
from .rank_collectives import Calls, calls_of
from .rank_steps import Steps, steps
from .rank_waits import Together, together
from .ranks import Rank

if TYPE_CHECKING:
    import polars as pl
    import pyarrow as pa

__all__ = ["Member", "RankRun", "mine_run"]

VERSION = 1
NEEDS = ("iterations", "segments", "iteration_states")
KEPT = "run"
STATES = ("compute", "communication", "copy", "idle")

TIME_IN = """
    case
        when count(part.state) > 0 then coalesce(sum(part.time_ns) filter (part.state = '{0}'), 0)::bigint
    end as {0}_ns"""

ITERATIONS = f"""
with main as ({MAIN}),
part as ({PARTS})
select
    iteration.process,
    iteration.iteration,
    any_value(iteration.operations) as operations,
    any_value(iteration.from_ns) as from_ns,
    any_value(iteration.end_ns) as end_ns,
    any_value(iteration.time_ns) as time_ns,
    {", ".join(TIME_IN.format(state) for state in STATES)}
from iteration
semi join main on main.process = iteration.process and main.level = iteration.level
left join part on part.process = iteration.process and part.iteration = iteration.iteration
group by iteration.process, iteration.iteration
order by iteration.process, iteration.iteration
"""
SPANS = f"""
select
    process,
    sum(duration_ns)::bigint as span_ns,
    {", ".join(f"coalesce(sum(duration_ns) filter (state = '{state}'), 0)::bigint as {state}_ns" for state in STATES)}
from segment
group by process
order by process
"""


@dataclass(frozen=True)
class Member:
    """A trace of the run, and the rank that it is; None where that is not known, or the trace holds several."""

    trace: Trace
    rank: int | None = None
    rank_from: str | None = None


@dataclass(frozen=True, eq=False)
class _Part:
    """What is kept of a process while others are read."""

    member: int
    process: int | None
    rank: int | None
    rank_from: str | None
    span: Mapping[str, Any]
    iterations: "pl.DataFrame | None"
    calls: Calls
    label: str = ""


@dataclass(frozen=True)
class RankRun:
    """The ranks of a run after they were looked at together: `key` picks their rows in the tables of `traces`."""

    key: str
    traces: Sequence[Trace]

    def sql(self, query: str) -> "pl.DataFrame":
        """Runs one statement over the views of all its traces."""
        return ask({trace.id: trace.files for trace in self.traces}, query)


def mine_run(members: Sequence[Member], keeper: Keeper) -> RankRun:
    """Looks at the ranks together, unless that was done before; each trace is mined first, one after the other."""
    key = _key(members)
    if all(_has(keeper, member.trace, key) for member in members):
        return RankRun(key, [keeper.open(member.trace.id) for member in members])
    parts: list[_Part] = []
    for number, member in enumerate(members):
        trace = mine(member.trace, keeper, *NEEDS)
        parts += _parts(number, replace(member, trace=trace))
    parts = _labelled(parts, members)
    rows = _tables(key, parts)
    traces = [
        keeper.put_derived(member.trace, KEPT, VERSION, {name: tables[number] for name, tables in rows.items()})
        for number, member in enumerate(members)
    ]
    return RankRun(key, traces)


def _key(members: Sequence[Member]) -> str:
    """The same ranks, looked at by the same versions of what is needed, have the same key."""
    told = [(member.trace.id, member.rank, member.rank_from) for member in members]
    return hashlib.sha256(json.dumps([VERSION, *map(version, NEEDS), told]).encode()).hexdigest()


def _has(keeper: Keeper, trace: Trace, key: str) -> bool:
    if not keeper.has_derived(trace, KEPT, VERSION):
        return False
    there = keeper.open(trace.id)
    return there.has("run_rank") and key in there.arrow("run_rank", ["run"])["run"].to_pylist()


def _parts(number: int, member: Member) -> Iterator[_Part]:
    """The processes of a trace that have device work; one without a process where none has."""
    trace = member.trace
    spans = trace.sql(SPANS).rows(named=True) if trace.has("segment") else []
    named = _ranks(trace) if len(spans) > 1 else {}
    found = trace.sql(ITERATIONS) if trace.has("iteration") and trace.has("segment") else None
    calls = calls_of(trace)
    for span in spans:
        process = int(span["process"])
        own = named.get(process)
        rank, rank_from = (member.rank, member.rank_from) if own is None else (own, "file")
        iterations = None if found is None else found.filter(found["process"] == process)
        yield _Part(number, process, rank, rank_from, span, iterations, calls.get(process, _none(trace)))
    if not spans:
        yield _Part(number, None, member.rank, member.rank_from, {}, None, _none(trace))


def _ranks(trace: Trace) -> dict[int, int]:
    """The ranks that the processes of a trace state."""
    if not trace.has("process"):
        return {}
    columns = trace.arrow("process", ["process", "rank"])
    pairs = zip(columns["process"].to_pylist(), columns["rank"].to_pylist(), strict=True)
    return {process: rank for process, rank in pairs if rank is not None}


def _none(trace: Trace) -> Calls:
    empty = np.zeros(0, dtype=np.int64)
    return Calls((), empty, empty, empty, empty, trace.facts.base_unix_ns)


def _labelled(parts: Sequence[_Part], members: Sequence[Member]) -> list[_Part]:
    """The parts in the order of their ranks, each with a name of its own."""
    ordered = sorted(parts, key=lambda part: (part.rank is None, part.rank or 0, part.member, part.process or 0))
    names = ["?" if part.rank is None else str(part.rank) for part in ordered]
    ids = [members[part.member].trace.id[:8] for part in ordered]
    longer = [f"{name} ({id})" for name, id in zip(names, ids, strict=True)]
    longest = [f"{name[:-1]}, process {part.process})" for name, part in zip(longer, ordered, strict=True)]
    return [
        replace(part, label=next(one[at] for one in (names, longer, longest) if one.count(one[at]) == 1))
        for at, part in enumerate(ordered)
    ]


def _tables(key: str, parts: Sequence[_Part]) -> dict[str, list["pa.Table"]]:
    """The rows of each table, for each trace its own."""
    ranks = [_rank(part) for part in parts]
    beside = steps(ranks)
    met = together([part.calls for part in parts])
    known = [{"run": key, "place": at, "label": part.label, "process": part.process} for at, part in enumerate(parts)]
    made: dict[str, list[pa.Table]] = {
        "run_rank": [_rank_row(known, at, part, parts, met) for at, part in enumerate(parts)],
        "run_iteration": [_iteration_rows(known[at], at, part, beside) for at, part in enumerate(parts)],
        "run_collective": [_collective_rows(known[at], at, met) for at in range(len(parts))],
    }
    of = [part.member for part in parts]
    return {name: [_joined(rows, of, number) for number in range(max(of) + 1)] for name, rows in made.items()}


def _joined(rows: "Sequence[pa.Table]", of: Sequence[int], number: int) -> "pa.Table":
    import pyarrow as pa

    return pa.concat_tables([table for table, member in zip(rows, of, strict=True) if member == number])


def _rank(part: _Part) -> Rank:
    """Its iterations for matching; none where they have several devices, so that no state of one tells their own."""
    rows = part.iterations
    if rows is None or rows["idle_ns"].null_count() == len(rows):
        empty = np.zeros(0, dtype=np.int64)
        return Rank(part.process or 0, empty, empty, empty, empty)
    columns = ("iteration", "operations", "time_ns", "communication_ns")
    return Rank(part.process or 0, *(rows[name].fill_null(0).to_numpy().astype(np.int64) for name in columns))


def _rank_row(
    known: Sequence[Mapping[str, Any]], at: int, part: _Part, parts: Sequence[_Part], met: Together
) -> "pa.Table":
    import pyarrow as pa

    clock, used = met.clocks[at], met.used[at]
    row: dict[str, Any] = {
        **known[at],
        "rank": part.rank,
        "rank_from": part.rank_from,
        **{name: part.span.get(name) for name in ("span_ns", *(f"{state}_ns" for state in STATES))},
        "collectives": len(part.calls.key),
        "matched": int(met.meetings.there[at].sum()),
        "together": int(used.sum()),
        "wait_ns": int(met.wait_ns[at].sum()) if used.any() else None,
        **(_clock_row(clock, at, parts) if clock is not None else {}),
    }
    return pa.Table.from_pylist([row], schema=TABLES["run_rank"].schema)


def _clock_row(clock: Clock, at: int, parts: Sequence[_Part]) -> dict[str, Any]:
    reference = clock.base == at
    return {
        "clock": "reference" if reference else "aligned" if clock.needed else "as recorded",
        "clock_to": None if reference else parts[clock.base].label,
        "offset_ns": clock.offset_ns,
        "spread_ns": clock.spread_ns,
        "uncertainty_ns": clock.uncertainty_ns,
        "drift_ppm": clock.drift * 1e6,
    }


def _iteration_rows(known: Mapping[str, Any], at: int, part: _Part, beside: Steps) -> "pa.Table":
    import pyarrow as pa

    schema = TABLES["run_iteration"].schema
    if part.iterations is None or not len(part.iterations):
        return schema.empty_table()
    rows = part.iterations.rows(named=True)
    matched = dict[int, dict[str, Any]]()
    for step in np.flatnonzero((beside.at[at] >= 0) & ~np.isnan(beside.late_ns[at])).tolist():
        matched[int(beside.at[at, step])] = {
            "step": step,
            "late_ns": round(float(beside.late_ns[at, step])),
            "others_ns": round(float(beside.others_ns[at, step])),
            "mark": "late" if beside.late[at, step] else None,
        }
    return pa.Table.from_pylist(
        [{**row, **known, **matched.get(place, {})} for place, row in enumerate(rows)], schema=schema
    )


def _collective_rows(known: Mapping[str, Any], at: int, met: Together) -> "pa.Table":
    import pyarrow as pa

    schema = TABLES["run_collective"].schema
    own, used = met.calls[at], np.flatnonzero(met.used[at])
    place = met.meetings.at[at, used]
    keys = [met.meetings.keys[number] for number in met.meetings.key[used].tolist()]
    columns: dict[str, Any] = {
        "meeting": used,
        "kind": [key.kind for key in keys],
        "group": [key.group for key in keys],
        "start_ns": own.start_ns[place],
        "end_ns": own.end_ns[place],
        "wait_ns": met.wait_ns[at, used],
        "late_ns": met.late_ns[at, used],
    }
    columns |= {name: pa.array([value] * len(used), schema.field(name).type) for name, value in known.items()}
    return pa.table({name: pa.array(columns[name], schema.field(name).type) for name in schema.names}, schema=schema)
