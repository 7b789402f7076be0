"""Writes what the caching allocator did in a run as `torch.cuda.memory._dump_snapshot` does: a pickle of plain data."""

import io
import pickle
from pathlib import Path
from typing import Any

from .records import Memory
from .run import START_NS, Run

__all__ = ["write_snapshot"]

SEGMENT, SEGMENT_BYTES = 0x7F1A_0000_0000, 2 << 20
STREAM = 0
FRAMES = (("forward", "small.py", 31), ("step", "small.py", 12))


def write_snapshot(run: Run, path: Path) -> None:
    """Writes the history of every tensor, and one segment that was there before it and is empty at its end."""
    moves = [event for segment in run.segments() for event in segment.host if isinstance(event, Memory)]
    born: dict[int, int] = {}
    history: list[dict[str, Any]] = []
    for move in moves:
        if move.bytes > 0:
            born[move.address] = move.bytes
            history.append(_entry("alloc", move, move.bytes))
        else:
            size = born.pop(move.address)
            history += [_entry("free_requested", move, size), _entry("free_completed", move, size)]
    snapshot = {"segments": [_segment()], "device_traces": [history], "allocator_settings": {"max_split_size": -1}}
    out = io.BytesIO()
    pickler = pickle.Pickler(out, protocol=2)
    pickler.fast = True  # no references back: the same bytes whichever texts Python holds once
    pickler.dump(snapshot)
    path.write_bytes(out.getvalue())


def _entry(action: str, move: Memory, size: int) -> dict[str, Any]:
    time = (START_NS + move.time_ns) // 1000
    return {
        "action": action, "addr": move.address, "size": size, "stream": STREAM, "time_us": time,
        "frames": [{"name": name, "filename": file, "line": line} for name, file, line in FRAMES],
    }  # fmt: skip


def _segment() -> dict[str, Any]:
    return {
        "device": 0, "address": SEGMENT, "total_size": SEGMENT_BYTES, "allocated_size": 0, "active_size": 0,
        "requested_size": 0, "stream": STREAM, "segment_type": "small", "segment_pool_id": (0, 0),
        "is_expandable": False, "frames": [],
        "blocks": [{"address": SEGMENT, "size": SEGMENT_BYTES, "requested_size": 0, "state": "inactive"}],
    }  # fmt: skip
