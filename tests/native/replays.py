"""Writes files of activity records for the stub of libcupti to replay, laid out as NVIDIA's headers say."""

import struct
import time
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

COPY, FILL, DRIVER, RUNTIME, DEVICE, KERNEL, MARKER, OVERHEAD, PEER_COPY = 1, 2, 4, 5, 8, 10, 12, 17, 22
UVM, SYNC, EXTERNAL, MEMORY, POOL, GRAPH = 25, 38, 39, 49, 50, 51
UNKNOWN = 90
"""A kind that no version of CUPTI has."""

STRIDES = {
    COPY: 96,
    FILL: 88,
    DRIVER: 40,
    RUNTIME: 40,
    DEVICE: 184,
    KERNEL: 216,
    MARKER: 56,
    OVERHEAD: 56,
    PEER_COPY: 96,
    UVM: 104,
    SYNC: 56,
    EXTERNAL: 24,
    MEMORY: 128,
    POOL: 80,
    GRAPH: 56,
    UNKNOWN: 72,
}
"""Bytes of a record in CUPTI 13.0."""

LARGER_STRIDES = {**STRIDES, COPY: 112, FILL: 104, DEVICE: 192, KERNEL: 248}
"""The same in CUPTI 13.5."""

POINTERS = ("name", "domain")
KINDS, POINTERS_MOST, SLOT_BYTES = 128, 4, 256

Layout = dict[int, dict[str, tuple[int, int]]]


def recently() -> int:
    """A moment of the collector's clock some seconds ago."""
    return time.clock_gettime_ns(time.CLOCK_MONOTONIC_RAW) - 5_000_000_000


@dataclass
class Replay:
    """Records in the order in which they are delivered."""

    layout: Layout
    strides: dict[int, int] = field(default_factory=lambda: STRIDES)
    parts: list[bytes] = field(default_factory=list[bytes])
    texts: list[str] = field(default_factory=list[str])
    records: int = 0

    def text(self, text: str) -> int:
        """A text's number, for the fields that point to one; equal texts get addresses of their own."""
        self.texts.append(text)
        number = len(self.texts)
        self.texts += [""] * (len(text) // SLOT_BYTES)
        return number

    def array(self, kind: int, count: int, **columns: npt.ArrayLike) -> npt.NDArray[Any]:
        """Records of a kind; what NVIDIA's structs hold besides the named fields is not zero."""
        fields = self.layout.get(kind, {"kind": (0, 4)})
        layout = np.dtype(
            {
                "names": list(fields),
                "formats": [f"<u{size}" for _, size in fields.values()],
                "offsets": [offset for offset, _ in fields.values()],
                "itemsize": self.strides[kind],
            }
        )
        array = np.full(count * self.strides[kind], 0xA5, np.uint8).view(layout)
        for name in fields:
            array[name] = columns.pop(name, 0)
        array["kind"] = kind
        assert not columns, columns
        return array

    def add(self, kind: int, count: int = 1, **columns: npt.ArrayLike) -> None:
        """Adds records of a kind; a column is one value for all or one for each."""
        self.parts.append(self.array(kind, count, **columns).tobytes())
        self.records += count

    def write(self, path: Path) -> Path:
        """Writes the file as replay.h describes it."""
        strides, pointers = np.zeros(KINDS, "<u4"), np.zeros((KINDS, POINTERS_MOST), "<u4")
        for kind, stride in self.strides.items():
            strides[kind] = stride
            at = [self.layout[kind][name][0] for name in POINTERS if name in self.layout.get(kind, {})]
            pointers[kind, : len(at)] = at
        header = struct.pack("<8sQQQ", b"REPLAY1", self.records, sum(map(len, self.parts)), len(self.texts))
        texts = "".join(f"{text}\0" for text in self.texts).encode("utf-8", "surrogateescape")
        path.write_bytes(b"".join([header, strides.tobytes(), pointers.tobytes(), *self.parts, texts]))
        return path
