"""Holds the generator's Kineto files against its truth and against causes."""

import gzip
import json
import sqlite3
from collections import Counter
from collections.abc import Callable
from contextlib import closing
from dataclasses import replace
from itertools import pairwise
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from data.generator import Run, Workload, truth, write_kineto, write_nsys
from data.generator.__main__ import main, write_samples

SAMPLES = Path(__file__).parents[2] / "data" / "samples"
Kineto = Callable[[Path], dict[str, Any]]
Event = dict[str, Any]


def of(events: list[Event], *categories: str) -> list[Event]:
    return [event for event in events if event.get("cat") in categories]


def start(event: Event) -> int:
    return event["start_ns"]


def end(event: Event) -> int:
    return event["end_ns"]


def time(events: list[Event]) -> int:
    return sum(event["end_ns"] - event["start_ns"] for event in events)


def test_the_header_says_what_a_modern_trace_says(made: Path, kineto: Kineto) -> None:
    file = kineto(made / "run.json")
    assert list(file) == [
        "schemaVersion", "deviceProperties", "distributedInfo", "cupti_version", "cuda_runtime_version",
        "cuda_driver_version", "profile_memory", "with_stack", "record_shapes", "trace_id", "displayTimeUnit",
        "baseTimeNanoseconds", "traceEvents", "traceName",
    ]  # fmt: skip
    assert (file["schemaVersion"], file["displayTimeUnit"], len(file["trace_id"])) == (1, "ms", 32)
    distributed = file["distributedInfo"]
    assert (distributed["rank"], distributed["world_size"], distributed["backend"]) == (0, 8, "nccl")
    named = {event["name"] for event in file["traceEvents"] if event["ph"] == "M"}
    assert named == {"process_name", "process_labels", "process_sort_index", "thread_name", "thread_sort_index"}
    assert file["traceEvents"][-1]["name"] == "Record Window End"


def test_kineto_counts_and_sums_are_the_truth(events: list[Event], told: Any) -> None:
    kernels = of(events, "kernel")
    names = Counter(kernel["name"] for kernel in kernels)
    assert len(kernels) == told["kernels"]
    assert time(kernels) == told["kernel_time_ns"]
    assert {name: one["count"] for name, one in told["kernel_names"].items()} == names
    for direction, sums in told["copies"].items():
        copies = [copy for copy in of(events, "gpu_memcpy") if f" {direction} " in copy["name"]]
        assert [len(copies), sum(copy["args"]["bytes"] for copy in copies), time(copies)] == list(sums.values())
    fills = of(events, "gpu_memset")
    assert [len(fills), sum(fill["args"]["bytes"] for fill in fills), time(fills)] == list(told["fills"].values())
    calls = Counter(call["name"] for call in of(events, "cuda_runtime", "cuda_driver"))
    assert calls == told["calls"]
    assert sum(number for name, number in calls.items() if "aunch" in name) == told["launch_calls"]
    assert Counter(wait["name"] for wait in of(events, "cuda_sync")) == told["waits"]
    assert {name: len(of(events, name)) for name in told["host_events"]} == told["host_events"]


def test_busy_and_idle_are_the_union_of_the_device_operations(operations: list[Event], told: Any) -> None:
    offset = told["clock"]["kineto"]["offset_ns"]
    edges = sorted((when, step) for one in operations for when, step in ((start(one), -1), (end(one), 1)))
    running = busy = 0
    for (when, step), (after, _) in pairwise(edges):
        running -= step
        busy += (after - when) * (running > 0)
    assert busy == told["busy_ns"]
    assert busy + told["idle_ns"] == edges[-1][0] - edges[0][0]
    assert (edges[0][0] - offset, edges[-1][0] - offset) == (told["gpu_first_ns"], told["gpu_last_ns"])


def test_each_operation_has_one_call_and_one_arrow(events: list[Event], operations: list[Event]) -> None:
    calls = of(events, "cuda_runtime", "cuda_driver")
    assert len({call["args"]["correlation"] for call in calls}) == len(calls)
    arrows = [event for event in events if event.get("cat") == "ac2g"]
    tails = {arrow["id"]: arrow for arrow in arrows if arrow["ph"] == "s"}
    heads = {arrow["id"]: arrow for arrow in arrows if arrow["ph"] == "f"}
    assert len(tails) == len(heads) == len(arrows) // 2 == len(operations)
    for one in operations:
        call, number = one["call"], one["args"]["correlation"]
        assert (tails[number]["ts"], tails[number]["tid"]) == (call["ts"], call["tid"])
        assert (heads[number]["ts"], heads[number]["tid"]) == (one["ts"], one["tid"])
        assert start(one) >= start(call) + 4000


