from pathlib import Path
from typing import Any

import pytest

from tests.building import build
from tracelode.mining.mine import find
from tracelode.store.errors import NotCollected

AGAIN = "profile with memory, or dump a memory snapshot"
NEWER = "profile with memory in a newer PyTorch, or dump a memory snapshot"
OLDER = "the memory events of this trace have no {}, as an older PyTorch writes them"
HOST = "the memory events of this trace are of the host alone"
OF_DEVICE = "dump a memory snapshot, which is of the device"
KERNEL = {"start_ns": 10, "end_ns": 20, "name": "k"}
WHAT = {
    "memory_holders": "allocations of device memory",
    "memory_sizes": "allocations of device memory",
    "memory_alive": "allocations of device memory",
    "memory_cold": "allocations of device memory",
    "memory_lives": "allocations of device memory, with times",
    "memory_reserve": "what is reserved and what is allocated of a device's memory, over time",
    "memory_stages": "what is allocated on the device",
    "memory_footprint": "what is allocated on the device",
}


def _change(device: int | None) -> dict[str, Any]:
    return {"process": 1, "device": device, "name": "memory change", "time_ns": 5, "value": 512.0, "unit": "bytes"}


def _tensor(device: int | None) -> dict[str, Any]:
    return {"process": 1, "device": device, "kind": "tensor", "address": 4096, "bytes": 8, "birth_ns": 5}


def _asked(folder: Path, analyses: list[str], **tables: list[dict[str, Any]]) -> dict[str, tuple[str, str | None]]:
    """What each analysis says that it misses, and how to record it."""
    trace, archive = build(folder, kernel=[KERNEL], **tables)
    told = {}
    for name in analyses:
        with pytest.raises(NotCollected) as caught:
            find(trace, archive, name)
        told[name] = caught.value.message, caught.value.hint
    return told


def test_without_memory_events_the_hint_is_to_record_them(tmp_path: Path) -> None:
    assert _asked(tmp_path, list(WHAT)) == {name: (what, AGAIN) for name, what in WHAT.items()}


def test_memory_events_without_addresses_are_not_asked_for_again(tmp_path: Path) -> None:
    needing = [name for name in WHAT if name not in ("memory_stages", "memory_footprint")]  # these need changes alone
    lacks = {name: "totals" if name == "memory_reserve" else "addresses" for name in needing}
    assert _asked(tmp_path, needing, counter=[_change(0), _change(None)]) == {
        name: (f"{WHAT[name]}: {OLDER.format(lacks[name])}", NEWER) for name in needing
    }


@pytest.mark.parametrize("events", [{"counter": [_change(None)]}, {"allocation": [_tensor(None)]}])
def test_memory_events_of_the_host_alone_are_said_to_be_that(
    tmp_path: Path, events: dict[str, list[dict[str, Any]]]
) -> None:
    assert _asked(tmp_path, list(WHAT), **events) == {
        name: (f"{what}: {HOST}", OF_DEVICE) for name, what in WHAT.items()
    }
