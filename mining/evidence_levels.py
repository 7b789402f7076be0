"""How sure a figure on memory is: the three levels of evidence, in words, and what to record for each."""

from collections.abc import Iterable

from ..store.errors import NotCollected
from ..store.trace import Trace
from .words import count

__all__ = ["LACKS", "LEVELS", "OUTPUTS", "hint", "memory_missing", "outputs_told", "told"]

LEVELS = {
    "A": "evidence A: measured accesses",
    "B": "evidence B: operand tensors of the launching operator, its inputs and the outputs that its formula gives, an "
    "upper bound on what a kernel touches of these",
    "C": "evidence C: lifetimes of allocations only",
}
"""What stands beside each figure."""

HINTS = {
    "A": "record them with an access profiler such as AccelProf",
    "B": "record shapes of operators (evidence B), or accesses by an access profiler such as AccelProf (A)",
    "C": "profile with memory, or dump a memory snapshot",
    "launches": "record kernels, with shapes of operators (evidence B) or with accesses by an access profiler (A)",
}
"""What to record for a figure of at least that level, and for launches with what they touch."""

TOOLS = {
    "A": ("hot_analysis", "time_hotness_cpu"),
    "B": ("app_analysis", "app_metric"),
    "C": ("hot_analysis",),
    "launches": ("app_analysis", "app_metric"),
}
"""The tools of AccelProf that write it: each of its logs is of one tool, and has what that one writes."""

OUTPUTS = """nullif(count(outputs), 0) as operators,
    if(count(outputs) > 0, count(*) filter (outputs = 'unknown'), null) as inputs_only,
    if(count(outputs) > 0, count(*) filter (outputs = 'part'), null) as outputs_in_part"""
"""SQL: the launches of a group of `working_set` that have operands; those of unknown outputs, and of some unknown."""

LACKS = {"unknown": "; its outputs are not known", "part": "; some of its outputs are not known"}
"""What the operands of one launch lack, by `working_set.outputs`."""

EVENTS = """
select (count(*) filter (name = 'memory change' and device is not null)) > 0, count(*) > 0
from counter
where name in ('memory allocated', 'memory reserved', 'memory change')
"""
"""SQL: whether there are memory events of a device without addresses, and whether there are any, also of the host."""


def hint(trace: Trace, level: str) -> str:
    """What to record for what `HINTS` names, by what the trace is: a log of AccelProf is not told to use AccelProf."""
    own = trace.facts.labels.get("tool")
    others = [tool for tool in TOOLS[level] if tool != own] if trace.facts.format == "accelprof" else []
    return (
        f"use another tool of AccelProf: {' or '.join(others)} (docs/formats/accelprof.md)" if others else HINTS[level]
    )


def told(levels: Iterable[str]) -> str:
    """The levels in words, surest first: 'Evidence A: measured accesses.'"""
    words = "; ".join(LEVELS[level] for level in sorted(set(levels)))
    return f"{words[:1].upper()}{words[1:]}."


def outputs_told(launches: int, inputs_only: int, in_part: int) -> tuple[str, ...]:
    """What outputs a figure of level B lacks, in how many of its launches; nothing where there is no such launch."""
    if not launches:
        return ()
    if not inputs_only and not in_part:
        return (f"The outputs of all {count(launches)} launches with operands are counted.",)
    return (
        f"Of {count(launches)} launches with operands {count(inputs_only)} count inputs only, as their outputs are not "
        f"known, and {count(in_part)} lack some outputs, such as statistics of rows.",
    )


def memory_missing(trace: Trace, what: str, *, lacks: str = "addresses", timed: bool = False) -> NotCollected:
    """The error where device memory does not tell `what`: events that were recorded are not asked for once more.

    `lacks` is what memory events of older recordings have not, and `what` needs; `timed` says that it needs times,
    which no log of AccelProf has.
    """
    record = HINTS["C"] if timed else hint(trace, "C")
    if trace.has("memory_life") and not trace.has("memory_curve"):
        why = "the allocations of this trace have no births and no releases"
        again = "dump a memory snapshot with its history (torch.cuda.memory._record_memory_history)"
        return NotCollected(f"{what}: {why}", again if trace.facts.format == "memory_snapshot" else record)
    unaddressed, recorded = trace.sql(EVENTS.strip()).row(0) if trace.has("counter") else (False, False)
    if unaddressed:
        why = f"the memory events of this trace have no {lacks}, as an older PyTorch writes them"
        return NotCollected(f"{what}: {why}", "profile with memory in a newer PyTorch, or dump a memory snapshot")
    if (recorded or trace.has("allocation")) and not trace.has("memory_curve"):
        why = "the memory events of this trace are of the host alone"
        return NotCollected(f"{what}: {why}", "dump a memory snapshot, which is of the device")
    return NotCollected(what, record)
