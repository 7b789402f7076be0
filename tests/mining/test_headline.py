from pathlib import Path
from typing import Any

import pytest

from tests.made_runs import BODY, add, after, members, operations
from tracelode.mining.headline import HEADLINE, statement, steps
from tracelode.mining.measured_run import mined
from tracelode.mining.mine import find
from tracelode.store import Archive

Tables = dict[str, list[dict[str, Any]]]


def _values(folder: Path, *ranks: Tables, whole: bool = False) -> dict[str, float]:
    """The values of a run of those ranks."""
    archive = Archive(folder / "archive")
    traces = mined(members(*(add(archive, f"rank{at}", tables) for at, tables in enumerate(ranks))), archive)
    rows = archive.sql(statement({"one": traces}, whole=whole)).rows()
    assert {run for _, run, _ in rows} <= {"one"}
    return {name: value for name, _, value in rows}


def test_there_are_at_most_ten_metrics_each_with_a_name_of_its_own() -> None:
    assert len({one.name for one in HEADLINE}) == len(HEADLINE) <= 10
    assert [one.name for one in HEADLINE if one.better == "higher"] == ["busy_share"]


def test_values_are_those_of_an_iteration_and_what_was_not_collected_has_none(tmp_path: Path) -> None:
    assert _values(tmp_path, operations(10)) == {
        "iteration_p50_ns": 100.0,
        "iteration_p95_ns": 100.0,
        "busy_share": pytest.approx(700 / 994),  # the first iteration has no wait before it
        "exposed_communication_ns": 20.0,
        "idle_ns": pytest.approx(294 / 10),
        "copied_bytes": 128.0,
        "kernels": 4.0,
    }


def test_the_percentile_sees_one_slow_iteration_that_the_median_does_not(tmp_path: Path) -> None:
    tables = operations(10)
    tables["kernel"][-1]["end_ns"] += 40
    found = _values(tmp_path, tables)
    assert found["iteration_p50_ns"] == 100
    assert found["iteration_p95_ns"] == pytest.approx(100 + 0.55 * 40)  # at 8.55 of 0 to 9


def test_the_slowest_rank_tells_the_time_and_all_together_the_bytes_and_kernels(tmp_path: Path) -> None:
    found = _values(tmp_path, operations(10), operations(10, length={"b": 50}))
    assert (found["iteration_p50_ns"], found["copied_bytes"], found["kernels"]) == (120, 256, 8)
    assert found["busy_share"] == pytest.approx((700 / 994 + 900 / 1194) / 2)


def test_copies_of_which_no_size_is_told_are_no_copies_of_nothing(tmp_path: Path) -> None:
    tables = operations(10)
    for row in tables["copy"]:
        row["bytes"] = None
    assert _values(tmp_path / "untold", tables)["copied_bytes"] is None
    away = operations(10)
    for row in away["copy"]:
        row["kind"] = "DtoH"
    assert _values(tmp_path / "away", away)["copied_bytes"] == 0


def test_warm_up_never_counts(tmp_path: Path) -> None:
    early = operations(2, [*BODY, "autotune", "autotune"], length={"autotune": 300})
    found = _values(tmp_path, after(early, operations(12)))
    assert (found["iteration_p50_ns"], found["iteration_p95_ns"], found["kernels"]) == (100, 100, 4)


def test_first_iterations_that_only_take_longer_are_warm_up_as_in_a_report(tmp_path: Path) -> None:
    warming = after(operations(3, length={"b": 90}, gaps={"c": 46}), operations(10))
    found = _values(tmp_path / "one", warming)
    assert (found["iteration_p50_ns"], found["iteration_p95_ns"]) == (100, 100)
    assert (found["busy_share"], found["idle_ns"]) == (pytest.approx(0.7), 30)  # of 100 ns, none without its wait
    archive = Archive(tmp_path / "archive")
    ranks = [add(archive, f"rank{at}", tables) for at, tables in enumerate((operations(10), warming))]
    traces = mined(members(*ranks), archive)
    counted = archive.sql(f"with {steps({'one': [trace.id for trace in traces]})} select steps from counted order by 1")
    assert counted["steps"].to_list() == [10, 10]
    marks = find(ranks[1], archive, "iteration_times").rows["mark"].to_list()
    assert marks == ["warm-up"] * 3 + [None] * 10


def test_a_slow_iteration_after_the_first_usual_one_counts(tmp_path: Path) -> None:
    tables = after(operations(8), after(operations(1, length={"b": 90}), operations(1)))
    assert _values(tmp_path, tables)["iteration_p95_ns"] == pytest.approx(100 + 0.55 * 60)  # at 8.55 of 0 to 9


def test_as_a_whole_a_process_is_one_iteration(tmp_path: Path) -> None:
    found = _values(tmp_path, operations(10), whole=True)
    assert (found["iteration_p50_ns"], found["kernels"], found["copied_bytes"]) == (994, 40, 1280)
    assert found["busy_share"] == pytest.approx(700 / 994)


def test_the_peak_is_that_of_tensors_on_the_fullest_device(tmp_path: Path) -> None:
    counts = [
        (0, "allocated", 10),
        (0, "allocated", 70),
        (0, "allocated", 40),
        (1, "allocated", 50),
        (0, "reserved", 99),
    ]
    rows: list[dict[str, Any]] = [
        {"process": 1, "device": device, "name": f"memory {name}", "time_ns": 1_000 + at, "value": float(bytes_)}
        for at, (device, name, bytes_) in enumerate(counts)
    ]
    assert _values(tmp_path, operations(10) | {"counter": rows})["peak_memory_bytes"] == 70


def test_moves_of_managed_memory_in_iterations_are_counted_in_both_directions(tmp_path: Path) -> None:
    tables = operations(10)
    tables["copy"] += [
        {"kind": kind, "bytes": 4096, "start_ns": start, "end_ns": start + 2, "address": 1 << 21, "stream": 0}
        for kind, start in (("UVM_HtoD", 1_110), ("UVM_DtoH", 1_210), ("UVM_HtoD", 1_310), ("UVM_HtoD", 9_000))
    ]
    assert _values(tmp_path, tables)["uvm_bytes"] == 3 * 4096 / 10  # the last move is after all iterations


def test_without_work_of_devices_there_are_no_values(tmp_path: Path) -> None:
    assert _values(tmp_path, {"op": [{"name": "add", "start_ns": 1, "end_ns": 2}]}, whole=True) == {}
