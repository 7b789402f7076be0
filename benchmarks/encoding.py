"""Measures what symbols should stand for: `python -m benchmarks.encoding` prints the tables of docs/encoding.md.

Each annotated trace of the corpus is mined with each encoding and without its annotations; what is found is compared
with the annotated steps, for the whole trace and for cuttings of it. TRACELODE_CORPUS names the corpus.
"""

import sys
import tempfile
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import numpy.typing as npt

from benchmarks.quality_corpus import ANNOTATED, corpus, step_starts, trace_of
from tracelode.mining.iterations import levels, main_level
from tracelode.mining.sequence import ENCODINGS, SYMBOLS, Sequence, sequences
from tracelode.store import Trace

Ints = npt.NDArray[np.int64]

WINDOWS, LENGTH = 7, 2.4
"""Cuttings of a trace, and the iterations in one."""


@dataclass(frozen=True)
class Found:
    """The main iterations of a trace by one encoding; `phase` is how many operations late they begin, in the median."""

    symbols: int
    period: int
    count: int
    phase: int

    def cell(self, truth: tuple[int, int]) -> str:
        """As it stands in the table: bold where period and count are those of the steps."""
        text = f"{self.period} × {self.count}"
        return f"{f'**{text}**' if (self.period, self.count) == truth else text}, {self.phase:+d}"


def _longest(trace: Trace, encoding: str = SYMBOLS) -> Sequence:
    return max(sequences(trace, symbols=encoding), key=lambda one: len(one.symbols))


def found(trace: Trace, encoding: str) -> Found:
    """Mines the longest sequence of a trace, without its annotations."""
    sequence = _longest(trace, encoding)
    level = main_level(levels(sequence.symbols, sequence.start_ns, sequence.end_ns, sequence.launch_ns))
    distinct = len(np.unique(sequence.symbols))
    if level is None:
        return Found(distinct, 0, 0, 0)
    return Found(distinct, level.period, level.count, _phase(level.begin, step_starts(trace, sequence)[0]))


def windows(trace: Trace, encoding: str, period: int) -> tuple[int, int]:
    """In how many of `WINDOWS` cuttings of a few iterations, beginning anywhere, the period is right, and wrong.

    In the others no iteration is found.
    """
    sequence = _longest(trace, encoding)
    length = int(LENGTH * period)
    right, wrong = 0, 0
    for start in np.linspace(0, len(sequence.symbols) - length, WINDOWS).astype(int).tolist():
        part = slice(start, start + length)
        launch = None if sequence.launch_ns is None else sequence.launch_ns[part]
        level = main_level(levels(sequence.symbols[part], sequence.start_ns[part], sequence.end_ns[part], launch))
        right += level is not None and level.period == period
        wrong += level is not None and level.period != period
    return right, wrong


def _phase(begins: Ints, steps: Ints) -> int:
    """The median distance of the found begins from the nearest steps."""
    after = np.minimum(np.searchsorted(steps, begins), len(steps) - 1)
    before = np.maximum(after - 1, 0)
    ahead, behind = begins - steps[after], begins - steps[before]
    return int(np.median(np.where(np.abs(ahead) < np.abs(behind), ahead, behind)))


def table(rows: Iterable[tuple[str, tuple[int, int], dict[str, Found]]]) -> str:
    """The table of docs/encoding.md, and a last line that counts."""
    rows = list(rows)
    heads = ["trace", "steps", *ENCODINGS]
    lines = [f"| {' | '.join(heads)} |", f"|{'---|' * len(heads)}"]
    for name, truth, cells in rows:
        cellular = [cells[encoding].cell(truth) for encoding in ENCODINGS]
        lines.append(f"| {name} | {truth[0]} × {truth[1]} | {' | '.join(cellular)} |")
    exact = [sum((f[e].period, f[e].count) == truth for _, truth, f in rows) for e in ENCODINGS]
    phase = [sum((f[e].period, f[e].count, f[e].phase) == (*truth, 0) for _, truth, f in rows) for e in ENCODINGS]
    sums = [f"{a} exact, {b} with phase" for a, b in zip(exact, phase, strict=True)]
    lines.append(f"| of {len(rows)} | | {' | '.join(sums)} |")
    sizes = [[f[e].symbols for _, _, f in rows] for e in ENCODINGS]
    lines.append(f"| symbols | | {' | '.join(f'{min(size)} to {max(size)}' for size in sizes)} |")
    return "\n".join(lines)


def window_table(rows: list[tuple[str, dict[str, tuple[int, int]]]]) -> str:
    """The table of cuttings: in how many of them the period is right, and in how many it is wrong."""
    lines = [f"| {' | '.join(('trace', *ENCODINGS))} |", f"|---|{'---|' * len(ENCODINGS)}"]
    for name, counts in rows:
        lines.append(f"| {name} | {' | '.join('{} right, {} wrong'.format(*counts[one]) for one in ENCODINGS)} |")
    sums = [tuple(sum(counts[one][at] for _, counts in rows) for at in (0, 1)) for one in ENCODINGS]
    total = " | ".join(f"{right} right, {wrong} wrong" for right, wrong in sums)
    return "\n".join([*lines, f"| of {WINDOWS * len(rows)} | {total} |"])


def main() -> None:
    """Mines the annotated traces with each encoding and prints the tables."""
    folder = corpus()
    if folder is None:
        sys.exit("name the corpus of public traces: TRACELODE_CORPUS=FOLDER")
    rows: list[tuple[str, tuple[int, int], dict[str, Found]]] = []
    cuttings: list[tuple[str, dict[str, tuple[int, int]]]] = []
    with tempfile.TemporaryDirectory() as archive:
        for name, file in ANNOTATED.items():
            trace = trace_of(folder / name / file, Path(archive))
            begins, period = step_starts(trace, _longest(trace))
            short = name.rpartition("/")[2]
            rows.append((short, (period, len(begins)), {encoding: found(trace, encoding) for encoding in ENCODINGS}))
            cuttings.append((short, {encoding: windows(trace, encoding, period) for encoding in ENCODINGS}))
    print(table(rows))
    print()
    print(window_table(cuttings))


if __name__ == "__main__":
    main()
