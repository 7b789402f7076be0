from typing import Any

import numpy as np

from tests.collect.work import Notes, table
from tracelode.collect.launches import check_calls, check_launches

KERNEL = {"start_ns": 100, "end_ns": 110, "name": "k"}


def noted(*rows: dict[str, Any]) -> Notes:
    """What is noted about kernels."""
    notes = Notes()
    check_launches({"kernel": table("kernel", *rows)}, notes)
    return notes


def test_kernels_with_the_correlation_0_of_many_lose_their_launch() -> None:
    linked = {"launch": 3, "launch_ns": 90, "launch_thread": 5, "op": 2}
    rows = [KERNEL | linked | {"correlation": id} for id in (0, 0, 7)]
    found = check_launches({"kernel": table("kernel", *rows)}, Notes())["kernel"].to_pylist()
    assert [row["launch"] for row in found] == [None, None, 3]
    assert [(row["launch_ns"], row["launch_thread"], row["op"]) for row in found] == [(None,) * 3] * 2 + [(90, 5, 2)]


def test_the_largest_skew_of_work_before_its_launch_is_told() -> None:
    notes = noted(KERNEL | {"launch_ns": 150}, KERNEL | {"launch_ns": 101}, KERNEL | {"launch_ns": 100}, KERNEL)
    assert notes == [("before-launch", 2, "kernel k at 100 ns, 50 ns before its launch")]


def test_work_without_a_start_is_not_before_its_launch() -> None:
    assert noted({"start_ns": 0, "end_ns": 0, "flaw": "no start", "launch_ns": 150}) == []


def test_kernels_of_one_launch_are_counted_with_the_largest_launch() -> None:
    rows = [KERNEL | {"correlation": id} for id in (1, 2, 2, 3, 3, 3, 900_000_000)]
    assert noted(*rows) == [("shared-launch", 5, "2 launches; correlation 3 started 3 kernels")]


def test_ids_that_lie_far_apart_are_counted_as_well() -> None:
    rows = [KERNEL | {"correlation": id} for id in (0, -5, 10**15, 10**15)]
    assert noted(*rows) == [("shared-launch", 2, "1 launches; correlation 1000000000000000 started 2 kernels")]


def test_one_id_on_two_devices_is_that_of_two_launches() -> None:
    rows = [KERNEL | {"correlation": 4, "device": device, "launch": 0} for device in (0, 1)]
    assert noted(*rows).counts() == {"shared-launch": 2, "duplicate-correlation": 2}


def test_one_id_of_all_kernels_is_no_launch_unless_the_launch_is_known() -> None:
    rows = [KERNEL | {"correlation": 1}] * 3
    assert noted(*rows) == []
    assert noted(*(row | {"launch": 0} for row in rows)).counts() == {"shared-launch": 3}


def test_one_id_in_two_processes_is_two_ids() -> None:
    assert noted(*(KERNEL | {"correlation": 4, "process": process} for process in (1, 2))) == []


def test_kernels_of_no_duration_are_counted_unless_they_are_marked() -> None:
    empty = {"start_ns": 5, "end_ns": 5}
    assert noted(empty, empty | {"flaw": "overlong"}, KERNEL) == [("zero-duration", 1, "kernel at 5 ns")]


def test_graphs_as_one_row_are_noted_where_they_are_nearly_all_time() -> None:
    rows = [{"start_ns": 0, "end_ns": 91, "name": "cudaGraphLaunch"}, {"start_ns": 100, "end_ns": 109, "name": "k"}]
    assert noted(*rows) == [("graph-as-one", 1, "cudaGraphLaunch: 91% of the kernel time")]
    rows[0]["end_ns"] = 81
    assert noted(*rows) == []
    assert noted({"start_ns": 0, "end_ns": 91, "name": "void topk_graph_launcher()"}) == []


def test_calls_that_carry_an_id_again_after_its_first_call_ended_are_duplicates() -> None:
    notes = Notes()
    columns = {
        "process": [1, 1, 1, 1, 1, 2],
        "correlation": [0, 0, 5, 5, 5, 5],
        "start": [1, 50, 10, 12, 40, 40],
        "end": [2, 51, 20, 14, 45, 45],
    }
    check_calls(*(np.array(column, np.int64) for column in columns.values()), notes)
    assert notes == [("repeated-correlation", 1, "correlation 5 of process 1, again at 40 ns")]
