"""What the names and the arguments of copies tell in Kineto traces: direction, memories, the other device."""

import re
from typing import Any

import pyarrow as pa

from ..store.tables import COPY_KINDS
from .jsonrepair import loads
from .kineto_process import Columns
from .kineto_record import LARGEST_DEVICE

__all__ = ["told_by_args", "told_by_name"]

COPY_NAME = re.compile(r"Memcpy (\w+) \((\w+) -> (\w+)\)")
COPY_NAME_ROCM = re.compile(r"Copy(Host|Device)To(Host|Device)")


def told_by_name(name: str) -> tuple[str | None, str | None, str | None, bool]:
    """Direction, source and target memory as the name tells them, and whether the name says anything else."""
    found = COPY_NAME.fullmatch(name)
    if found and found[1] in COPY_KINDS:
        return found[1], found[2].lower(), found[3].lower(), False
    rocm = COPY_NAME_ROCM.search(name)
    return (f"{rocm[1][0]}to{rocm[2][0]}" if rocm else None), None, None, True


def told_by_args(columns: Columns) -> dict[str, Any]:
    """Direction and peer of copies that their name does not tell."""
    kinds, peers = columns["kind"].to_pylist(), [None] * len(columns["kind"])
    unknown = [i for i, kind in enumerate(kinds) if kind in (None, "PtoP")]
    for i in unknown:  # a loop over rows: copies between devices, and names no version is known to write
        args = loads(columns["args"][i].as_py() or "{}")
        if kinds[i] is None and args.get("kind") in COPY_KINDS:
            kinds[i] = args["kind"]
        ends = {end for name in ("fromDevice", "toDevice") if _is_device(end := args.get(name))}
        ends -= {int(columns["device"][i])}
        peers[i] = ends.pop() if len(ends) == 1 else None
    return {"kind": pa.array(kinds, pa.string()), "peer_device": pa.array(peers, pa.int32())} if unknown else {}


def _is_device(value: Any) -> bool:
    return type(value) is int and 0 <= value < LARGEST_DEVICE
