"""Prepares a program's run under the replayer of prefetch plans, and reads what the replayer counted.

The replayer is a library that the loader puts before the program's own (`LD_PRELOAD`), so that it is called where the
CUDA driver would be. The other way in, `CUDA_INJECTION64_PATH` with CUPTI's callbacks, is the recorder's, and CUPTI has
room for one tool: a run that replays must be recordable, by us and by others, or its effect could not be measured.
"""

import json
import os
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from struct import pack

from ..store.errors import Error
from . import native_library

__all__ = ["Orders", "counts", "library", "prepare", "summed"]

HINT = "replay where the GPU is"
ORDERS, COUNTS = "orders", "counts"
MAGIC = b"tracelode replay 1\n"
"""What the file of orders begins with; `native/replay/plan.cpp` describes the rest."""

Part = tuple[int, int, int]
"""The place of an object among `Orders.memory`, the offset within it, the bytes."""


@dataclass(frozen=True)
class Orders:
    """A plan as the replayer takes it: managed memory by size and number among those of its size, kernels, steps.

    A step is the place of its kernel, the number of the kernel's execution, and what to prefetch before it.
    """

    memory: Sequence[tuple[int, int]]
    kernels: Sequence[str]
    steps: Sequence[tuple[int, int, Sequence[Part]]]

    def packed(self) -> bytes:
        """The orders as the replayer reads them."""
        names = [name.encode(errors="surrogatepass") for name in self.kernels]
        parts = (
            MAGIC,
            _packed(self.memory),
            pack("<Q", len(names)),
            *(pack("<Q", len(name)) + name for name in names),
            pack("<Q", len(self.steps)),
            *(pack("<QQ", kernel, occurrence) + _packed(parts) for kernel, occurrence, parts in self.steps),
        )
        return b"".join(parts)


def _packed(rows: Sequence[Sequence[int]]) -> bytes:
    """How many rows there are, and their numbers."""
    numbers = [number for row in rows for number in row]
    return pack(f"<{1 + len(numbers)}Q", len(rows), *numbers)


def library(cache: Path) -> Path:
    """The replayer, built where it is not yet; raises `Error` where it cannot be, or could not be preloaded."""
    found = native_library.replayer(cache).resolve()
    if set(str(found)) & set(" :"):
        raise Error(f"{found}: LD_PRELOAD takes no path with a space or a colon", "set XDG_CACHE_HOME")
    return found


def prepare(orders: Orders, folder: Path, cache: Path) -> dict[str, str]:
    """Writes the orders into the folder; the environment of a program that is to follow them.

    Raises `Error` where the driver or a compiler is missing.
    """
    native_library.driver(HINT)
    replayer, before = str(library(cache)), os.environ.get("LD_PRELOAD")
    path = folder.resolve() / ORDERS
    path.write_bytes(orders.packed())
    return dict(os.environ) | {
        "LD_PRELOAD": f"{replayer}:{before}" if before else replayer,
        "TRACELODE_REPLAY_PLAN": str(path),
        "TRACELODE_REPLAY_COUNTS": str(path.with_name(COUNTS)),
    }


def counts(folder: Path) -> str:
    """What the processes that used CUDA and ended in order have counted: a line of JSON each."""
    path = folder / COUNTS
    return path.read_text() if path.exists() else ""


def summed(lines: str) -> Mapping[str, int]:
    """The sums of the counts over all processes; empty where there are none."""
    sums: Counter[str] = Counter()
    for line in lines.splitlines():
        sums.update({name: count for name, count in json.loads(line).items() if name != "process"})
    return sums
