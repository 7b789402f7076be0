"""Performance: where the time goes, which iteration is slow, and what the device waits for."""

from functools import cache

from ...mining.analyses.idle import CAUSES
from ...mining.sequence import OPERATIONS
from ...mining.words import count
from ...store.trace import Trace
from ..identity import report_on
from ..report import Report, Section
from ..sections import (
    breakdown,
    cadences,
    collectives,
    copies,
    findings,
    gaps,
    graph,
    graph_replay,
    host_calls,
    idle,
    iterations,
    kernels,
    launches,
    overlap,
    patterns,
    positions,
    remainder,
    roles,
    setup,
    streams,
    timeline,
)
from ..shown import Ask

SECTIONS = (
    findings,
    timeline,
    iterations,
    breakdown,
    positions,
    graph,
    patterns,
    kernels,
    idle,
    host_calls,
    gaps,
    launches,
    graph_replay,
    overlap,
    collectives,
    copies,
    streams,
    cadences,
    roles,
    remainder,
    setup,
)
"""What the report shows, in this order."""

WORTH_SAYING = 0.02
"""A device idle for less than this share of its span is busy: why it waits is no headline."""
A_LOT = 0.3
"""A host call under way for this share of the idle time is named in the verdict."""

GLOSSARY = {
    "busy": "Time in which at least one operation runs on the device: the union over streams, from first to last work.",
    "compute, communication, copy": (
        "What a busy device does. Where several things run at once the time counts as compute, else as communication, "
        "else as copy: communication and copy are the exposed parts."
    ),
    "idle": "Time between a device's first and last work in which nothing runs on it.",
    "iteration": "One repetition of the operations that recur through the trace, found from the operations alone.",
    "operation": "A kernel, copy or fill on a device.",
    "pattern": "A sequence of operations that occurs again and again, in the same order.",
    "slow": (
        "An iteration longer than the median by 5 robust standard deviations and by 5 %. More of: the state in which "
        "it exceeds that state's median most, and by how much."
    ),
    "counts to": (
        "Where several operations run at once, an instant counts to the one that started first of those that compute, "
        "else communicate, else copy."
    ),
    "evidence": "The rows that a finding rests on; its saving is the sum of those of its device.",
    "finding": "A cause of lost time that a diagnosis told, of the device that loses most by it.",
    "saves at most": (
        "A bound: what a device's span could shrink by without the cause, all else as it is. Bounds of several "
        "findings overlap and do not add up."
    ),
    "node": (
        "A device, stage, iteration, repeated block or operation in the performance graph; the busy times of the nodes "
        "in a node add up to its own."
    ),
    "pass": "One execution of an operation, one round of a repeated block, or one iteration.",
    "variation": "Standard deviation over mean.",
    "category": "What a kernel does, judged by its name: docs/categories.md.",
    "launch delay": (
        "From the start of the host call to the start on the device; of several operations of one call the first "
        "counts."
    ),
    "queue": "Operations launched earlier that have not started at the moment of a launch.",
    "graph replay": "Work that one call starts as a recorded graph.",
    "hidden": "The share of the time of communication or copies in which compute runs as well.",
    "algbw": "The size of a collective over its time.",
    "busbw": (
        "algbw times what a link carries of the size: 2(n−1)/n for an all-reduce, (n−1)/n for all-gather, "
        "reduce-scatter and all-to-all, 1 for broadcast, reduce, send and receive (as nccl-tests has it)."
    ),
    "unexplained": "Work outside all iterations and all repeated patterns.",
    **{f"idle: {cause}": f"{meaning[0].upper()}{meaning[1:]}." for cause, meaning in CAUSES.items()},
}


def build(trace: Trace, ask: Ask) -> Report:
    """The report; `ask` answers with the finding of an analysis. What was not collected is said, not shown as zero."""
    if not _has_work(trace):
        return _report(trace, _without_work(trace), ())
    ask = cache(ask)  # several sections show the same finding
    sections = tuple(part.section(trace, ask) for part in SECTIONS)
    return _report(trace, _verdict(sections, ask), sections)


def _has_work(trace: Trace) -> bool:
    """Whether there is device work whose times are to be trusted."""
    there = [f"select flaw from {name}" for name in OPERATIONS if trace.has(name)]
    return (
        bool(there)
        and trace.sql(f"select flaw from ({' union all '.join(there)}) where flaw is null limit 1").height > 0
    )


def _report(trace: Trace, verdict: str, sections: tuple[Section, ...]) -> Report:
    return report_on(trace, "perf", "Performance", verdict, sections, GLOSSARY)


def _verdict(sections: tuple[Section, ...], ask: Ask) -> str:
    """The opening words: where the time goes, which iterations stand out, what costs most, or why the device waits."""
    said = {section.key: section.sentence for section in sections if section.blocks}
    states = ask("states").rows
    idle = states.filter(states["state"] == "idle")["share"].max() or 0
    keys = ["timeline", "iterations", "findings"]
    if float(idle) >= WORTH_SAYING and "findings" not in said:  # pyright: ignore[reportArgumentType] - a share
        keys.append("idle")
        calls = ask("host_calls").rows if "host_calls" in said else None
        keys += ["host_calls"] * bool(calls is not None and len(calls) and calls["share"][0] >= A_LOT)
    return " ".join(said[key] for key in keys if key in said)


def _without_work(trace: Trace) -> str:
    """What there is to say of a trace that holds no kernel, copy or fill, or none with times to be trusted."""
    work = any(trace.has(name) for name in OPERATIONS)
    what = "no kernel, copy or fill" if not work else "no device work with times to be trusted"
    text = f"There is {what} in this trace: nothing to report about a device."
    if any(note.kind == "truncated" for note in trace.notes):
        text += " It ends early: what came after is missing."
    if trace.has("range"):
        other = trace.sql("select count(*) from range where kind = 'device_activity'").item()
        text += f" It holds {count(other)} device activities of other kinds, in the table range." if other else ""
    return text
