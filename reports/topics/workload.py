"""The workload: what it computes and how often, what its time belongs to, how it uses device memory."""

from collections import defaultdict
from collections.abc import Callable, Sequence
from dataclasses import replace
from functools import cache

from ...mining.attributed import UNATTRIBUTED
from ...mining.words import count
from ...store.errors import NotCollected
from ...store.tables import TABLES, Kind
from ...store.trace import Trace
from ..identity import report_on
from ..report import Report, Section
from ..sections import (
    launch_geometry,
    memory_bound,
    operator_flops,
    precision,
    roofline,
    workload_accesses,
    workload_attribution,
    workload_frequency,
    workload_lifetimes,
    workload_memory,
    workload_reserve,
)
from ..shown import RECORD, Ask

Part = Callable[[Trace, Ask], Section]

SECTIONS: tuple[Part, ...] = (
    workload_attribution.phases,
    workload_attribution.modules,
    workload_attribution.operators,
    workload_attribution.families,
    workload_attribution.structure,
    workload_frequency.section,
    launch_geometry.geometry,
    launch_geometry.occupancy,
    launch_geometry.waves,
    workload_accesses.extremes,
    operator_flops.section,
    roofline.section,
    memory_bound.section,
    precision.section,
    workload_memory.footprint,
    workload_accesses.working_sets,
    workload_memory.holders,
    workload_lifetimes.section,
    workload_memory.sizes,
    workload_reserve.section,
    workload_memory.alive,
    workload_memory.cold,
    workload_accesses.hotness,
)
"""What the report shows, in this order."""

VERDICT = ("workload_phases", "workload_families", "workload_frequency", "workload_footprint", "workload_working_sets")
"""The sections whose sentences open the report."""

UNTIMED = frozenset(("accelprof", "chakra", "execution_trace", "memory_snapshot", "proton"))
"""Formats that have no place for kernels and their times: there is no option to record them with."""
INSTEAD = (
    "record the same program with a profiler that writes kernels with their times, and memory where it can: "
    "torch.profiler with record_shapes=True and profile_memory=True, nsys profile --cuda-memory-usage=true, rocprofv3 "
    "--kernel-trace --memory-copy-trace --memory-allocation-trace, or tracelode record --hooks op,module,phase,tensor "
    "(docs/formats/README.md, docs/recording.md)."
)
NOT_HERE = (
    "To see this, record the same program with a profiler that writes kernels with their times: this format has no "
    "place for them (docs/formats/README.md)."
)

ENOUGH = 0.5
"""Share of the device work in operators from which on mined structure is not shown in their place."""

GLOSSARY = {
    "accesses": "Active threads that execute an instruction on global memory, added up: not bytes.",
    "alive at the end": "Allocated in the recording and not released in it: the recording ends before the program.",
    "evidence A, B, C": (
        "How a figure on memory is known. A: accesses were measured. B: the operand tensors of the operator that "
        "launched the kernel, an upper bound on what it touches of them: inputs as recorded, outputs where the formula "
        "of the operator gives them, and inputs alone where not. C: only when memory was allocated and released."
    ),
    "family": "Category of a kernel by its name (docs/categories.md), direction of a copy, or fill.",
    "footprint": "What is allocated on a device: at the peak, at a launch on average, or over time on average.",
    "kernel frequency": (
        "Launches by name, a name cut at its first < and without void before it, so that variants of a template are "
        "one, as in PASTA."
    ),
    "object": "An allocation of the driver, or a segment of the framework's pool.",
    "occupancy": "Share of the threads of a multiprocessor that the blocks of a kernel on it have, at most.",
    "peak": "The first moment at which most is allocated.",
    "phase": "Forward, backward or optimizer; the column says what tells it.",
    "ramp-up, peak, ramp-down": (
        "Stages of the curve of allocated memory, of the iteration that holds the peak where there are several: the "
        "two change points that fit a line up, a constant and a line down best, by the numbers of the changes."
    ),
    "reserved": "What the framework's allocator got from the driver, whether or not it has given it out.",
    "share of device work": "Of the summed durations of kernels, copies and fills: what runs at once counts each.",
    "tail": "Time of a launch in which places of its last wave of blocks are empty, if all blocks take equally long.",
    "tensor": "A block of the framework's allocator, inside an object.",
    "unattributed": "Device work of which nothing tells what it belongs to. With it the parts add up to the total.",
    "wave": "The blocks of a launch that fit on the device at once; the next ones start as these end.",
    "working set": "Sizes of all objects or tensors that a kernel touches, each as a whole; of a workload the largest.",
    "footprint / working set": "Launch-weighted mean footprint over the largest working set of a kernel.",
}


def build(trace: Trace, ask: Ask) -> Report:
    """The report; `ask` answers with the finding of an analysis. What was not collected is said, not shown as zero.

    A trace that has nothing to show is a report of one section, on what is not collected and what to record instead.
    """
    ask = cache(ask)
    sections = tuple(part(trace, ask) for part in SECTIONS if _is_shown(part, ask))
    if not any(section.blocks for section in sections):
        return report_on(trace, "workload", "Workload", _nothing(trace), (_missing(sections),), {})
    if trace.facts.format in UNTIMED:
        sections = tuple(_without_option(section) for section in sections)
    return report_on(trace, "workload", "Workload", _verdict(sections), sections, GLOSSARY)


def _is_shown(part: Part, ask: Ask) -> bool:
    """Mined structure stands for operators only where these are few."""
    if part is not workload_attribution.structure:
        return True
    try:
        rows = ask("by_operator").rows
    except NotCollected:
        return True
    lost = rows.filter(rows["part"] == UNATTRIBUTED)["share"].to_list()
    return bool(lost) and (lost[0] or 0) > ENOUGH


def _verdict(sections: tuple[Section, ...]) -> str:
    """The sentences on where the time goes, what is launched, and what memory is used."""
    said = {section.key: section.sentence for section in sections if section.blocks}
    words = [said[key] for key in VERDICT if key in said]
    return " ".join(words or list(said.values())[:1])


def _nothing(trace: Trace) -> str:
    """What is not in the trace, what is, and what to do about it."""
    held = [
        f"{count(rows)} rows in the table {name} ({TABLES[name].meaning})"
        for name, rows in sorted(trace.rows.items())
        if TABLES[name].kind == Kind.EVENT
    ]
    what = f" What it has: {'; '.join(held)}." if held else ""
    return (
        "There is nothing in this trace that characterises a workload: no kernels, copies or fills of a device, and no "
        f"allocations of its memory or accesses to it.{what} To see the workload, {INSTEAD}"
    )


def _missing(sections: Sequence[Section]) -> Section:
    """One section for all: what each lacks, once."""
    lacking = defaultdict[tuple[str, ...], list[str]](list)
    for section in sections:
        hints = (note for note in section.notes if note != RECORD)
        lacking[section.sentence, *hints].append(section.heading)
    notes = tuple(f"{' '.join(said)} Needed for: {', '.join(headings)}." for said, headings in lacking.items())
    sentence = "No section of this report has anything to show. What they need, and how to record it:"
    return Section("workload_missing", "What is not collected", sentence, (), notes)


def _without_option(section: Section) -> Section:
    """The section, not pointing to an option of a format that has none."""
    return replace(section, notes=tuple(NOT_HERE if note == RECORD else note for note in section.notes))
