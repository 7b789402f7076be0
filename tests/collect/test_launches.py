from typing import Any

import numpy as np

from tests.collect.work import Notes, table
from tracelode.collect.launches import Launches, check_calls, check_shared, note_zero

KERNEL = {"start_ns": 100, "end_ns": 110, "name": "k"}


def noted(*blocks: list[dict[str, Any]]) -> Notes:
    """What is noted about kernels that come in these blocks."""
    notes, launches = Notes(), Launches()
    for rows in blocks:
        launches.check({"kernel": table("kernel", *rows)})
    launches.tell(notes)
    return notes


def shared(ids: list[int], device: list[int] | None = None, process: list[int] | None = None, **how: bool) -> Notes:
    """What is noted about the correlations of kernels."""
    notes = Notes()
    columns = (process or [1] * len(ids), ids, device or [0] * len(ids))
    rows = np.array(columns, np.int64)
    pieces = [tuple(rows[:, :2]), tuple(rows[:, 2:])] if len(ids) > 2 else [tuple(rows)]
    check_shared(lambda: pieces, notes, linked=how.get("linked", True))
    return notes


def test_the_largest_skew_of_work_before_its_launch_is_told() -> None:
    rows = [KERNEL | {"launch_ns": launch} for launch in (101, 100, None)]
    worst = KERNEL | {"launch_ns": 150, "name": "late"}
    told = [("before-launch", 2, "kernel late at 100 ns, 50 ns before its launch")]
    assert noted([worst, *rows]) == noted(rows, [worst]) == noted([worst], rows) == told


def test_work_without_a_start_is_not_before_its_launch() -> None:
    assert noted([{"start_ns": 0, "end_ns": 0, "flaw": "no start", "launch_ns": 150}]) == []


def test_kernels_of_one_launch_are_counted_with_the_largest_launch() -> None:
    notes = shared([1, 2, 2, 3, 3, 3, 900_000_000])
    assert notes == [("shared-launch", 5, "2 launches; correlation 3 started 3 kernels")]


def test_ids_that_lie_far_apart_are_counted_as_well() -> None:
    notes = shared([0, -5, 10**15, 10**15])
    assert notes == [("shared-launch", 2, "1 launches; correlation 1000000000000000 started 2 kernels")]


def test_one_id_on_two_devices_is_that_of_two_launches() -> None:
    assert shared([4, 4], [0, 1]).counts() == {"shared-launch": 2, "duplicate-correlation": 2}


def test_one_id_of_all_kernels_is_no_launch_unless_the_launch_is_known() -> None:
    assert shared([1, 1, 1], linked=False) == []
    assert shared([1, 1, 1]).counts() == {"shared-launch": 3}
    assert shared([1, 1, 2], linked=False).counts() == {"shared-launch": 2}


def test_one_id_in_two_processes_is_two_ids() -> None:
    assert shared([4, 4], process=[1, 2]) == []
    assert shared([4, 4, 4], process=[1, 2, 1]).counts() == {"shared-launch": 2}


def test_zeros_are_noted_with_the_first_of_them() -> None:
    notes = Notes()
    note_zero("kernel", 2, table("kernel", KERNEL), notes)
    assert notes == [("zero-correlation", 2, "kernel k at 100 ns")]


def test_kernels_of_no_duration_are_counted_unless_they_are_marked() -> None:
    empty = {"start_ns": 5, "end_ns": 5}
    assert noted([empty, empty | {"flaw": "overlong"}, KERNEL]) == [("zero-duration", 1, "kernel at 5 ns")]
    assert noted([empty], [KERNEL], [empty | {"start_ns": 2, "end_ns": 2}]) == [("zero-duration", 2, "kernel at 5 ns")]


def test_graphs_as_one_row_are_noted_where_they_are_nearly_all_time() -> None:
    rows = [{"start_ns": 0, "end_ns": 91, "name": "cudaGraphLaunch"}, {"start_ns": 100, "end_ns": 109, "name": "k"}]
    assert noted(rows) == noted(rows[:1], rows[1:]) == [("graph-as-one", 1, "cudaGraphLaunch: 91% of the kernel time")]
    rows[0]["end_ns"] = 81
    assert noted(rows) == noted(rows[1:], rows[:1]) == []
    assert noted([{"start_ns": 0, "end_ns": 91, "name": "void topk_graph_launcher()"}]) == []


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
