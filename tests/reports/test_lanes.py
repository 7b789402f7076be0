from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pytest

from tests.building import build
from tests.mining.programs import STEP, train
from tracelode.mining.finding import Finding
from tracelode.mining.mine import find
from tracelode.reports.lanes import timeline
from tracelode.reports.report import Timeline
from tracelode.reports.timeline import busy_ns
from tracelode.store import Archive, Trace


def timeline_of(trace: Trace, archive: Archive) -> Timeline:
    def ask(name: str) -> Finding:
        return find(trace, archive, name)

    return timeline(trace, ask)


KERNELS: list[dict[str, Any]] = [
    {"start_ns": 100, "end_ns": 200, "name": "gemm", "correlation": 1},
    {"start_ns": 100, "end_ns": 200, "name": "add", "correlation": 2},
    {"start_ns": 100, "end_ns": 100, "name": "gemm", "correlation": 3},
    {"start_ns": 150, "end_ns": 260, "name": None, "correlation": 4},
    {"start_ns": 300, "end_ns": 310, "name": "gemm", "correlation": 5, "stream": 20},
    {"start_ns": 400, "end_ns": 410, "name": "gemm", "correlation": 6, "stream": 21},
    {"start_ns": 0, "end_ns": 0, "name": "gemm", "correlation": 7, "flaw": "no start"},
]


@pytest.fixture
def mixed(tmp_path: Path) -> tuple[Trace, Archive]:
    copies = [{"start_ns": 250, "end_ns": 290, "bytes": 4096, "correlation": 8}]
    return build(tmp_path, kernel=KERNELS, copy=copies)


def test_a_lane_is_a_stream_sorted_by_start_then_end_then_name(mixed: tuple[Trace, Archive]) -> None:
    shown = timeline_of(*mixed)
    assert [lane.label for lane in shown.lanes] == [
        "process 1 device 0 stream 7",
        "process 1 device 0 stream 20",
        "process 1 device 0 stream 21",
    ]
    lane = shown.lanes[0]
    found = zip(lane.start_ns, lane.duration_ns, [shown.names[at] for at in lane.name], strict=True)
    assert list(found) == [
        (100, 0, "gemm"),
        (100, 100, "add"),
        (100, 100, "gemm"),
        (150, 110, "(no name)"),
        (250, 40, "copy HtoD"),
    ]


def test_operations_without_a_start_have_no_place_and_are_counted(mixed: tuple[Trace, Archive]) -> None:
    assert timeline_of(*mixed).left_out == 1


def test_the_query_of_a_lane_gives_its_rows_and_that_of_the_timeline_all(mixed: tuple[Trace, Archive]) -> None:
    shown, trace = timeline_of(*mixed), mixed[0]
    for lane in shown.lanes:
        rows = trace.sql(f"select * from ({lane.sql}) order by start_ns, end_ns, name")
        assert rows["start_ns"].to_list() == list(lane.start_ns)
        assert (rows["end_ns"] - rows["start_ns"]).to_list() == list(lane.duration_ns)
        assert rows["name"].to_list() == [shown.names[at] for at in lane.name]
    assert len(trace.sql(shown.sql)) == sum(len(lane.start_ns) for lane in shown.lanes) == 7


def test_the_query_for_the_busy_time_gives_that_of_each_lane(mixed: tuple[Trace, Archive]) -> None:
    shown = timeline_of(*mixed)
    rows = mixed[0].sql(shown.busy_sql)
    assert rows["operations"].to_list() == [len(lane.start_ns) for lane in shown.lanes]
    assert rows["busy_ns"].to_list() == [busy_ns(lane.start_ns, lane.duration_ns) for lane in shown.lanes]
    assert rows["busy_ns"].to_list() == [190, 10, 10]


def rows_of(durations: list[int], marks: list[str | None]) -> Callable[[str], Finding]:
    ends = np.cumsum(durations)
    iterations = pl.DataFrame(
        {
            "process": [1] * len(durations),
            "iteration": range(len(durations)),
            "start_ns": ends - durations + 2,
            "end_ns": ends,
            "wait_ns": [2] * len(durations),
            "duration_ns": durations,
            "mark": marks,
        },
        schema_overrides={"mark": pl.String},
    )
    none = pl.DataFrame(schema={"pattern": pl.Int32, "process": pl.Int64, "start_ns": pl.Int64, "end_ns": pl.Int64})
    return lambda name: Finding(name, "", iterations if name == "iteration_times" else none, "")


def test_the_typical_the_slow_the_first_and_the_last_iteration_are_worth_going_to(tmp_path: Path) -> None:
    trace, _ = build(tmp_path, kernel=[{"start_ns": 5, "end_ns": 9, "name": "a"}])
    marks = ["warm-up", None, None, "slow", None]
    assert timeline(trace, rows_of([90, 12, 10, 50, 11], marks)).wanted == (
        (152 + 10, 152 + 21, "typical iteration 4"),
        (112, 162, "slow iteration 3"),
        (0, 90, "first iteration 0"),
        (162, 173, "last iteration 4"),
    )


def test_where_none_is_slow_the_longest_is_worth_going_to(tmp_path: Path) -> None:
    trace, _ = build(tmp_path, kernel=[{"start_ns": 5, "end_ns": 9, "name": "a"}])
    found = timeline(trace, rows_of([10, 12, 11], [None] * 3)).wanted
    assert [label for _, _, label in found] == [
        "typical iteration 2",
        "longest iteration 1",
        "first iteration 0",
        "last iteration 2",
    ]


def test_of_several_processes_the_one_with_most_iterations_is_gone_to(tmp_path: Path) -> None:
    times = [{"start_ns": 10 * at, "end_ns": 10 * at + 4, "name": name} for at, name in enumerate(STEP * 12)]
    kernels = [{"process": process} | one for process in (3, 4) for one in times]
    wanted = timeline_of(*build(tmp_path, kernel=kernels)).wanted
    assert [label for _, _, label in wanted][-1] == "last iteration 11 of process 3"


def test_a_trace_with_iterations_shows_them_and_its_patterns(tmp_path: Path) -> None:
    shown = timeline_of(*train(tmp_path, *[STEP] * 12))
    assert list(dict.fromkeys(overlay.group for overlay in shown.overlays)) == ["iterations", "patterns"]
    assert len(shown.overlays[0].spans) == 12
    assert shown.base_ns <= min(start for overlay in shown.overlays for start, _, _ in overlay.spans)


def test_a_trace_without_iterations_has_its_lanes(mixed: tuple[Trace, Archive]) -> None:
    shown = timeline_of(*mixed)
    assert shown.wanted == ()
    assert [overlay.label for overlay in shown.overlays] == ["copies HtoD"]
