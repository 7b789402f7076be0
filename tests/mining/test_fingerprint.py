from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path

from tests.building import build
from tracelode.mining.fingerprint import ASPECTS, UNKNOWN, fingerprint_id, fingerprint_of, worked
from tracelode.mining.mine import mine
from tracelode.store import Facts, Trace


def _trace(folder: Path) -> Trace:
    trace, archive = build(
        folder,
        kernel=[{"name": "a", "start_ns": 1, "end_ns": 2}, {"name": "a", "device": 1, "start_ns": 1, "end_ns": 2}],
        device=[{"process": 1, "device": number, "name": "Made GPU"} for number in range(4)],
        process=[{"process": 1, "rank": 0, "world_size": 8}],
    )
    labels = {"driver": "580.1", "model": "made-7b", "batch_size": "32", "with_stack": "1"}
    facts = Facts("kineto", producer="Made 1", framework="PyTorch", labels=labels)
    return replace(mine(trace, archive, "segments"), facts=facts)


def _of(trace: Trace) -> Mapping[str, str]:
    return fingerprint_of([trace], worked([trace]))


def test_only_devices_that_worked_count_and_each_aspect_is_in_its_place(tmp_path: Path) -> None:
    found = _of(_trace(tmp_path))
    assert tuple(found) == ASPECTS
    assert found == {
        "gpu": "2 × Made GPU",
        "driver": "580.1",
        "runtime": UNKNOWN,
        "framework": "PyTorch",
        "model": "made-7b",
        "config": UNKNOWN,
        "batch": "32",
        "ranks": "1 of 8",
        "collector": "kineto, Made 1",
        "settings": "with_stack 1",
        "node": UNKNOWN,
        "power cap": UNKNOWN,
        "clocks": UNKNOWN,
    }


def test_a_trace_that_tells_nothing_is_not_recorded_throughout(tmp_path: Path) -> None:
    trace, _ = build(tmp_path, op=[{"name": "add", "start_ns": 1, "end_ns": 2}])
    told = {aspect for aspect, value in _of(trace).items() if value != UNKNOWN}
    assert told == {"ranks", "collector"}


def test_the_id_depends_on_the_values_and_on_no_order() -> None:
    one = {"gpu": "1 × A", "driver": "1"}
    assert fingerprint_id(one) == fingerprint_id({"driver": "1", "gpu": "1 × A"}) == "d66468fc50b0"
    assert fingerprint_id(one | {"driver": "2"}) != fingerprint_id(one)
