"""nvprof's printed GPU and API traces, comma-separated (`--csv`) or padded to columns, and its printed summaries.

Summaries hold no events: their rows are kept in `other`. Between nvprof's lines there may be output of the program,
which is counted and left out.
"""

import re
from itertools import pairwise

from ...store.trace import Facts
from ..files import TraceFile
from ..nvprof_print import LONGEST_LINE, MARKED, Layout, decoder_of, layout_of, lines, with_units
from ..nvprof_rows import Rows
from ..sink import Sink

__all__ = ["VERSION", "read", "recognises"]

VERSION = 4

OWN_LINE = re.compile(
    r"={2}\d+={2} (NVPROF is |Profiling (application|result)|Generated result file)"
    r"|={8} (NVPROF is |Profiling result|Unified Memory profiling result|CPU profiling result)"
)
SUMMARY = re.compile(r'"?(Type"?,"?)?Time\(%\)"?,"?Time"?,"?Calls"?,"?Avg"?,"?Min"?,"?Max"?,"?Name"?')
PADDED = re.compile(
    r"\s*(Start\s{2,}Duration|(Type\s{2,})?Time\(%\)\s{2,}Time\s{2,}Calls)\s.*\s{2,}Name|\s*Start\s{2,}Duration\s{2,}Name"
)
PROFILED = re.compile(r"NVPROF is profiling process (\d{1,10}), command: (.*)")
WARNED = re.compile(r"(Warning|Error): (.*)")
LOST = re.compile(r"invalid timestamps|dropp|\blost\b|overflow|not all|insufficient|incomplete", re.IGNORECASE)
LEGEND = re.compile(r"(Regs|SSMem|DSMem|(Src|Dst)(MemType| Dev| Ctx)): ")
NUL = "\0"
SUMMARY_ROWS = 100_000
LONGEST = 300


def recognises(file: TraceFile) -> bool:
    """Whether the text has a line of nvprof's own, or begins with the header of one of its tables."""
    found = decoder_of(file.head).decode(file.head).split("\n")
    if any(OWN_LINE.match(line) for line in found if line.startswith("==")):
        return True
    filled = [line for line in found[:20] if line.strip()]
    if not filled:
        return False
    if SUMMARY.fullmatch(filled[0].strip()) or PADDED.fullmatch(filled[0]):
        return True
    return any(_begins_trace(header, below) for header, below in pairwise(filled[:2]))


def read(file: TraceFile, sink: Sink) -> Facts:
    """Hands every event to the sink and returns the facts; what is no row of a table is counted."""
    reading = _Reading(sink)
    for number, (line, ended) in enumerate(lines(file), 1):
        reading.take(line, number, ended=ended)
    return reading.finish()