def test_streams_run_one_operation_after_another_in_launch_order(operations: list[Event]) -> None:
    for stream in 7, 20:
        for one, after in pairwise([one for one in operations if one["tid"] == stream]):
            assert start(after) >= end(one)


def test_spans_nest_and_calls_lie_in_the_operator_they_name(events: list[Event]) -> None:
    calls = of(events, "cuda_runtime", "cuda_driver")
    spans = of(events, "cpu_op", "user_annotation", "python_function")
    for thread in {span["tid"] for span in spans}:
        opened: list[Event] = []
        for span in sorted((one for one in spans + calls if one["tid"] == thread), key=start):
            while opened and end(opened[-1]) <= start(span):
                opened.pop()
            assert not opened or end(span) <= end(opened[-1])
            opened.append(span)
    operators = {span["args"]["External id"]: span for span in of(events, "cpu_op")}
    for call in calls:
        if "External id" in call["args"]:
            operator = operators[call["args"]["External id"]]
            assert operator["tid"] == call["tid"]
            assert start(operator) <= start(call) <= end(call) <= end(operator)


def test_backward_operators_answer_forward_ones_on_another_thread(events: list[Event]) -> None:
    numbered = [span for span in of(events, "cpu_op") if "Sequence number" in span["args"]]
    forward = {span["args"]["Sequence number"]: span for span in numbered if span["args"]["Fwd thread id"] == 0}
    backward = {span["args"]["Sequence number"]: span for span in numbered if span["args"]["Fwd thread id"] == 1}
    assert forward.keys() == backward.keys()
    for number, span in forward.items():
        assert backward[number]["tid"] != span["tid"]
        assert start(backward[number]) > end(span)


def test_python_frames_name_the_frame_around_them(events: list[Event]) -> None:
    frames = {frame["args"]["Python id"]: frame for frame in of(events, "python_function")}
    assert {frame["name"] for frame in frames.values()} >= {"train.py(42): train_step", "nn.Module: Block_1"}
    for frame in frames.values():
        parent = frames.get(frame["args"]["Python parent id"])
        assert (parent is None) == (frame["name"] == "train.py(42): train_step")
        assert parent is None or start(parent) <= start(frame) <= end(frame) <= end(parent)


def test_memory_events_add_up_and_live_blocks_do_not_overlap(events: list[Event], told: Any) -> None:
    live: dict[int, int] = {}
    moves = [event["args"] for event in events if event["name"] == "[memory]"]
    total = moves[0]["Total Allocated"] - moves[0]["Bytes"]
    for move in moves:
        total += move["Bytes"]
        assert move["Total Allocated"] == total <= move["Total Reserved"]
        if move["Bytes"] < 0:
            assert live.pop(move["Addr"]) == -move["Bytes"]
        else:
            live[move["Addr"]] = move["Bytes"]
            assert all(one + size <= after for (one, size), (after, _) in pairwise(sorted(live.items())))
    assert not live
    assert told["memory"]["births"] == told["memory"]["deaths"] == len(moves) // 2
    assert told["memory"]["peak_bytes"] == max(move["Total Allocated"] for move in moves)


def test_synchronisations_return_soon_after_the_last_work_they_wait_for(
    events: list[Event], operations: list[Event]
) -> None:
    syncs = [call for call in of(events, "cuda_runtime") if "Synchronize" in call["name"]]
    waits = {wait["args"]["correlation"]: wait for wait in of(events, "cuda_sync")}
    for call in syncs:
        wait = waits[call["args"]["correlation"]]
        assert start(call) <= start(wait) <= end(wait) <= end(call)
        before = [one for one in operations if start(one["call"]) < start(call) and wait["tid"] in (one["tid"], -1)]
        done = max((end(one) for one in before), default=0)
        assert done <= end(call) <= max(done + 5000, start(call) + 12000)


