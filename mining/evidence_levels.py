"""How sure a figure on memory is: the three levels of evidence, in words, and what to record for each."""

from collections.abc import Iterable

from ..store.errors import NotCollected
from ..store.trace import Trace
from .words import count

__all__ = ["HINTS", "LACKS", "LEVELS", "OUTPUTS", "memory_missing", "outputs_told", "told"]

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
}
"""What to record for a figure of at least that level."""

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


def memory_missing(trace: Trace, what: str, *, lacks: str = "addresses") -> NotCollected:
    """The error where device memory does not tell `what`: events that were recorded are not asked for once more.

    `lacks` is what memory events of older recordings have not, and `what` needs.
    """
    unaddressed, recorded = trace.sql(EVENTS.strip()).row(0) if trace.has("counter") else (False, False)
    if unaddressed:
        why = f"the memory events of this trace have no {lacks}, as an older PyTorch writes them"
        return NotCollected(f"{what}: {why}", "profile with memory in a newer PyTorch, or dump a memory snapshot")
    if (recorded or trace.has("allocation")) and not trace.has("memory_curve"):
        why = "the memory events of this trace are of the host alone"
        return NotCollected(f"{what}: {why}", "dump a memory snapshot, which is of the device")
    return NotCollected(what, HINTS["C"])
