from pathlib import Path
from typing import Any

import pytest

from tests.building import build
from tracelode.mining.mine import find
from tracelode.store import NotCollected


def _call(process: int, start: int, end: int, **more: Any) -> dict[str, Any]:
    told = {"kind": "allreduce", "input_elements": 8, "group": "0", "ranks": "[0, 1, 2]"}
    place = {"process": process, "device": 0, "stream": 20, "name": "ncclDevKernel_Generic"}
    return {**place, **told, "start_ns": start, "end_ns": end, **more}


def _skew(folder: Path, calls: list[dict[str, Any]]) -> Any:
    ranks = [{"process": process, "pid": process, "rank": process - 1} for process in (1, 2, 3)]
    return find(*build(folder, collective=calls, process=ranks), "collective_skew")


def test_the_same_collective_of_several_processes_is_told_by_its_order(tmp_path: Path) -> None:
    calls = [_call(process, 1000 * n + 10 * process, 1000 * n + 100) for n in range(3) for process in (1, 2, 3)]
    calls += [_call(2, 5000, 5100), _call(1, 5050, 5102), _call(3, 5000, 5100)]
    found = _skew(tmp_path, calls)
    assert found.rows.rows() == [("0", "[0, 1, 2]", "allreduce", 3, 4, 20, 50, 110, 0, 3, 0.75, 2)]
    assert found.sentence == (
        "4 collectives on several processes; those that lose most (allreduce) start 20 ns apart in the median, "
        "rank 2 last in 75.0 % of them."
    )
    assert found.notes == ()


def test_sequence_numbers_say_which_are_the_same(tmp_path: Path) -> None:
    calls = [_call(1, 0, 50, sequence=4), _call(1, 1000, 1050, sequence=5), _call(2, 1010, 1050, sequence=5)]
    rows = _skew(tmp_path, calls).rows
    assert rows.select("collectives", "p50_spread_ns").rows() == [(1, 10)]


def test_without_sequence_numbers_unlike_numbers_or_sizes_are_not_matched(tmp_path: Path) -> None:
    more = [_call(1, 0, 50), _call(1, 1000, 1050), _call(2, 1010, 1050)]
    assert len(_skew(tmp_path / "more", more).rows) == 0
    other = [_call(1, 0, 50), _call(2, 10, 50, input_elements=9)]
    assert len(_skew(tmp_path / "other", other).rows) == 0


def test_ends_that_lie_apart_as_far_as_starts_are_a_remark_on_clocks(tmp_path: Path) -> None:
    found = _skew(tmp_path, [_call(1, 0, 50), _call(2, 700, 750)])
    assert found.notes == (
        "The clocks may disagree: the ends of the same collective lie 700 ns apart in the median at best.",
    )


def test_groups_are_apart(tmp_path: Path) -> None:
    calls = [_call(1, 0, 50), _call(2, 5, 50), _call(1, 20, 70, group="1"), _call(3, 60, 70, group="1")]
    rows = _skew(tmp_path, calls).rows
    assert rows.select("group", "spread_ns", "late_process").rows() == [("1", 40, 3), ("0", 5, 2)]


def test_collectives_of_one_process_have_no_skew(tmp_path: Path) -> None:
    found = _skew(tmp_path, [_call(1, 0, 50), _call(1, 70, 80)])
    assert found.sentence == "No collective is recorded on more than one process."


def test_the_sql_gives_the_rows(tmp_path: Path) -> None:
    calls = [_call(1, 0, 50), _call(2, 5, 50), _call(1, 60, 70), _call(2, 60, 70)]
    trace, archive = build(tmp_path, collective=calls, process=[{"process": 1, "pid": 1}, {"process": 2, "pid": 2}])
    found = find(trace, archive, "collective_skew")
    assert len(found.rows) == 1
    assert trace.sql(found.sql).equals(found.rows)


def test_a_trace_that_tells_no_collectives_says_so(tmp_path: Path) -> None:
    with pytest.raises(NotCollected):
        find(*build(tmp_path, kernel=[{"start_ns": 0, "end_ns": 1, "name": "nccl"}]), "collective_skew")