def test_all_reduces_start_after_the_gradients_and_end_before_the_optimizer(operations: list[Event]) -> None:
    for place, one in enumerate(operations):
        if one["name"].startswith("nccl"):
            gradients = [end(before) for before in operations[:place] if before["tid"] == 7]
            assert start(one) >= max(gradients)
            assert one["args"]["Collective name"] == "allreduce"
            assert one["args"]["Group size"] == len(json.loads(one["args"]["Process Group Ranks"])) == 8
        if "NormFunctor" in one["name"]:
            reduced = [end(before) for before in operations[:place] if before["tid"] == 20]
            assert start(one) >= max(reduced)


def test_iterations_are_where_the_truth_has_them(events: list[Event], operations: list[Event], told: Any) -> None:
    offset = told["clock"]["kineto"]["offset_ns"]
    steps = {span["name"]: span for span in of(events, "user_annotation") if span["name"].startswith("Prof")}
    assert [f"ProfilerStep#{part['number']}" for part in told["iterations"]] == list(steps)
    for part, step in zip(told["iterations"], steps.values(), strict=True):
        inside = [one for one in operations if start(step) <= start(one["call"]) <= end(step)]
        first, number = part["first_operation"], part["operations"]
        assert inside == operations[first : first + number]
        assert part["kernels"] == len(of(inside, "kernel"))
        assert part["first_kernel"] == len(of(operations[:first], "kernel"))
        assert part["start_ns"] == min(map(start, inside)) - offset
        assert part["end_ns"] == max(map(end, inside)) - offset
    shadows = [one for one in of(events, "gpu_user_annotation") if one["tid"] == 7 and one["name"] in steps]
    assert [start(one) - offset for one in shadows] == [part["start_ns"] for part in told["iterations"]]


def test_layers_repeat_in_every_iteration_without_faults(operations: list[Event], told: Any) -> None:
    names = [one["name"] for one in operations]
    assert [(layer["name"], layer["length"], layer["repeats"]) for layer in told["layers"]] == [
        ("forward", 11, 2), ("backward", 25, 2),
    ]  # fmt: skip
    for part in told["iterations"][1:3] + told["iterations"][4:]:
        for layer in told["layers"]:
            first = part["first_operation"] + layer["offset"]
            assert names[first : first + 2 * layer["length"]] == layer["operations"] * 2


def test_planted_faults_are_in_the_file(operations: list[Event], told: Any) -> None:
    offset = told["clock"]["kineto"]["offset_ns"]
    outlier, stall, late = told["outlier"], told["stall"], told["late"][0]
    assert (outlier["iteration"], stall["iteration"], late["iteration"]) == (3, 2, 4)
    slow = operations[outlier["slow_operation"]]
    alike = sorted(time([one]) for one in operations if one["name"] == slow["name"])
    assert time([slow]) == alike[-1] > 20 * alike[-2]
    extra = {operations[place]["name"] for place in outlier["extra_operations"]}
    assert extra == {operations[outlier["slow_operation"] + 1]["name"]}
    assert told["kernel_names"][extra.pop()]["count"] == 5
    copy = operations[stall["operation"]]
    assert copy["name"] == "Memcpy HtoD (Pageable -> Device)"
    assert (copy["args"]["bytes"], start(copy) - offset, end(copy) - offset) == (
        96 * 1024 * 1024, stall["start_ns"], stall["end_ns"],
    )  # fmt: skip
    quiet = stall["start_ns"] + offset, stall["end_ns"] + offset
    assert not [one for one in of(operations, "kernel") if start(one) < quiet[1] and end(one) > quiet[0]]
    assert late["idle_to_ns"] - late["idle_from_ns"] > late["host_end_ns"] - late["host_start_ns"] > 7_000_000
    assert late["idle_from_ns"] + offset in map(end, operations)
    assert not [one for one in operations if late["idle_from_ns"] < end(one) - offset <= late["idle_to_ns"]]


def test_warm_up_is_slower_and_tunes(told: Any) -> None:
    cold, steady = told["iterations"][0], told["iterations"][1]
    assert told["warm_up"] == [0]
    assert cold["operations"] == steady["operations"] + 12
    assert cold["end_ns"] - cold["start_ns"] > 1.2 * (steady["end_ns"] - steady["start_ns"])


