"""A made run with managed memory, small enough to work out by hand.

Kernels of device 0:       a [100, 200)   b [300, 400)   a [500, 600)
Faults of device 0:        [110, 150), [140, 180) and [190, 320) at A, one without an end at 350, [350, 380) in T
Object A at BASE, 1 MiB, dies at 250; object B at BASE as well, 2 MiB, is born at 260; tensor T is B's second 64 KiB.
"""

from pathlib import Path
from typing import Any

from tests.building import build
from tracelode.store import Archive, Trace

__all__ = ["BASE", "KIB", "MIB", "fault", "made", "move", "run"]

KIB, MIB = 1 << 10, 1 << 20
BASE = 64 * MIB


def fault(start: int, end: int | None, address: int, **more: Any) -> dict[str, Any]:
    """A fault group of device 0."""
    row = {"process": 1, "device": 0, "processor": "gpu", "start_ns": start, "end_ns": end, "address": address}
    return row | {"pages": 1, "kind": "read"} | more


def move(start: int, end: int, address: int, size: int, kind: str = "HtoD", **more: Any) -> dict[str, Any]:
    """A move of pages as Nsight Systems has it: a copy."""
    row = {"start_ns": start, "end_ns": end, "address": address, "bytes": size, "kind": f"UVM_{kind}", "stream": 0}
    return row | {"cause": "coherence"} | more


def made() -> dict[str, list[dict[str, Any]]]:
    """The tables of the run."""
    kernels = [("a", 100), ("b", 300), ("a", 500)]
    lives = [
        {"kind": "managed", "address": BASE, "bytes": MIB, "birth_ns": 0, "death_ns": 250},
        {"kind": "managed", "address": BASE, "bytes": 2 * MIB, "birth_ns": 260},
        {"kind": "tensor", "address": BASE + 64 * KIB, "bytes": 64 * KIB, "birth_ns": 260, "owner": "weight"},
    ]
    return {
        "kernel": [{"start_ns": start, "end_ns": start + 100, "name": name} for name, start in kernels],
        "allocation": [{"process": 1} | life for life in lives],
        "fault": [
            fault(110, 150, BASE, pages=4),
            fault(140, 180, BASE + 4096, pages=2, kind="write"),
            fault(190, 320, BASE + 8192),
            fault(350, 0, BASE + 64 * KIB),
            fault(350, 380, BASE + 68 * KIB),
            {"process": 1, "processor": "cpu", "start_ns": 450, "address": BASE, "pages": 1},
        ],
        "copy": [
            move(120, 130, BASE, 64 * KIB),
            move(355, 375, BASE + 64 * KIB, 64 * KIB, cause="prefetch"),
            move(450, 460, BASE + 64 * KIB, 64 * KIB, "DtoH"),
            move(510, 530, BASE + 64 * KIB, 32 * KIB),
            {"start_ns": 210, "end_ns": 220, "bytes": 8},  # a copy of the program
        ],
    }


def run(folder: Path, **tables: Any) -> tuple[Trace, Archive]:
    """The run with some of its tables replaced, or left out where None is given."""
    return build(folder, **{name: rows for name, rows in (made() | tables).items() if rows is not None})
