from pathlib import Path

import polars as pl
import pytest

from tests.building import build
from tests.mining.programs import KERNEL_NS, PACE_NS, STEP, WAIT_NS, train
from tracelode.mining.mine import find
from tracelode.store import NotCollected

GAP = PACE_NS - KERNEL_NS


def test_the_steps_are_what_lies_right_below_an_iteration(tmp_path: Path) -> None:
    found = find(*train(tmp_path, *[STEP] * 12), "flow")
    between = 11 * (WAIT_NS + GAP) / 12
    assert found.rows.select("step", "name", "repeat", "time_ns", "before_ns", "inside_ns").rows() == [
        (1, "read", 1, KERNEL_NS, between, 0),
        (2, "gemm: project_gemm", 4, 12 * KERNEL_NS, GAP, 11 * GAP),
        (3, "loss", 1, KERNEL_NS, GAP, 0),
        (4, "gemm: back_gemm", 5, 10 * KERNEL_NS, GAP, 9 * GAP),
        (5, "adam", 1, KERNEL_NS, GAP, 0),
    ]
    assert found.sentence == (
        "In a typical iteration device 0 is busy for 15 µs and idle for 14.6 µs (12 iterations); it waits longest "
        f"before read: 4.95 µs, 34.0 % of the idle time (cause: {found.rows['cause'][0]})."
    )


def test_less_costly_neighbours_are_one_step(tmp_path: Path) -> None:
    step = [f"small_{at}" for at in range(6)] + ["gemm"] + [f"tiny_{at}" for at in range(5)]
    longer = {12 * iteration + 6: 9_000 for iteration in range(10)}
    found = find(*train(tmp_path, *[step] * 10, longer=longer), "flow")
    rows = found.rows
    assert rows["nodes"].sum() == 12
    assert rows.filter(rows["name"] == "gemm").select("nodes", "time_ns").rows() == [(1, 9_600.0)]
    merged = rows.filter(rows["nodes"] > 1)
    assert merged.select(pl.col("name").str.contains("^[0-9]+ others, most in ")).to_series().all()


def test_times_of_the_steps_add_up_to_those_of_the_device(tmp_path: Path) -> None:
    trace, archive = train(tmp_path, *[STEP] * 12, longer={30: 77, 100: 5_000})
    rows = find(trace, archive, "flow").rows
    segments = archive.open(trace.id).segment.collect()
    idle = segments.filter(segments["state"] == "idle")
    assert rows["total_ns"].sum() == 300 * KERNEL_NS + 5_077
    whole = (idle["end_ns"] - idle["start_ns"]).sum()
    assert 12 * (rows["before_ns"].sum() + rows["inside_ns"].sum()) == pytest.approx(whole)


def test_what_follows_the_iterations_is_not_in_their_last_step(tmp_path: Path) -> None:
    trace, archive = train(tmp_path, *[STEP] * 8, [f"save_{at}" for at in range(6)])
    assert find(trace, archive, "flow").rows["inside_ns"].to_list()[-1] == 0


def test_the_sql_gives_the_rows(tmp_path: Path) -> None:
    trace, archive = train(tmp_path, *[STEP] * 12)
    found = find(trace, archive, "flow")
    assert archive.open(trace.id).sql(found.sql).equals(found.rows)


def test_without_iterations_there_is_no_typical_one(tmp_path: Path) -> None:
    found = find(*train(tmp_path, [f"kernel_{number}" for number in range(30)]), "flow")
    assert found.sentence == "No iterations were found, so there is no typical one."


def test_a_trace_without_device_work_was_not_collected(tmp_path: Path) -> None:
    with pytest.raises(NotCollected):
        find(*build(tmp_path, api=[{"start_ns": 0, "end_ns": 1}]), "flow")