def test_a_run_without_annotations_has_no_iteration_markers(tmp_path: Path, small: Workload, kineto: Kineto) -> None:
    run = Run(replace(small, annotations=False))
    write_kineto(run, tmp_path / "bare.json")
    found = kineto(tmp_path / "bare.json")["traceEvents"]
    assert {event["name"] for event in of(found, "user_annotation")} == {"nccl:all_reduce"}
    assert "ProfilerStep" not in (tmp_path / "bare.json").read_text()
    assert len(of(found, "kernel")) == truth(Run(small))["kernels"]


def test_edits_change_the_kernels_by_what_the_truth_says(small: Workload) -> None:
    plain = truth(Run(small))
    changed = truth(Run(replace(small, insert_rate=0.05, delete_rate=0.04, substitute_rate=0.03)))
    totals = Counter[str]()
    for part, before in zip(changed["iterations"], plain["iterations"], strict=True):
        edits = part["edits"]
        assert part["kernels"] == before["kernels"] + edits["inserted"] - edits["deleted"]
        totals.update(edits)
    names = changed["kernel_names"]
    assert min(totals["inserted"], totals["deleted"], totals["substituted"]) > 0
    assert sum(one["count"] for name, one in names.items() if "CopyFunctor" in name) == totals["inserted"]
    assert sum(one["count"] for name, one in names.items() if "ClampFunctor" in name) == totals["substituted"]


def test_evaluations_and_checkpoints_come_between_iterations(small: Workload) -> None:
    told = truth(Run(replace(small, evaluate_every=2, checkpoint_every=4)))
    iterations, evaluations, checkpoints = told["iterations"], told["evaluations"], told["checkpoints"]
    assert (len(iterations), len(evaluations), len(checkpoints)) == (5, 2, 1)
    assert iterations[1]["end_ns"] < evaluations[0]["start_ns"] < iterations[2]["start_ns"]
    assert evaluations[1]["end_ns"] < checkpoints[0]["start_ns"] < iterations[4]["start_ns"]
    assert [part["operations"] for part in (*evaluations, *checkpoints)] == [
        2 * (2 + 1 + 22 + 4) + 1,
        2 * (2 + 1 + 22 + 4) + 1,
        2,
    ]
    assert told["operations"] == sum(part["operations"] for part in (*iterations, *evaluations, *checkpoints))


def test_a_slow_rank_makes_the_other_wait_in_the_all_reduce(tmp_path: Path, kineto: Kineto) -> None:
    pair = Workload(iterations=3, layers=2, warm_up=0, world_size=2, ranks=2, straggler=1, seed=5)
    reduces = []
    for rank in range(2):
        write_kineto(Run(replace(pair, rank=rank)), tmp_path / f"{rank}.json")
        found = kineto(tmp_path / f"{rank}.json")
        assert found["distributedInfo"]["rank"] == rank
        reduces.append([one for one in of(found["traceEvents"], "kernel") if one["name"].startswith("nccl")])
    assert len(reduces[0]) == len(reduces[1]) == 6
    assert list(map(end, reduces[0])) == list(map(end, reduces[1]))
    assert time(reduces[0]) > 2 * time(reduces[1])
    assert {one["args"]["device"] for one in reduces[1]} == {1}


def test_one_rank_alone_reduces_nothing(tmp_path: Path, small: Workload) -> None:
    run = Run(replace(small, world_size=1))
    write_kineto(run, tmp_path / "alone.json")
    assert truth(run)["streams"] == [7]
    assert "nccl" not in (tmp_path / "alone.json").read_text()


def test_equal_workloads_give_equal_bytes_and_other_seeds_other_ones(
    made: Path, tmp_path: Path, small: Workload
) -> None:
    for name, workload in ("same", small), ("other", replace(small, seed=4)):
        write_kineto(Run(workload), tmp_path / f"{name}.json.gz")
        write_nsys(Run(workload), tmp_path / f"{name}.sqlite")
    assert gzip.decompress((tmp_path / "same.json.gz").read_bytes()) == (made / "run.json").read_bytes()
    assert (tmp_path / "same.sqlite").read_bytes() == (made / "run.sqlite").read_bytes()
    assert gzip.decompress((tmp_path / "other.json.gz").read_bytes()) != (made / "run.json").read_bytes()


