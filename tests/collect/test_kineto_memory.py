from pathlib import Path
from typing import Any

import pytest

from tests.collect.kineto_traces import HOST, read_events, rows_of
from tracelode.collect import kineto_batch


def _memory(ts: float, change: int, address: int | None = None, tid: int = 11, **args: int) -> dict[str, Any]:
    said = {"Device Type": 1, "Device Id": 0, "Bytes": change, **args}
    if address is not None:
        said["Addr"] = address
    return {
        "ph": "i",
        "cat": "cpu_instant_event",
        "s": "t",
        "name": "[memory]",
        "pid": 10,
        "tid": tid,
        "ts": ts,
        "args": said,
    }


def test_allocations_and_releases_of_an_address_are_one_life(tmp_path: Path) -> None:
    trace = read_events(
        tmp_path,
        HOST,
        _memory(1, 512, 4096, **{"Total Allocated": 512, "Total Reserved": 2048}),
        _memory(3, -512, 4096, tid=12, **{"Total Allocated": 0, "Total Reserved": 2048, "Ev Idx": 8}),
        _memory(4, 256, 4096),
        _memory(5, -64, 8192),
        _memory(6, 32, 4096, **{"Device Type": 0, "Device Id": -1}),
    )
    life = {"process": 10, "kind": "tensor", "thread": 11}
    assert sorted(rows_of(trace, "allocation"), key=lambda row: row["bytes"]) == [
        {**life, "address": 4096, "bytes": 32, "birth_ns": 6000, "args": {"allocation": {"s": "t"}}},
        {**life, "device": 0, "address": 8192, "bytes": 64, "death_ns": 5000, "args": {"release": {"s": "t"}}},
        {**life, "device": 0, "address": 4096, "bytes": 256, "birth_ns": 4000, "args": {"allocation": {"s": "t"}}},
        {
            **life,
            "device": 0,
            "address": 4096,
            "bytes": 512,
            "birth_ns": 1000,
            "death_ns": 3000,
            "args": {"allocation": {"s": "t"}, "release": {"s": "t", "Ev Idx": 8, "tid": 12}},
        },
    ]
    assert rows_of(trace, "counter") == [
        {"process": 10, "device": 0, "name": name, "time_ns": time, "value": value, "unit": "bytes"}
        for name, time, value in (
            ("memory allocated", 1000, 512.0),
            ("memory allocated", 3000, 0.0),
            ("memory reserved", 1000, 2048.0),
            ("memory reserved", 3000, 2048.0),
        )
    ]


@pytest.mark.parametrize("room", [2, 3, 100])
def test_lives_are_the_same_in_whatever_order_and_batches_their_events_come(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, room: int
) -> None:
    monkeypatch.setattr(kineto_batch, "ROWS", room)
    events = [_memory(ts, change, 4096, tid=tid) for ts, change, tid in ((9, -8, 12), (6, 8, 12), (5, -4, 12))]
    trace = read_events(tmp_path, HOST, *events, _memory(1, 4, 4096), _memory(2, 16, 8192), _memory(3, -16, 8192))
    lives = [(row["bytes"], row["birth_ns"], row["death_ns"]) for row in rows_of(trace, "allocation")]
    assert sorted(lives) == [(4, 1000, 5000), (8, 6000, 9000), (16, 2000, 3000)]


def test_memory_events_without_an_address_are_changes(tmp_path: Path) -> None:
    trace = read_events(tmp_path, HOST, _memory(1, 512), _memory(2, -512, **{"Device Type": 0, "Device Id": -1}))
    change = {"process": 10, "name": "memory change", "unit": "bytes"}
    assert rows_of(trace, "counter") == [
        {**change, "device": 0, "time_ns": 1000, "value": 512.0},
        {**change, "time_ns": 2000, "value": -512.0},
    ]
    assert not trace.has("allocation")
