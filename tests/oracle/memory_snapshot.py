"""Memory snapshots by an unpickler that refuses every name: blocks from their allocation to their release."""

import io
import pickle
from pathlib import Path
from typing import Any, NoReturn

from tests.oracle.rows import Damaged, Odd, Rows, rows, unpacked

BORN = {"alloc": "tensor", "segment_alloc": "pool", "segment_map": "pool"}
DIED = {"free_completed": "tensor", "segment_free": "pool", "segment_unmap": "pool"}


class _Plain(pickle.Unpickler):
    def find_class(self, module_name: str, global_name: str, /) -> NoReturn:
        raise Damaged(f"it names {module_name}.{global_name}")

    def persistent_load(self, pid: Any, /) -> NoReturn:
        raise Damaged("it refers to something outside")


def read(path: Path) -> Rows:
    snapshot = _Plain(io.BytesIO(unpacked(path))).load()
    lives: list[list[Any]] = []
    alive: dict[tuple[str, int, int], list[Any]] = {}
    for device, history in enumerate(snapshot["device_traces"]):
        for entry in history:
            action = entry["action"]
            kind = BORN.get(action) or DIED.get(action)
            if kind is None:
                if action != "free_requested":
                    raise Odd("an action that is not usual")
                continue  # whatever it says: its block's end is told by free_completed
            address, size, time = entry["addr"], entry["size"], entry["time_us"] * 1000
            if not all(type(value) is int for value in (address, size, time)):
                raise Odd("an entry whose numbers are none")
            key = (kind, device, address)
            if action in BORN:
                if key in alive:
                    raise Damaged("a block that is allocated twice")
                alive[key] = [device, kind, address, size, time, None]
                lives.append(alive[key])
            else:
                life = alive.pop(key, None)
                if life is None:
                    life = [device, kind, address, size, None, None]
                    lives.append(life)
                life[5] = time
    for segment in snapshot["segments"]:
        _still(lives, alive, ("pool", segment["device"], segment["address"]), segment["total_size"])
        for block in segment["blocks"]:
            if block["state"] == "active_allocated":
                _still(
                    lives,
                    alive,
                    ("tensor", segment["device"], block["address"]),
                    block.get("requested_size", block["size"]),
                )
    return rows(allocation=(tuple(life) for life in lives))


def _still(lives: list[list[Any]], alive: dict[tuple[str, int, int], list[Any]], key: Any, size: int) -> None:
    if key not in alive:
        kind, device, address = key
        lives.append([device, kind, address, size, None, None])
