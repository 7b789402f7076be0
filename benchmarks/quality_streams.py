"""Periods of streams mined alone, by device times only: in kernels, launches and annotations hidden"""

import tempfile
from collections.abc import Sequence
from pathlib import Path

import numpy as np
import numpy.typing as npt

from benchmarks.quality_corpus import ANNOTATED, corpus, step_starts, trace_of
from tracelode.mining.iterations import levels, main_level
from tracelode.mining.sequence import Sequence as Operations
from tracelode.mining.sequence import sequences
from tracelode.store import Trace

__all__ = ["rows"]

TWO_DEVICES, PERIOD = "nsys-sqlite/nsysai-h100-2gpu", 62


def rows(seeds: Sequence[int]) -> list[dict[str, object]]:
    """A row a trace, for its stream with the most kernels; two for the trace of two devices. None without the corpus.

    The true period of an annotated trace is the number of kernels that most of its steps launch on the stream.
    """
    folder = corpus()
    if folder is None:
        return []
    result: list[dict[str, object]] = []
    for name, file in ANNOTATED.items():
        with tempfile.TemporaryDirectory() as archive:
            result.append(_hidden(name, trace_of(folder / name / file, Path(archive))))
    with tempfile.TemporaryDirectory() as archive:
        (path,) = (folder / TWO_DEVICES).iterdir()
        alone = sequences(trace_of(path, Path(archive)))
    return result + [
        _row(TWO_DEVICES, one.device, one.stream, one, np.arange(len(one.symbols)), PERIOD) for one in alone
    ]


def _hidden(name: str, trace: Trace) -> dict[str, object]:
    merged = max(sequences(trace), key=lambda sequence: len(sequence.symbols))
    begins, _ = step_starts(trace, merged)
    kernels = (merged.rows["kind"] == "kernel").to_numpy()
    streams = merged.rows["stream"].to_numpy()
    values, counts = np.unique(streams[kernels], return_counts=True)
    stream = int(values[np.argmax(counts)])
    mine = kernels & (streams == stream)
    steps = np.add.reduceat(mine, begins)
    sizes, votes = np.unique(steps[:-1], return_counts=True)
    order = np.flatnonzero(mine)
    order = order[np.argsort(merged.start_ns[order], kind="stable")]
    return _row(name, merged.device, stream, merged, order, int(sizes[np.argmax(votes)]))


def _row(
    name: str, device: int, stream: int | None, of: Operations, order: npt.NDArray[np.int64], period: int
) -> dict[str, object]:
    level = main_level(levels(of.symbols[order], of.start_ns[order], of.end_ns[order]))
    found = level.period if level else None
    return {
        "trace": name,
        "device": device,
        "stream": stream,
        "period": period,
        "found": found,
        "count": level.count if level else None,
        "exact": "yes" if found == period else "no",
        "confidence": round(level.confidence, 2) if level else None,
    }
