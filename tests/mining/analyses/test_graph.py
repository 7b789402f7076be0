from pathlib import Path

import pytest

from tests.building import build
from tests.mining.programs import KERNEL_NS, STEP, train
from tracelode.mining.mine import find
from tracelode.store import NotCollected

WHOLE = 12 * len(STEP) * KERNEL_NS


def test_the_nodes_are_told_the_most_time_first(tmp_path: Path) -> None:
    found = find(*train(tmp_path, *[STEP] * 12), "graph")
    assert found.rows.select("kind", "name", "count", "time_ns").rows()[:5] == [
        ("device", "device 0", 1, WHOLE),
        ("iterations", "iterations", 12, WHOLE),
        ("iteration", "iteration", 12, WHOLE),
        ("loop", "gemm: project_gemm", 48, 48 * 3 * KERNEL_NS),
        ("loop", "gemm: back_gemm", 60, 60 * 2 * KERNEL_NS),
    ]
    assert found.sentence == (
        "100.0 % of the 180 µs that device 0 is busy are in iterations (12 iterations, busy for 15 µs in the median); "
        "the costliest repeated block is gemm: project_gemm × 4 (48.0 %), the costliest operation back_gemm (20.0 %, "
        "which varies by 0.0 %)."
    )


def test_rows_say_where_a_node_begins_in_the_one_around_it(tmp_path: Path) -> None:
    rows = find(*train(tmp_path, *[STEP] * 12), "graph").rows.sort("node")
    inside = rows.filter(rows["parent"] == 2)
    per_iteration = 12 * KERNEL_NS
    assert inside["before_ns"].to_list() == [at * per_iteration for at in (0, 1, 13, 14, 24)]
    assert inside["siblings"].to_list() == [5] * 5
    assert inside["count_per_unit"].to_list() == [1.0, 4.0, 1.0, 5.0, 1.0]
    assert inside["time_per_unit_ns"].to_list() == [at * KERNEL_NS for at in (1.0, 12.0, 1.0, 10.0, 1.0)]


def test_the_sql_gives_the_rows(tmp_path: Path) -> None:
    trace, archive = train(tmp_path, *[STEP] * 12)
    found = find(trace, archive, "graph")
    assert archive.open(trace.id).sql(found.sql).equals(found.rows)


def test_nodes_that_take_next_to_nothing_are_left_out(tmp_path: Path) -> None:
    names = {"long": 100_000, "short": 100}
    kernels = [
        {"start_ns": 200_000 * at, "end_ns": 200_000 * at + names[name], "name": name}
        for at, name in enumerate(["long", "short"])
    ]
    found = find(*build(tmp_path, kernel=kernels), "graph")
    assert found.rows.filter(found.rows["kind"] == "operation")["name"].to_list() == ["long"]
    assert found.sentence.startswith("Device 0 is busy for 100 µs, without iterations; the costliest operation long")


def test_work_without_duration_says_so(tmp_path: Path) -> None:
    found = find(*build(tmp_path, kernel=[{"start_ns": 5, "end_ns": 5, "name": "k"}]), "graph")
    assert found.sentence == "No device work takes any time in this trace."
    assert not len(found.rows)


def test_a_trace_without_device_work_was_not_collected(tmp_path: Path) -> None:
    with pytest.raises(NotCollected):
        find(*build(tmp_path, api=[{"start_ns": 0, "end_ns": 1}]), "graph")
