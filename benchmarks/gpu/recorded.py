"""What a recording holds, read from its files as they are: counts, spans and losses, before any archive."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from tracelode.collect.recording_chunks import Chunks

__all__ = ["Recorded", "Spans", "cost", "look"]

Ints = npt.NDArray[np.int64]
TO_THE_DEVICE = 1
"""A copy's kind, as CUPTI numbers them."""


@dataclass(frozen=True)
class Spans:
    """Begins and ends in nanoseconds of the raw monotonic clock, ordered by begin."""

    start: Ints
    end: Ints

    def __len__(self) -> int:
        return len(self.start)

    def within(self, begin: int, end: int) -> "Spans":
        """Those whose middle lies there."""
        middle = self.start + (self.end - self.start) // 2
        chosen = (begin <= middle) & (middle <= end)
        return Spans(self.start[chosen], self.end[chosen])

    @property
    def total_ns(self) -> int:
        """The sum of their lengths."""
        return int((self.end - self.start).sum())

    @property
    def busy_ns(self) -> int:
        """How long at least one of them lasted."""
        if not len(self):
            return 0
        reached = np.maximum.accumulate(self.end)
        begun = np.concatenate([[True], self.start[1:] > reached[:-1]])
        last = np.append(np.flatnonzero(begun)[1:] - 1, len(self) - 1)
        return int((reached[last] - self.start[begun]).sum())


def _joined(parts: Sequence[Spans]) -> Spans:
    start = np.concatenate([np.empty(0, np.int64), *(part.start for part in parts)])
    end = np.concatenate([np.empty(0, np.int64), *(part.end for part in parts)])
    order = np.argsort(start, kind="stable")
    return Spans(start[order], end[order])


@dataclass(frozen=True)
class Recorded:
    """The recording of one process."""

    folder: Path
    files: tuple[Chunks, ...]

    def rows(self, table: str) -> int:
        """How many rows of a table there are."""
        return sum(file.rows(table) for file in self.files)

    def column(self, table: str, column: str) -> Ints:
        """One column of a table."""
        parts = [rows[column].astype(np.int64) for file in self.files for rows in file.read(table)]
        return np.concatenate(parts) if parts else np.empty(0, np.int64)

    @property
    def bytes(self) -> int:
        """The size of the files."""
        return sum(file.path.stat().st_size for file in self.files)

    def told(self, what: str) -> Iterator[dict[str, Any]]:
        """What the recorder says of that, in order."""
        return (text for file in self.files for text in file.texts if text.get("what") == what)

    @property
    def state(self) -> dict[str, Any]:
        """The collector's last word: what it met, kept and lost."""
        return next((text for text in reversed(list(self.told("state"))) if "worker_cpu_ns" in text), {})

    @cached_property
    def kernels(self) -> Mapping[str, Spans]:
        """The spans of the kernels by name, those of graphs recorded by node among them."""
        parts: dict[str, list[Spans]] = {}
        for file in self.files:
            names = {
                config: file.names.get(name, "")
                for rows in file.read("config")
                for config, name in zip(rows["id"].tolist(), rows["name"].tolist(), strict=True)
            }
            for table in ("kernel", "graph_kernel"):
                for rows in file.read(table):
                    for config in np.unique(rows["config"]).tolist():
                        chosen = rows["config"] == config
                        spans = Spans(rows["start"][chosen].astype(np.int64), rows["end"][chosen].astype(np.int64))
                        parts.setdefault(names.get(config, ""), []).append(spans)
        return {name: _joined(spans) for name, spans in parts.items()}

    @cached_property
    def every_kernel(self) -> Spans:
        """The spans of all kernels."""
        return _joined(list(self.kernels.values()))

    def counts(self) -> dict[str, int]:
        """Kernels by name."""
        return {name: len(spans) for name, spans in self.kernels.items()}

    def copies_in(self) -> tuple[int, int]:
        """How many copies from the host to the device there are, and their bytes."""
        chosen = self.column("copy", "kind") == TO_THE_DEVICE
        return int(chosen.sum()), int(self.column("copy", "bytes")[chosen].sum())


def look(folder: Path) -> list[Recorded]:
    """The processes that recorded into the folder or into one within it."""
    folders = sorted({path.parent for path in folder.rglob("*.spool")})
    return [Recorded(one, tuple(Chunks(path) for path in sorted(one.glob("*.spool")))) for one in folders]


def cost(recorded: Recorded) -> dict[str, Any]:
    """What a recording cost beside the program's time, and what it lost; None where it does not say."""
    state, kernels = recorded.state, len(recorded.every_kernel)
    records = sum(state.get("records", {}).values())
    worker = state.get("worker_cpu_ns")
    return {
        "kernels": kernels,
        "records": records,
        "kept": sum(state.get("kept", {}).values()),
        "dropped": state.get("dropped"),
        "refused_buffers": state.get("refused_buffers"),
        "invalid": state.get("invalid"),
        "unknown": state.get("unknown"),
        "worker_cpu_ns_per_record": round(worker / records, 1) if worker is not None and records else None,
        "spool_bytes": recorded.bytes,
        "spool_mb_per_million_kernels": round(recorded.bytes / kernels, 2) if kernels else None,
    }