class _Reading:
    """One file on its way to the sink: the table it is in, and the process that table is of."""

    def __init__(self, sink: Sink) -> None:
        self._sink = sink
        self._rows = Rows(sink)
        self._layout: Layout | None = None
        self._title, self._awaited = "", False
        self._process = 0
        self._commands: dict[int, str | None] = {}
        self._sums = 0
        self._unplaced = 0

    def take(self, line: str, number: int, *, ended: bool) -> None:
        """Reads one line."""
        if NUL in line:
            self._hole(line, number)
            return
        if "\N{REPLACEMENT CHARACTER}" in line:
            meaning = "lines with bytes that are not UTF-8: each shown as the replacement character"
            self._sink.note("invalid-utf8", meaning, example=line[:LONGEST])
        if marked := MARKED.fullmatch(line):
            self._mark(marked[1], marked[2] or marked[3] or "")
        elif not line.strip():
            self._layout = None if not self._awaited else self._layout
            if not ended:
                self._unfinished(line)
        elif self._begins_table(line):
            self._awaited = False
        elif self._layout is None:
            self._foreign(line)
        elif units := with_units(self._layout, line):
            self._layout = units
        elif not self._layout.is_trace:
            self._sum(self._layout, line)
        else:
            self._event(self._layout, line, ended=ended)

    def finish(self) -> Facts:
        """Writes out what is left; the facts of the file."""
        rows, sink = self._rows, self._sink
        rows.flush()
        if self._sums > SUMMARY_ROWS:
            meaning = f"rows of summaries beyond the first {SUMMARY_ROWS:,}: left out"
            sink.note("summary-dropped", meaning, count=self._sums - SUMMARY_ROWS)
        if self._sums:
            meaning = "rows of printed summaries: they hold no events, and are kept as they stand"
            sink.note("summary", meaning, count=self._sums, example="print a timeline with --print-gpu-trace")
        if rows.coarse:
            meaning = "starts are printed in coarse steps: order and gaps of what lies closer together are not certain"
            sink.note("coarse-times", meaning, count=rows.coarse, example=f"steps of {rows.coarsest} ns")
        if self._unplaced and self._commands:
            sink.note("no-process", "events of no stated process: counted as process 0", count=self._unplaced)
        for process in sorted({*self._commands, *(process for process, _ in rows.names)}):
            pid = process if process in self._commands else None
            sink.write("process", {"process": [process], "pid": pid, "name": self._commands.get(process)})
        for (process, device), name in sorted(rows.names.items()):
            sink.write("device", {"process": [process], "device": device, "name": name, "vendor": "nvidia"})
        return Facts("nvprof_text", producer="nvprof", clock="nanoseconds since the profiler began")

    def _mark(self, process: str | None, text: str) -> None:
        if profiled := PROFILED.fullmatch(text):
            self._commands[int(profiled[1])] = profiled[2]
        elif warned := WARNED.match(text):
            lost = LOST.search(warned[2]) is not None
            kind = "lost-events" if lost else f"profiler-{warned[1].lower()}"
            meaning = "the profiler says that events are missing: counts and times are a floor"
            self._sink.note(kind, meaning if lost else "the profiler complained", example=warned[2][:LONGEST])
        elif "result" in text and text.endswith(":"):
            self._layout, self._awaited, self._title = None, True, text.rstrip(" :")
            self._process = int(process) if process is not None and len(process) < 19 else 0
            if self._process:
                self._commands.setdefault(self._process, None)

    def _begins_table(self, line: str) -> bool:
        """Whether the line is a header: any first line under a title, elsewhere only those of traces and summaries."""
        if not self._awaited and "Name" not in line:
            return False
        layout = layout_of(line)
        if layout is None or not (self._awaited or layout.is_trace or layout.is_summary):
            return False
        self._layout = layout
        if layout.is_trace:
            self._rows.begin(layout)
        if layout.is_loose(line):
            self._loose(line)
        return True

    def _event(self, layout: Layout, line: str, *, ended: bool) -> None:
        cells = layout.cells(line)
        if layout.commas and not layout.units and cells and {"Start", "Name"} <= cells.keys():
            meaning = "rows of a table whose row of units is missing or damaged: kept in `other`"
            self._sink.note("no-unit", meaning, example=line[:LONGEST])
            self._rows.other(self._title or "trace", self._process, cells)
            return
        cut = not ended and not layout.commas and not line.endswith(("]", ")"))
        if cells is None or cut or not self._rows.add(layout, cells, self._process):
            if not ended:
                meaning = "the file ends early: events after that point are missing"
                self._sink.note("truncated", meaning, example=line[:LONGEST])
            elif layout.commas and line.count(",") >= len(layout.columns) - 2:
                self._lost(line, line[:LONGEST])
            else:
                self._foreign(line)
            return
        self._unplaced += not self._process
        if layout.is_loose(line):
            self._loose(line)
        elif not ended:
            self._unfinished(line)

    def _hole(self, line: str, number: int) -> None:
        """A crash of the machine leaves blocks of NULs: the line may be the halves of two, with others in between."""
        self._awaited = False
        more = " or more" if len(line) == LONGEST_LINE else ""
        self._lost(line, f"line {number}: {line.count(NUL)} NUL characters{more}")

    def _lost(self, line: str, example: str) -> None:
        meaning = "lines of a table that are no row of it, and lines with NUL bytes: kept in `other`"
        self._sink.note("lost-line", meaning, example=example)
        self._rows.other("lost line", self._process, {"line": line})

    def _unfinished(self, line: str) -> None:
        meaning = "the last line of the file has no end: its last cell may be cut"
        self._sink.note("unfinished-line", meaning, example=line[:LONGEST])

    def _loose(self, line: str) -> None:
        meaning = "lines in which quotes do not pair up: read as text, so that a value may be longer or shorter"
        self._sink.note("loose-quote", meaning, example=line[:LONGEST])

    def _sum(self, layout: Layout, line: str) -> None:
        self._sums += 1
        if self._sums > SUMMARY_ROWS:
            return
        cells = layout.cells(line) if layout.commas else None
        record = {"line": line} if cells is None else {n: c + layout.units.get(n, "") for n, c in cells.items()}
        self._rows.other(self._title or "summary", self._process, record)

    def _foreign(self, line: str) -> None:
        self._awaited = False
        if not LEGEND.match(line):
            meaning = "lines that are no row of a table of nvprof's (output of the program?): left out"
            self._sink.note("other-text", meaning, example=line[:LONGEST])


def _begins_trace(header: str, below: str) -> bool:
    """Whether these are the header and the units of a comma-separated trace; other tools print headers alike."""
    layout = layout_of(header)
    return bool(layout and layout.is_trace and layout.commas and with_units(layout, below))
