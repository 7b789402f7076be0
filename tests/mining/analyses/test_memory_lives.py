from pathlib import Path
from typing import Any

import pytest

from tests.building import build
from tracelode.collect.ingest import read
from tracelode.mining.mine import find
from tracelode.store import Archive
from tracelode.store.errors import NotCollected

LOG = Path(__file__).parents[3] / "data" / "samples" / "accelprof" / "hotness_net_2026-02-01_12-00-00"


def _life(size: int, birth: int | None, death: int | None, kind: str = "tensor") -> dict[str, Any]:
    row = {"process": 1, "device": 0, "kind": kind, "address": 4096}
    return row | {"bytes": size, "birth_ns": birth, "death_ns": death}


def test_lifetimes_and_sizes_are_told_with_what_stands_at_the_peak(tmp_path: Path) -> None:
    # 4096 B throughout, 1500 B from 0 to 50 and from 60 to 90, 100 B that live for no time at 10: there is the peak
    lives = [_life(1500, 0, 50), _life(1500, 60, 90), _life(4096, None, None), _life(100, 10, 10)]
    trace, archive = build(tmp_path, allocation=lives)
    found = find(trace, archive, "memory_lives")
    assert found.rows.rows() == [
        ("tensor", 0, 64, 1, 100, 1, 100),
        ("tensor", 10, 1024, 2, 3000, 1, 1500),
        ("tensor", None, 4096, 1, 4096, 1, 4096),
    ]
    assert found.sentence == (
        "Of 5.56 KiB of tensors at the peak 71.9 % lives beyond the recording, 26.3 % for 10 ns to 100 ns."
    )
    assert found.notes[0] == "Evidence C: lifetimes of allocations only."
    assert archive.open(trace.id).sql(found.sql).equals(found.rows)


def test_what_is_in_the_total_alone_is_at_the_peak_and_lives_beyond(tmp_path: Path) -> None:
    row = {"process": 1, "device": 0, "name": "memory allocated", "unit": "bytes"}
    totals = [row | {"time_ns": time, "value": float(value)} for time, value in ((0, 1100), (50, 1000))]
    trace, archive = build(tmp_path, allocation=[_life(100, 0, 50)], counter=totals)
    found = find(trace, archive, "memory_lives")
    assert found.rows.rows() == [
        ("tensor", 10, 64, 1, 100, 1, 100),
        ("tensor", None, None, None, None, None, 1000),
    ]
    assert found.sentence == (
        "Of 1.07 KiB of tensors at the peak 90.9 % lives beyond the recording, 9.1 % for 10 ns to 100 ns."
    )
    assert archive.open(trace.id).sql(found.sql).equals(found.rows)


def test_births_and_deaths_outside_the_recording_leave_the_lifetime_unknown(tmp_path: Path) -> None:
    trace, archive = build(tmp_path, allocation=[_life(8, None, 5), _life(8, 5, None), _life(0, 6, 7)])
    rows = find(trace, archive, "memory_lives").rows
    assert rows.select("from_ns", "from_bytes", "allocations", "bytes").rows() == [(1, 0, 1, 0), (None, 8, 2, 16)]


def test_what_lives_for_no_time_is_said_so(tmp_path: Path) -> None:
    trace, archive = build(tmp_path, allocation=[_life(8, 5, 5)])
    sentence = find(trace, archive, "memory_lives").sentence
    assert sentence == "Of 8 B of tensors at the peak 0.0 % lives beyond the recording, 100.0 % for no time."


def test_all_allocations_are_in_one_row_each(tmp_path: Path) -> None:
    lives = [_life(at * at, at, at + 3**at, "device" if at % 3 else "tensor") for at in range(30)]
    trace, archive = build(tmp_path, allocation=lives)
    rows = find(trace, archive, "memory_lives").rows
    assert (rows["allocations"].sum(), rows["bytes"].sum()) == (30, sum(at * at for at in range(30)))
    stands = trace.id and archive.open(trace.id).sql("select sum(bytes) from memory_life where at_peak = 1").item()
    assert rows["peak_bytes"].sum() == stands


def test_without_allocations_or_times_it_is_not_collected(tmp_path: Path) -> None:
    trace, archive = build(tmp_path, copy=[{"start_ns": 0, "end_ns": 1}])
    with pytest.raises(NotCollected):
        find(trace, archive, "memory_lives")
    log = Archive(tmp_path / "log")
    trace = read(LOG, log)[0]
    assert trace.facts.clock == "ordinal"
    with pytest.raises(NotCollected, match="with times"):
        find(trace, log, "memory_lives")
