"""The report that compares runs with those of a base: comparable or not, what changed, what makes the difference."""

import hashlib
from collections.abc import Collection, Iterator, Sequence
from dataclasses import replace

from ..mining.gate import RULES
from ..mining.headline import HEADLINE
from ..mining.mine import compare
from ..mining.sequence import OPERATIONS
from ..mining.words import plural
from ..store.errors import Error, NotCollected
from .checks import verdict_line
from .compared import Compared, Side, compared
from .health import health_of
from .rank_group import Group, Unread
from .report import Check, Report, Section
from .sections import aligned, attribution, comparability, compared_metrics, graph_changes, uvm_effect

__all__ = ["METRICS", "build", "refused"]

METRICS = tuple(one.name for one in HEADLINE)
MOST_NAMED = 5

GLOSSARY = {
    "run": "One execution of the program, with all its ranks: the unit that is compared, one value of each metric.",
    "steady": "Iterations after warm-up whose operations are those of the rest: only they count.",
    "regression": "Worse by at least the threshold, and by more than the runs differ among themselves.",
    "inconclusive": "Neither a change nor none can be told. It is never a pass.",
    "gaps": "Time in which the device runs nothing, by what it waits for.",
    "exposed communication": "Time in which the device communicates and does not compute.",
}


def build(
    base: Sequence[Group],
    candidate: Sequence[Group],
    *,
    allowed: Collection[str] = (),
    metrics: Collection[str] = METRICS,
    effect: float = RULES.effect,
    unread: Sequence[Unread] = (),
) -> Report:
    """The report. `allowed` are aspects of the fingerprint that may differ ("all": every one), `metrics` those checked.

    A change is one of at least `effect`, a share of the base. `unread` are runs of which nothing could be read.
    """
    both = compared(base, candidate)
    rules = replace(RULES, effect=effect)
    apart = comparability.differing(both, allowed)
    found = compared_metrics.judged(both, apart, metrics, rules)
    names = _names(both)
    checks = tuple(compared_metrics.check(one, f"{names[0]} → {names[1]}") for one in found)
    sections = (
        comparability.section(both, allowed),
        compared_metrics.section(both, found, rules),
        attribution.section(both),
        aligned.section(both),
        *_graphs(both),
        *_managed(both),
    )
    said = [verdict_line(checks), *(sections[0].sentence for _ in apart[:1]), sections[2].sentence]
    return Report(
        topic="compare",
        title=f"{names[1]} against {names[0]}",
        verdict=" ".join(said),
        trace_id=_id(both),
        identity=tuple(_identity(both)),
        health=tuple(_health(both, unread)),
        sections=sections,
        glossary=GLOSSARY,
        checks=checks,
    )


def refused(error: Error, metrics: Collection[str] = METRICS) -> Report:
    """What to hand on where a side cannot be read: every check is inconclusive, for that reason."""
    why = f"Inconclusive: nothing was compared: {error.message}."
    checks = tuple(
        Check("nothing compared", one.name, one.title, one.unit, "inconclusive", why)
        for one in HEADLINE
        if one.name in metrics
    )
    return Report("compare", "Nothing was compared", why, "", (), (why, f"What to do: {error.hint}."), (), {}, checks)


def _names(both: Compared) -> tuple[str, str]:
    """What to call the sides: a run by its name, with the folder of its first trace where both have the same."""
    base, now = (_name(side) for side in both.sides)
    if base != now or any(len(side.runs) != 1 for side in both.sides):
        return base, now
    folders = [side.runs[0].group.members[0].trace.source.split("/")[-2:-1] for side in both.sides]
    first, second = ("/".join([*folder, name]) for folder, name in zip(folders, (base, now), strict=True))
    return first, second


def _name(side: Side) -> str:
    return side.runs[0].measured.name if len(side.runs) == 1 else plural(len(side.runs), "run")


def _id(both: Compared) -> str:
    """An id of all that is compared."""
    lines = [f"{run.label}\n{' '.join(run.measured.traces)}" for run in both.runs]
    return hashlib.sha256("\n".join(lines).encode()).hexdigest()


def _identity(both: Compared) -> Iterator[tuple[str, str]]:
    for side in both.sides:
        named = ", ".join(run.measured.name for run in side.runs[:MOST_NAMED])
        more = f" and {len(side.runs) - MOST_NAMED} more" if len(side.runs) > MOST_NAMED else ""
        counted = sum(run.measured.excluded is None for run in side.runs)
        yield side.name, f"{plural(len(side.runs), 'run')}, {counted} of them counted: {named}{more}"


def _health(both: Compared, unread: Sequence[Unread]) -> Iterator[str]:
    """What was not read, which runs do not count, and what is doubtful in those that do."""
    yield from map(_not_read, unread)
    for run in both.runs:
        yield from map(_not_read, run.group.unread)
        yield from (f"same content: {remark}" for remark in run.group.remarks)
        if run.measured.excluded is not None:
            yield f"does not count: {run.label}: {run.measured.excluded}"
        doubtful = {one.quantity for trace in run.traces if trace.notes for one in health_of(trace).unreliable}
        if doubtful:
            yield f"unreliable: {', '.join(sorted(doubtful))}, in {run.label}"


def _not_read(one: Unread) -> str:
    return f"not read: {one.name.rpartition('/')[2]}: {one.error.message}"


def _graphs(both: Compared) -> Iterator[Section]:
    """The performance graphs of the middle run of each side, of several ranks the first."""
    runs = [side.middle or side.counted[0] for side in both.sides]
    sides = [(run.traces[0], run.group.archive) for run in runs]
    if all(any(trace.has(table) for table in OPERATIONS) for trace, _ in sides):
        yield graph_changes.section(compare(sides[0], sides[1], "graphs"), [run.label for run in runs])


def _managed(both: Compared) -> Iterator[Section]:
    """What changed for managed memory, where each side is one trace with events of it."""
    sides = [(side.runs[0].traces[0], side.runs[0].group.archive) for side in both.sides if _single(side)]
    if len(sides) == 2 and all(trace.has("uvm_event") for trace, _ in sides):
        try:
            yield uvm_effect.section(compare(sides[0], sides[1], "uvm_effect"))
        except NotCollected:
            return


def _single(side: Side) -> bool:
    return len(side.runs) == 1 and len(side.runs[0].traces) == 1
