"""Traces of a few operators, each with the kernels that it launches, one after the other."""

import json
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from tests.building import build
from tracelode.store import Archive, Trace

__all__ = ["Op", "made"]

DEVICE = {"process": 1, "device": 0, "name": "NVIDIA H100 80GB HBM3", "vendor": "nvidia"}
"""989.4 TFLOP/s in bf16, 67 in fp32, 3350 GB/s."""


@dataclass(frozen=True)
class Op:
    """An operator: its shapes, the durations of the kernels it launches itself, and the operators within it."""

    name: str
    shapes: Sequence[Any] | None = None
    kernels: Sequence[int] = ()
    within: Sequence["Op"] = ()
    type: str = "c10::BFloat16"
    values: Sequence[str] = ()
    kernel: str = "kernel"
    module: str = ""
    more: dict[str, Any] = field(default_factory=dict[str, Any])


def made(
    folder: Path, *ops: Op, device: dict[str, Any] | None = DEVICE, **tables: list[dict[str, Any]]
) -> tuple[Trace, Archive]:
    """The trace; kernels follow each other on one stream, 10 ns apart."""
    rows: dict[str, list[dict[str, Any]]] = {"op": [], "kernel": [], "api": [], "range": []}
    clock = [0, 0]  # of the host and of the device

    def run(op: Op, parent: int | None, depth: int) -> None:
        id, start = len(rows["op"]), clock[0]
        types = [op.type if one is not None else "Scalar" for one in op.shapes or ()]
        told = {"shapes": json.dumps([one or [] for one in op.shapes]), "types": json.dumps(types)} if op.shapes else {}
        args = json.dumps({"Concrete Inputs": list(op.values)})
        rows["op"].append(
            {"id": id, "name": op.name, "parent": parent, "depth": depth, "args": args, **told, **op.more}
        )
        clock[0] += 1
        for duration in op.kernels:
            number = len(rows["kernel"]) + 1
            rows["api"].append({"start_ns": clock[0], "end_ns": clock[0] + 1, "correlation": number})
            begin = max(clock[1] + 10, clock[0] + 2)
            rows["kernel"].append(
                {"name": op.kernel, "start_ns": begin, "end_ns": begin + duration, "correlation": number}
            )
            clock[:] = clock[0] + 2, begin + duration
        for one in op.within:
            run(one, id, depth + 1)
        clock[0] += 1
        rows["op"][id] |= {"start_ns": start, "end_ns": clock[0]}
        if op.module:
            name = f"nn.Module: {op.module}"
            rows["range"].append({"name": name, "kind": "python", "start_ns": start, "end_ns": clock[0]})
        clock[0] += 1

    for op in ops:
        run(op, None, 0)
    both = {name: rows.get(name, []) + tables.get(name, []) for name in {*rows, *tables}}
    if device:
        both["device"] = [device]
    return build(folder, **{name: some for name, some in both.items() if some})
