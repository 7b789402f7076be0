"""Traces of several processes in one file."""

import json
from pathlib import Path
from typing import Any

from tests.collect.kineto_traces import duration, read_bytes, read_events, rows_of


def _work(number: int, pid: int, lane: int, correlation: int, **marks: Any) -> list[dict[str, Any]]:
    """A call and its kernel as a tool that merges ranks writes them."""
    place = {"device": number, "stream": 7, "correlation": correlation}
    return [
        duration("cuda_runtime", "cudaLaunchKernel", pid, 1, 10 * number, 1, correlation=correlation, **marks),
        duration("kernel", f"k{number}", lane, 7, 10 * number + 2, 5, **place, **marks),
    ]


def test_lanes_marked_with_a_rank_belong_to_the_process_of_that_work(tmp_path: Path) -> None:
    """Item 49: pids renumbered by rank, correlation ids that collide all the same."""
    events = [
        *_work(0, 77, 0, 5, rank=0, pid_raw=77),
        *_work(1, 100_000_078, 100_000_001, 5, rank=1, pid_raw=78),
        duration("user_annotation", "step", "Traces", "a", 3, 1, rank=1),
    ]
    trace = read_events(tmp_path, *events)
    assert [(row["process"], row["name"], row["launch"]) for row in rows_of(trace, "kernel")] == [
        (77, "k0", 0),
        (100_000_078, "k1", 0),
    ]
    assert rows_of(trace, "process") == [
        {"process": 77, "pid": 77, "rank": 0},
        {"process": 100_000_078, "pid": 78, "rank": 1},
    ]
    assert rows_of(trace, "range")[0]["process"] == 100_000_078
    assert rows_of(trace, "kernel")[1]["args"] == {"rank": 1, "pid_raw": 78, "pid": 100_000_001}


def test_lanes_with_a_label_belong_to_the_process_with_that_label(tmp_path: Path) -> None:
    events = [*_work(0, 0, 0, 5), *_work(1, 0, 0, 5)]
    for event, pid in zip(events, ("[TP0] 77", "[TP0] 0", "[TP1] 78", "[TP1] 1"), strict=True):
        event["pid"] = pid
    trace = read_events(tmp_path, *events)
    names = {row["process"]: row["name"] for row in rows_of(trace, "process")}
    assert sorted(names.values()) == ["[TP0] 77", "[TP1] 78"]
    assert {names[row["process"]]: (row["name"], row["launch"]) for row in rows_of(trace, "kernel")} == {
        "[TP0] 77": ("k0", 0),
        "[TP1] 78": ("k1", 0),
    }


def test_unmarked_lanes_belong_to_the_process_whose_calls_they_answer(tmp_path: Path) -> None:
    trace = read_events(tmp_path, *_work(0, 77, 0, 5), *_work(1, 78, 1, 6), *_work(0, 77, 0, 8))
    assert [(row["process"], row["device"], row["launch"]) for row in rows_of(trace, "kernel")] == [
        (77, 0, 0),
        (77, 0, 1),
        (78, 1, 0),
    ]


def test_a_device_may_have_the_number_of_a_process(tmp_path: Path) -> None:
    """In a container the profiled process is often pid 1, which is a device's number as well."""
    trace = read_events(tmp_path, *_work(1, 1, 1, 5), duration("gpu_user_annotation", "step", 1, 7, 1, 9))
    (kernel,) = rows_of(trace, "kernel")
    assert (kernel["process"], kernel["device"], kernel["launch"]) == (1, 1, 0)
    (span,) = rows_of(trace, "range")
    assert (span["process"], span["device"], span["stream"]) == (1, 1, 7)


def test_device_work_alone_is_that_of_one_process_or_of_each_work(tmp_path: Path) -> None:
    """Item 48: kernels whose correlation is 0 stay without a launch."""
    alone = [_work(n, 1, n, 0)[1] for n in range(2)]
    assert [row["process"] for row in rows_of(read_events(tmp_path, *alone), "kernel")] == [0, 0]
    ranked = [_work(n, 1, 100 + n, 0, rank=n)[1] for n in range(2)]
    trace = read_events(tmp_path, *ranked)
    assert [(row["process"], row.get("launch")) for row in rows_of(trace, "kernel")] == [(100, None), (101, None)]
    assert rows_of(trace, "process") == [{"process": 100, "rank": 0}, {"process": 101, "rank": 1}]


def test_frames_of_unknown_threads_make_no_process(tmp_path: Path) -> None:
    """The profiler writes pid 0 for threads it knows nothing of."""
    frames = [duration("python_function", "run", pid, pid, ts, 1, **{"Python id": ts}) for ts, pid in ((1, 0), (2, 77))]
    trace = read_events(tmp_path, frames[0], *_work(0, 77, 0, 5), frames[1])
    assert [row["process"] for row in rows_of(trace, "range")] == [77, 77]
    assert [row["process"] for row in rows_of(trace, "process")] == [77]
    trace = read_bytes(tmp_path, json.dumps([frames[1]]).encode())
    assert [row["process"] for row in rows_of(trace, "range")] == [77]


def test_calls_of_one_graph_share_a_correlation_with_many_kernels(tmp_path: Path) -> None:
    """Items 50 to 53: replayed kernels, orphans, and no need for arrows."""
    launch, kernel = _work(0, 77, 0, 5)
    orphan = duration("kernel", "orphan", 0, 7, 50, 1, device=0, stream=7, correlation=99)
    trace = read_events(tmp_path, kernel, {**kernel, "ts": 20}, launch, orphan)
    assert [(row["name"], row.get("launch")) for row in rows_of(trace, "kernel")] == [
        ("k0", 0),
        ("k0", 0),
        ("orphan", None),
    ]
    assert {note.kind: note.count for note in trace.notes} == {"no-launch": 1, "shared-launch": 2}


def test_spans_of_a_device_without_work_belong_to_the_process_with_the_most_events(tmp_path: Path) -> None:
    calls = [_work(0, pid, 0, number)[0] for number, pid in enumerate((77, 77, 78))]
    trace = read_events(tmp_path, *calls, duration("gpu_user_annotation", "step", 5, 7, 3, 1))
    assert [(row["process"], row["name"]) for row in rows_of(trace, "range")] == [(77, "step")]


def test_a_process_of_several_ranks_owns_no_lane_by_its_rank(tmp_path: Path) -> None:
    several = [_work(0, 100, 0, 1, rank=rank)[0] for rank in (0, 1)]
    trace = read_events(tmp_path, *several, *_work(1, 200, 1, 9))
    assert [(row["process"], row["launch"]) for row in rows_of(trace, "kernel")] == [(200, 0)]
