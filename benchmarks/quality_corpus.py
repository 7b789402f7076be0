"""Iterations of public traces whose steps are annotated, found with and without the annotations"""

import os
import tempfile
from collections.abc import Sequence
from pathlib import Path

import numpy as np
import numpy.typing as npt

from tracelode.collect.ingest import read
from tracelode.mining.analyses.iterations import marks
from tracelode.mining.iterations import Level, levels, main_level
from tracelode.mining.sequence import Sequence as Operations
from tracelode.mining.sequence import sequences
from tracelode.store import Archive, Trace

__all__ = ["ANNOTATED", "corpus", "measured", "rows", "step_starts", "trace_of"]

Ints = npt.NDArray[np.int64]

ANNOTATED = {
    "kineto/hta-df-index": "df_index_resolver.json.gz",
    "kineto/hta-nccl": "nccl_data.json.gz",
    "kineto/hta-negative-queue": "rank0.json.gz",
    "kineto/hta-ns-resolution": "rank-0.Apr_03_18_51_38.1102.pt.trace.json.gz",
    "kineto/hta-trace-diff-control": "control.json.gz",
    "kineto/hta-trace-diff-test": "test.json.gz",
    "kineto/kineto-2020-list": "worker0.pt.trace.json.gz",
    "kineto/kineto-2021-schema1": "worker0.pt.trace.json.gz",
    "kineto/kineto-2021-stack-memory": "worker0.1623212756351.pt.trace.json.gz",
    "kineto/tracelens-mi300-resnet-checkpoint": "resnet_act_checkpoint.json.gz",
}
"""The traces with three annotated steps or more."""


def corpus() -> Path | None:
    """The corpus of public traces, where the machine has it."""
    folder = os.environ.get("TRACELODE_CORPUS")
    return Path(folder) if folder else None


def rows(seeds: Sequence[int]) -> list[dict[str, object]]:
    """Two rows a trace, with annotations and without; none where there is no corpus. Nothing depends on seeds."""
    folder = corpus()
    if folder is None:
        return []
    return [row for name in ANNOTATED for row in measured(name, folder / name / ANNOTATED[name])]


def trace_of(path: Path, archive: Path) -> Trace:
    """The trace of a file, read into an archive."""
    return read(path, Archive(archive))[0]


def measured(name: str, path: Path) -> list[dict[str, object]]:
    """The rows of one trace: `phase off` is the median number of operations from a step's start to an iteration's."""
    with tempfile.TemporaryDirectory() as folder:
        trace = trace_of(path, Path(folder))
        longest = max(sequences(trace), key=lambda sequence: len(sequence.symbols))
        begins, period = step_starts(trace, longest)
        known = marks(trace).get(longest.process)
    return [
        _row(name, marked, _found(longest, told), begins, period)
        for marked, told in (("with", known), ("without", None))
    ]


def _found(of: Operations, marks_ns: Ints | None) -> Level | None:
    return main_level(levels(of.symbols, of.start_ns, of.end_ns, of.launch_ns, marks_ns=marks_ns))


def step_starts(trace: Trace, sequence: Operations) -> tuple[Ints, int]:
    """Where the annotated steps begin, in operations of the sequence, and the operations that most of them launch.

    Every annotation `ProfilerStep#N` counts that launches anything. This reads the trace by itself: nothing of the
    detector is used.
    """
    tables = [table for table in ("range", "op") if trace.has(table)]  # until 2021 the steps were operators
    query = " union all ".join(
        f"select name, start_ns, end_ns from {table} where name like 'ProfilerStep%' and coalesce(thread, 0) >= 0"
        for table in tables
    )
    steps = trace.sql(f"select name, min(start_ns) as a, min(end_ns) as b from ({query}) group by name order by a")
    assert sequence.launch_ns is not None
    first = np.searchsorted(sequence.launch_ns, steps["a"].to_numpy())
    stop = np.searchsorted(sequence.launch_ns, steps["b"].to_numpy())
    size = (stop - first)[stop > first]
    values, counts = np.unique(size, return_counts=True)
    return first[stop > first], int(values[np.argmax(counts)])


def _row(name: str, marked: str, level: Level | None, begins: Ints, period: int) -> dict[str, object]:
    row: dict[str, object] = {"trace": name, "annotations": marked, "steps": f"{period} × {len(begins)}"}
    columns = ("found", "exact", "phase off", "spread", "confidence", "phase confidence")
    if level is None:
        return row | dict.fromkeys(columns)
    apart = level.begin[:, None] - begins[None, :]
    nearest = apart[np.arange(level.count), np.argmin(np.abs(apart), axis=1)]
    off = int(np.median(nearest))
    exact = (level.period, level.count) == (period, len(begins))
    found = f"{level.period} × {level.count}"
    sure = (round(level.confidence, 2), round(level.phase_confidence, 2))
    return row | dict(zip(columns, (found, "yes" if exact else "no", off, int(np.ptp(nearest)), *sure), strict=True))
