"""What a recording's kernels came to by name and device, as the collector summed them up while they ran.

These hold every kernel within the selection, also those that sampling left out and those of a recording without rows.
"""

import json
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from .database_columns import TEXT, fitting
from .recording_chunks import Chunks
from .sink import Sink

__all__ = ["NEEDED", "read_totals"]

Ints = npt.NDArray[np.int64]
NEEDED = {
    "total": frozenset({"name", "device", "count", "time", "shortest", "longest"}),
    "histogram": frozenset({"name", "device", "bucket", "count"}),
}
"""The columns that each table must have."""

BUCKETS = 64
"""Durations of 64 bits have no more powers of two."""

EXTREMES: dict[str, np.ufunc] = {"shortest": np.minimum, "longest": np.maximum}


def read_totals(chunks: Chunks, sink: Sink, process: int) -> None:
    """Writes the sums into `total`, the most time first; `args` has the extremes and the histogram of durations.

    The histogram maps the least duration of a bucket (ns, a power of two) to the executions in it. The file holds the
    sums several times, as they grew: the greatest are the last.
    """
    keys, said = _last(chunks, "total", ("name", "device"), {"count": np.maximum, "time": np.maximum} | EXTREMES)
    if not len(keys):
        return
    order = np.lexsort((keys[:, 1], keys[:, 0], -said["time"]))
    histograms = _histograms(chunks)
    told: list[str] = []
    for row in order.tolist():
        name, device = keys[row].tolist()
        about: dict[str, Any] = {f"{what}_ns": int(said[what][row]) for what in EXTREMES}
        told.append(json.dumps(about | {"histogram": histograms.get((name, device), {})}))
    sink.write(
        "total",
        {
            "process": process,
            "id": np.arange(len(order)),
            "depth": 0,
            "name": pa.array([chunks.names.get(name) for name in keys[order, 0].tolist()], TEXT),
            "kind": "kernel",
            "device": fitting(pa.array(keys[order, 1]), "device", sink.note),
            "device_kind": "CUDA",
            "count": said["count"][order],
            "time_ns": said["time"][order],
            "args": told,
        },
    )


def _histograms(chunks: Chunks) -> dict[tuple[int, int], dict[str, int]]:
    keys, said = _last(chunks, "histogram", ("name", "device", "bucket"), {"count": np.maximum})
    found: dict[tuple[int, int], dict[str, int]] = {}
    for (name, device, bucket), count in zip(keys.tolist(), said["count"].tolist() if said else (), strict=True):
        if bucket < BUCKETS:
            found.setdefault((name, device), {})[str(1 << bucket if bucket else 0)] = count
    return found


def _last(
    chunks: Chunks, table: str, keys: tuple[str, ...], values: dict[str, np.ufunc]
) -> tuple[Ints, dict[str, Ints]]:
    """Each distinct key, and its values over all chunks, by the function that finds the last."""
    pieces = list(chunks.read(table))
    if not pieces:
        return np.zeros((0, len(keys)), np.int64), {}
    every = np.column_stack([np.concatenate([piece[key] for piece in pieces]) for key in keys])
    known, at = np.unique(every, axis=0, return_inverse=True)
    order = np.argsort(at, kind="stable")
    first = np.searchsorted(at[order], np.arange(len(known)))
    found = {
        name: last.reduceat(np.concatenate([piece[name] for piece in pieces])[order], first)
        for name, last in values.items()
    }
    return known, found
