"""Managed memory: which pages fault and move, what kernels wait for it, and what to do about each allocation."""

from functools import cache

from ...mining.managed_sums import KINDS
from ...mining.managed_vendors import faults_hint, recorders
from ...mining.sequence import OPERATIONS
from ...mining.words import count, plural
from ...store.trace import Trace
from ..identity import report_on
from ..report import Report, Section
from ..sections import (
    timeline,
    uvm_advice,
    uvm_faults,
    uvm_moves,
    uvm_ranges,
    uvm_simulation,
    uvm_stall,
    uvm_totals,
    uvm_use,
)
from ..shown import Ask

MEASURED = (
    uvm_stall.section,
    uvm_faults.faults,
    uvm_moves.moves,
    uvm_ranges.section,
    uvm_faults.places,
    uvm_moves.iterations,
    uvm_moves.round_trips,
    uvm_moves.contention,
    uvm_use.use,
    uvm_use.hot,
)
"""What the report shows of what was measured, in this order."""
GUESSED = (uvm_simulation.section, uvm_simulation.plan)
"""What it shows of what was simulated: after all that was measured, and in sections of its own."""

GLOSSARY = {
    "managed memory": "Of cudaMallocManaged or hipMallocManaged: the driver moves its pages to who touches them.",
    "fault group": "Page faults of a device that the driver serviced together; one may stand for many pages.",
    "stall": (
        "Time in which a fault was serviced while a kernel ran on the device, each moment once. An upper bound on what "
        "the kernel waited: other warps may have run."
    ),
    "service": (
        "From the start of the driver's work on a fault group to its end. Added up, groups at once count each; united, "
        "each moment counts once."
    ),
    "unasked move": "A move to a device that the program did not ask for: on demand, or the driver's own prefetching.",
    "beside kernels": "The part of the time of moves in which a kernel ran on that device.",
    "moved again": "Bytes of pages that moved to a device which had had them: the cost of thrashing.",
    "range": "An allocation; where none is known, blocks of 2 MiB with events that are next to each other.",
    "back and forth": "Pages that were on a device, went to the host, and came back to the device.",
    "oversubscription": "The bytes of all objects that kernels touch (footprint) over the bytes that the device holds.",
    "throttling": "The driver holds a processor back from pages that thrash.",
    "remote map": "The driver maps pages where they are instead of moving them.",
}

NOTHING = "Nothing of managed memory was recorded in this trace: the program uses none, or the recording left it out."


SUMMARY = """
select count(*) from other where kind = 'Unified Memory profiling result'
"""
"""SQL: rows of nvprof's printed summary, which are kept as they stand."""
SUMMED = (
    "Of managed memory nvprof's summary alone was recorded: {rows} of totals, in the table other as they stand. It has "
    "no events, so it does not say when, where and why pages move. To see it, record with nvprof --print-gpu-trace."
)

SUMS = "unified_memory"
"""The format that holds sums of managed memory, and no event."""


def build(trace: Trace, ask: Ask) -> Report:
    """The report; `ask` answers with the finding of an analysis. What was not collected is said, not shown as zero."""
    ask = cache(ask)  # several sections show the same finding
    if trace.facts.format == SUMS:
        sums = uvm_totals.section(trace, ask)
        return _report(trace, sums.sentence, (sums,))
    parts = tuple(part(trace, ask) for part in (uvm_advice.advice, *MEASURED, *GUESSED))
    if not any(section.blocks for section in parts):
        if trace.has("other") and (rows := trace.sql(SUMMARY).item()):
            return _report(trace, SUMMED.format(rows=plural(rows, "row")), ())
        return _report(trace, f"{NOTHING} To see it, {faults_hint(trace)}.", ())
    work = (timeline.section(trace, ask),) if any(trace.has(name) for name in OPERATIONS) else ()
    shown = (part for part in parts if not _is_lost(part))
    return _report(trace, _verdict(parts), (*shown, *work, _missing(trace, parts)))


def _verdict(parts: tuple[Section, ...]) -> str:
    """The opening words: what kernels wait at most, what moves, what to do; of accesses alone, how memory is used."""
    said = {section.key: section.sentence for section in parts if section.blocks}
    keys = [key for key in ("uvm_stall", "uvm_moves", "uvm_advice") if key in said]
    return " ".join(said[key] for key in keys or ("uvm_use", "hotness") if key in said)


def _is_lost(part: Section) -> bool:
    """Whether what a section is about was not collected; what was collected and is nothing is none of it."""
    return part.sentence.startswith("Not collected")


def _missing(trace: Trace, parts: tuple[Section, ...]) -> Section:
    """The section on what was not collected and how to record it: one remark for what is lost for the same reason."""
    lost: dict[str, list[str]] = {}
    for part in filter(_is_lost, parts):
        lost.setdefault(" ".join([part.sentence, *part.notes]), []).append(part.heading)
    notes = tuple(f"{', '.join(headings)}: {why}" for why, headings in lost.items())
    count_lost = sum(map(len, lost.values()))
    sentence = f"{count(count_lost)} of {count(len(parts))} parts of this report were not collected."
    if not lost:
        sentence = "Every part of this report was collected."
    listed = ", ".join(KINDS.values())
    hint = f"Of {listed}, {recorders(trace)}."
    return Section("uvm_missing", "Not collected", sentence, (), (*notes, hint))


def _report(trace: Trace, verdict: str, sections: tuple[Section, ...]) -> Report:
    return report_on(trace, "uvm", "Managed memory", verdict, sections, GLOSSARY)