def test_a_run_of_any_length_is_played_one_iteration_at_a_time() -> None:
    endless = Run(Workload(iterations=10**9, annotations=False)).segments()
    assert [next(endless).number for _ in range(3)] == [0, 1, 2]


@pytest.mark.parametrize(
    ("options", "complaint"),
    [
        ({"iterations": 0}, "at least one iteration"),
        ({"layers": 0}, "at least one iteration and one layer"),
        ({"rank": 1}, "rank 1 of 1 ranks played"),
        ({"ranks": 9}, "of 9 ranks played, of 8 in the world"),
        ({"noise": 0.5}, "noise 0.5"),
        ({"insert_rate": -0.1}, "no shares"),
        ({"delete_rate": 0.7, "substitute_rate": 0.7}, "no shares"),
    ],
)
def test_impossible_workloads_are_refused(options: dict[str, Any], complaint: str) -> None:
    with pytest.raises(ValueError, match=complaint):
        Workload(**options)


@settings(deadline=None, max_examples=25)
@given(
    workload=st.builds(
        Workload,
        iterations=st.integers(1, 4), layers=st.integers(1, 3), warm_up=st.integers(0, 2), seed=st.integers(0, 999),
        ranks=st.integers(1, 2), world_size=st.integers(2, 4), straggler=st.sampled_from([None, 0, 1]),
        outlier=st.sampled_from([None, 0, 1]), stall=st.sampled_from([None, 0, 2]), noise=st.floats(0, 0.19),
        insert_rate=st.floats(0, 0.3), delete_rate=st.floats(0, 0.3), evaluate_every=st.integers(0, 2),
        checkpoint_every=st.integers(0, 2), memory_events=st.booleans(), annotations=st.booleans(),
    )
)  # fmt: skip
def test_every_run_obeys_causes(workload: Workload) -> None:
    free = {7: 0, 20: 0}
    now = works = 0
    for segment in Run(workload).segments():
        for call in segment.calls:
            assert now <= call.start_ns < call.end_ns
            now = call.end_ns
            if call.work is not None:
                work = call.work
                assert max(free[work.stream], call.start_ns + 1) <= work.start_ns < work.end_ns
                free[work.stream] = work.end_ns
                works += 1
        for wait in segment.waits:
            assert wait.start_ns < wait.end_ns
        assert max(free.values()) <= segment.end_ns
    told = truth(Run(workload))
    assert works == told["operations"]
    assert told["busy_ns"] + told["idle_ns"] == told["gpu_last_ns"] - told["gpu_first_ns"]


def test_the_samples_are_what_the_generator_writes(tmp_path: Path) -> None:
    write_samples(tmp_path)
    names = sorted(str(path.relative_to(tmp_path)) for path in tmp_path.rglob("*") if path.is_file())
    kept = sorted(str(path.relative_to(SAMPLES)) for path in SAMPLES.rglob("*") if path.is_file())
    assert set(names) <= set(kept)
    for name in names:
        if (SAMPLES / name).read_bytes().startswith(b"SQLite format 3"):  # whose header holds the library's version
            with closing(sqlite3.connect(tmp_path / name)) as new, closing(sqlite3.connect(SAMPLES / name)) as old:
                assert list(new.iterdump()) == list(old.iterdump())
        elif name.endswith(".gz"):
            assert gzip.decompress((tmp_path / name).read_bytes()) == gzip.decompress((SAMPLES / name).read_bytes())
        else:
            assert (tmp_path / name).read_bytes() == (SAMPLES / name).read_bytes()


def test_the_command_writes_the_samples(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("sys.argv", ["generator", str(tmp_path / "new"), "--seed", "5"])
    main()
    assert json.loads((tmp_path / "new" / "train.truth.json").read_text())["seed"] == 5
    assert (tmp_path / "new" / "two-ranks" / "rank1.json.gz").is_file()


def test_the_samples_stay_small() -> None:
    sizes = {str(path.relative_to(SAMPLES)): path.stat().st_size for path in SAMPLES.rglob("*") if path.is_file()}
    assert sizes["train.json.gz"] < 400_000
    assert sizes["train.sqlite"] < 1_500_000
    assert sum(sizes.values()) < 3_000_000
