"""What is reserved against what is allocated, on totals and allocations small enough to do by hand."""

from pathlib import Path
from typing import Any

import pytest

from tests.building import build
from tracelode.mining.mine import find
from tracelode.store import Archive, Trace
from tracelode.store.errors import NotCollected


def _totals(*moments: tuple[int, int | None, int | None], device: int = 0) -> list[dict[str, Any]]:
    """Time, what is reserved and what is allocated; None: no sample of it then."""
    row = {"process": 1, "device": device, "unit": "bytes"}
    return [
        row | {"name": f"memory {name}", "time_ns": time, "value": float(value)}
        for time, *both in moments
        for name, value in zip(("reserved", "allocated"), both, strict=True)
        if value is not None
    ]


SAMPLES = _totals((0, 100, 60), (10, 100, 90), (20, 150, 100), (30, 150, 40), (40, 200, 130))


def _life(kind: str, size: int, birth: int | None, death: int | None) -> dict[str, Any]:
    row = {"process": 1, "device": 0, "kind": kind, "address": 4096}
    return row | {"bytes": size, "birth_ns": birth, "death_ns": death}


def test_what_is_reserved_is_set_against_what_is_allocated(tmp_path: Path) -> None:
    # unused are 40, 10, 50, 110 and 70 B. Over time: (40 + 10 + 50 + 110) x 10 of (100 + 100 + 150 + 150) x 10.
    # Reserved grows by 50 where 10 were free, and again by 50 where 110 were.
    trace, archive = build(tmp_path, counter=SAMPLES)
    found = find(trace, archive, "memory_reserve")
    assert found.rows.drop("process", "device").rows() == [
        ("total", 5, 200, 130, 200, 0.35, 110, 52.5, 0.42, 2, 1, 50, 0)
    ]
    assert found.sentence == (
        "When most is allocated, 35.0 % of the 200 B reserved is not allocated; over time 42.0 % on average. More was "
        "reserved 2 times, 1 of them where as much was free."
    )
    assert found.notes[0] == "Evidence C: lifetimes of allocations only."
    assert len(found.notes) == 2
    assert archive.open(trace.id).sql(found.sql).equals(found.rows)


def test_segments_of_a_pool_are_what_is_reserved(tmp_path: Path) -> None:
    trace, archive = build(
        tmp_path,
        allocation=[_life("pool", 100, 0, None), _life("tensor", 30, 10, 40), _life("tensor", 40, 20, 30)],
    )
    found = find(trace, archive, "memory_reserve")
    assert found.rows.select(
        "source", "peak_reserved_bytes", "peak_allocated_bytes", "unused_at_peak_share"
    ).rows() == [("lives", 100, 70, 0.3)]


def test_each_device_is_told_by_itself_and_the_sentence_is_of_the_largest(tmp_path: Path) -> None:
    trace, archive = build(tmp_path, counter=[*SAMPLES, *_totals((0, 400, 100), (5, 400, 400), device=1)])
    found = find(trace, archive, "memory_reserve")
    assert found.rows.select("device", "peak_reserved_bytes").rows() == [(0, 200), (1, 400)]
    # 300 of 400 are not allocated from 0 to 5, the only stretch of time that is known
    assert (
        found.sentence
        == "When most is allocated, 0.0 % of the 400 B reserved is not allocated; over time 75.0 % on average."
    )


def test_what_is_told_of_one_alone_holds_on(tmp_path: Path) -> None:
    # before 10 nothing is known to be allocated; at 20 only what is reserved changes
    trace, archive = build(tmp_path, counter=_totals((0, 100, None), (10, None, 50), (20, 80, None)))
    rows = find(trace, archive, "memory_reserve").rows
    assert rows.select("moments", "most_unused_bytes", "mean_unused_bytes").rows() == [(2, 50, 50.0)]


def test_more_allocated_than_reserved_is_said(tmp_path: Path) -> None:
    trace, archive = build(tmp_path, counter=_totals((0, 10, 60), (10, 100, 90)))
    found = find(trace, archive, "memory_reserve")
    assert found.notes[2].startswith("At 1 moment more is allocated than reserved")


def test_the_curves_are_told_in_stretches_of_equal_time(tmp_path: Path) -> None:
    totals = _totals(*((at, 1000, at) for at in range(480)))
    trace, archive = build(tmp_path, counter=totals)
    found = find(trace, archive, "memory_reserve_usage")
    assert found.rows.select("place", "changes", "position", "reserved_bytes", "allocated_bytes").rows() == [
        (at, 2, 2.0 * at, 1000, 2 * at + 1) for at in range(240)
    ]
    assert found.sentence == "480 changes of reserved or allocated memory."
    assert archive.open(trace.id).sql(found.sql).equals(found.rows)


@pytest.mark.parametrize("name", ["memory_reserve", "memory_reserve_usage"])
def test_one_without_the_other_is_not_collected(tmp_path: Path, name: str) -> None:
    made: dict[str, tuple[Trace, Archive]] = {
        "tensors": build(tmp_path / "tensors", allocation=[_life("tensor", 30, 10, 40)]),
        "reserved": build(tmp_path / "reserved", counter=_totals((0, 100, None))),
        "nothing": build(tmp_path / "nothing", copy=[{"start_ns": 0, "end_ns": 1}]),
        "sources": build(tmp_path / "sources", counter=_totals((0, 100, None)), allocation=[_life("tensor", 9, 1, 4)]),
    }
    for pair in made.values():
        with pytest.raises(NotCollected, match="what is reserved and what is allocated"):
            find(*pair, name)
