"""A run, measured: its headline metrics, what it ran on, and whether it counts."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from ..store.health import BUSY, COUNTS, UNRELIABLE
from ..store.query import run as ask
from ..store.trace import Trace
from .fingerprint import Worked, fingerprint_of, worked
from .headline import HEADLINE, statement, steps
from .mine import mine
from .rank_run import Member
from .words import plural

if TYPE_CHECKING:
    from ..store.archive import Archive

__all__ = ["FEWEST", "MOST_KERNELS", "NEEDS", "VERSION", "MeasuredRun", "measure", "mined"]

VERSION = 3
"""Rises when the same traces give other values, another fingerprint, or count otherwise."""
NEEDS = ("segments", "iterations", "iteration_states", "hierarchy", "memory_use", "uvm_events")
"""What is mined of a trace to measure it."""
FEWEST = 5
"""Steady iterations that a process must have for its run to count."""
MOST_KERNELS = 300

FEW = "select count(distinct trace_id), coalesce(min(steps), 0) from counted"
"""SQL: the traces that have steady iterations, and the fewest of a process."""
KERNELS = """
select kernel.name, sum(kernel.duration_ns) / (select sum(steps) from counted) as ns
from kernel
asof join steady
    on steady.trace_id = kernel.trace_id and steady.process = kernel.process and steady.from_ns <= kernel.start_ns
where kernel.start_ns < steady.end_ns and kernel.name is not null
group by kernel.name
having sum(kernel.duration_ns) > 0
order by ns desc, kernel.name
"""


@dataclass(frozen=True)
class MeasuredRun:
    """A run and its values: None where one was not collected.

    `traces` are the ids of its traces, `began_unix_ns` when the first of its work began (None: no trace tells).
    `fingerprint` has a value for each aspect of `fingerprint.ASPECTS`. `kernels` has the time per iteration and process
    of the kernels that take most, in ns. `excluded` says why the run counts in no series, None where it does.
    """

    name: str
    traces: tuple[str, ...]
    began_unix_ns: int | None
    fingerprint: Mapping[str, str]
    values: Mapping[str, float | None]
    kernels: Mapping[str, float]
    excluded: str | None


def mined(members: Sequence[Member], archive: "Archive") -> list[Trace]:
    """The traces of a run with all that measuring it reads, one mined after the other."""
    return [mine(member.trace, archive, *NEEDS) for member in members]


def measure(name: str, members: Sequence[Member], archive: "Archive", *, whole: bool = False) -> MeasuredRun:
    """Measures a run. With `whole` each of its processes is one iteration, so that it counts in no series."""
    traces = mined(members, archive)
    files = {trace.id: trace.files for trace in traces}
    devices = worked(traces)
    values: dict[str, float | None] = dict.fromkeys(one.name for one in HEADLINE)
    kernels: dict[str, float] = {}
    fewest = without = 0
    if devices and (whole or any(trace.has("iteration") for trace in traces)):
        tables = f"with {steps({name: list(files)}, whole=whole)}\n"
        found = {of: value for of, _, value in ask(files, statement({name: traces}, whole=whole)).rows()}
        values |= found
        there, fewest = ask(files, tables + FEW).row(0)
        without = len({one.trace_id for one in devices}) - there
        if any(trace.has("kernel") for trace in traces):
            kernels = dict(ask(files, tables + KERNELS.strip() + f"\nlimit {MOST_KERNELS}").rows())
    return MeasuredRun(
        name,
        tuple(files),
        _began(traces, devices),
        fingerprint_of(traces, devices),
        values,
        kernels,
        _lost(traces) or ("no iterations: measured as a whole" if whole else _few(fewest, without)),
    )


def _began(traces: Sequence[Trace], devices: Sequence[Worked]) -> int | None:
    """When the first work began, of the traces that know Unix time."""
    bases = {trace.id: trace.facts.base_unix_ns for trace in traces}
    return min((base + one.first_ns for one in devices if (base := bases[one.trace_id]) is not None), default=None)


def _lost(traces: Sequence[Trace]) -> str | None:
    """What of the run was not recorded or not read, in words: what costs both counts and busy time, and maybe more."""
    kinds = {
        note.kind for trace in traces for note in trace.notes if {COUNTS, BUSY} <= set(UNRELIABLE.get(note.kind, ()))
    }
    return f"events are missing: {', '.join(sorted(kinds))}" if kinds else None


def _few(fewest: int, without: int) -> str | None:
    """What of its iterations keeps a run from counting; `without` of its traces that worked have none."""
    if not fewest:
        return "no steady iterations were found"
    if without:
        return f"no steady iterations were found in {plural(without, 'trace')} that worked on a device"
    return None if fewest >= FEWEST else f"{plural(fewest, 'steady iteration')}, fewer than {FEWEST}"
