"""Footprints, working sets, lives and accesses, each on a trace small enough to do by hand."""

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from data.generator.accelprof import Allocation, Launch, app_metric
from tests.building import build
from tracelode.collect.ingest import read
from tracelode.mining.mine import find, mine
from tracelode.mining.workload_runs import runs
from tracelode.store import Archive, Trace
from tracelode.store.errors import NotCollected

SAMPLES = Path(__file__).parents[3] / "data" / "samples" / "accelprof"
GIB = 1 << 30


def _life(size: int, birth: int | None, death: int | None, **more: Any) -> dict[str, Any]:
    base = {"process": 1, "device": 0, "kind": "tensor", "address": 4096}
    return base | {"bytes": size, "birth_ns": birth, "death_ns": death, **more}


def _kernel(start: int, name: str = "k", **more: Any) -> dict[str, Any]:
    return {"name": name, "start_ns": start, "end_ns": start + 1, **more}


def _sample(folder: Path, name: str) -> tuple[Trace, Archive]:
    archive = Archive(folder / "archive")
    return read(SAMPLES / name, archive)[0], archive


def test_peak_and_the_two_means_are_three_numbers(tmp_path: Path) -> None:
    # 100 B from 0 to 100 and 300 B more from 10 to 20; launches at 5, 15 and 16.
    # Over launches: (100 + 400 + 400) / 3 = 300; over time: (100 × 100 + 300 × 10) / 100 = 130.
    trace, archive = build(
        tmp_path,
        allocation=[_life(100, 0, 100), _life(300, 10, 20, address=8192)],
        kernel=[_kernel(5), _kernel(15), _kernel(16)],
    )
    found = find(trace, archive, "memory_footprint")
    columns = ("granularity", "source", "peak_bytes", "peak_event", "peak_ns", "launch_mean_bytes", "time_mean_bytes")
    assert found.rows.select(columns).rows() == [("tensor", "lives", 400, 1, 10, 300.0, 130.0)]
    assert (
        found.sentence
        == "At the peak 400 B of tensors are allocated, on average 300 B at a launch and 130 B over time."
    )
    assert found.notes[0] == "Evidence C: lifetimes of allocations only."
    assert archive.open(trace.id).sql(found.sql).equals(found.rows)


def test_launches_before_the_first_change_are_in_no_mean(tmp_path: Path) -> None:
    # 100 B from 10 on, 300 B more from 20 on. Launches at 4 and 9: not known; at 11, 15, 25: 100, 100, 400: mean 200.
    ops = [
        {
            "id": at,
            "name": "aten::relu",
            "start_ns": start,
            "end_ns": start + 3,
            "shapes": "[[10]]",
            "types": '["float"]',
        }
        for at, start in enumerate((3, 10))
    ]
    trace, archive = build(
        tmp_path,
        allocation=[_life(100, 10, None), _life(300, 20, None, address=8192)],
        op=ops,
        api=[{"start_ns": at, "end_ns": at + 1, "correlation": at} for at in (4, 11)],
        kernel=[_kernel(9), _kernel(15), _kernel(25), _kernel(30, correlation=4), _kernel(32, correlation=11)],
    )
    found = find(trace, archive, "memory_footprint")
    columns = ("launch_mean_bytes", "launches", "all_launches")
    assert found.rows.select(columns).rows() == [(200.0, 3, 5)]
    assert found.sentence == (
        "At the peak 400 B of tensors are allocated, on average 200 B at a launch (of 3 of 5 launches: the others come "
        "before the first change) and 100 B over time."
    )
    sets = archive.open(trace.id).sql("select tensor_footprint_bytes from working_set order by launch")
    assert sets["tensor_footprint_bytes"].to_list() == [None, None, 100, 100, 400]
    # Of the two launches with a working set (10 floats in, 10 out: 80 B) one has a known footprint: 100 B.
    row = find(trace, archive, "working_sets").rows.row(0, named=True)
    assert (row["known"], row["footprints"], row["footprint_bytes"], row["ratio"]) == (2, 1, 100.0, 1.25)
    assert find(trace, archive, "working_sets").sentence.endswith(
        " The mean footprint at 1 of these launches is 1.25 times that."
    )
    (side,) = runs([("one", archive.open(trace.id))]).rows.to_dicts()
    assert (side["footprint_bytes"], side["footprints"], side["kernels"]) == (200.0, 3, 5)


def test_a_working_set_of_objects_is_set_against_what_is_allocated_of_objects(tmp_path: Path) -> None:
    # Objects of 7 MiB are allocated at every launch, in them tensors of 6: one launch touches all objects.
    found = find(*_sample(tmp_path, "hotness_net_2026-02-01_12-00-00"), "working_set_points")
    assert found.rows["bytes"].max() == 7 << 20
    assert set(found.rows["footprint_bytes"]) == {7 << 20}
    assert found.sentence == "The working set is never above what is known to be allocated."


def test_totals_of_the_allocator_go_before_the_allocations_seen(tmp_path: Path) -> None:
    # 1000 B were there before the recording: only the totals know
    counters = [
        {"process": 1, "device": 0, "name": "memory allocated", "time_ns": at, "value": float(value), "unit": "bytes"}
        for at, value in ((0, 1100), (50, 1000))
    ]
    trace, archive = build(tmp_path, allocation=[_life(100, 0, 50)], counter=counters)
    rows = find(trace, archive, "memory_footprint").rows
    assert rows.select("source", "peak_bytes").rows() == [("total", 1100)]
    held = find(trace, archive, "memory_holders")
    assert held.rows.select("told", "allocations", "bytes", "share").rows() == [
        ("in no allocation of the recording", None, 1000, 1000 / 1100),
        ("seen in the recording", 1, 100, 100 / 1100),
    ]
    assert held.sentence == "Of 1.07 KiB of tensors at the peak, what was allocated before the recording holds 90.9 %."


def test_what_is_older_is_summed_whoever_asked_for_it_and_named_once(tmp_path: Path) -> None:
    lives = [
        _life(60, None, None),
        _life(25, None, None, address=1) | {"owner": "embedding"},
        _life(15, 5, None, address=2) | {"owner": "activation"},
    ]
    assert find(*build(tmp_path, allocation=lives), "memory_holders").sentence == (
        "Of 100 B of tensors at the peak, what was allocated before the recording holds 85.0 % in 2 allocations; "
        "activation holds 15.0 % in 1 allocation."
    )


def test_what_was_there_before_the_recording_is_not_said_to_be_seen_in_it(tmp_path: Path) -> None:
    # 60 B and 20 B are older, one of them released; 20 B are allocated in the recording
    lives = [_life(60, None, None), _life(20, None, 9, address=1), _life(20, 5, None, address=2)]
    found = find(*build(tmp_path, allocation=lives), "memory_holders")
    assert found.rows.select("told", "allocations", "bytes", "share", "kept_bytes").rows() == [
        ("older than the recording", 2, 80, 0.8, 60), ("seen in the recording", 1, 20, 0.2, 20)
    ]  # fmt: skip
    assert found.sentence == (
        "Of 100 B of tensors at the peak, what was allocated before the recording holds 80.0 % in 2 allocations."
    )


def test_changes_alone_give_a_curve_from_an_unknown_beginning(tmp_path: Path) -> None:
    # -50, +80, -80: what is released first was there, so the curve is 0, 80, 0 above what is not known
    counters = [
        {"process": 1, "device": 0, "name": "memory change", "time_ns": at, "value": float(value), "unit": "bytes"}
        for at, value in enumerate((-50, 80, -80))
    ]
    trace = mine(*build(tmp_path, counter=counters), "memory_use")
    assert trace.sql("select source, bytes from memory_curve order by event").rows() == [
        ("changes", 0), ("changes", 80), ("changes", 0)
    ]  # fmt: skip


def test_the_only_device_with_kernels_is_the_only_one_with_memory(tmp_path: Path) -> None:
    # 100 B from 0 to 100 and 300 B more from 10 to 20, of device 0; launches at 5, 15 and 16, of device 2
    lives = [_life(100, 0, 100), _life(300, 10, 20, address=8192)]
    kernels = [_kernel(at, process=1, device=2) for at in (5, 15, 16)]
    trace, archive = build(tmp_path, allocation=lives, kernel=kernels)
    found = find(trace, archive, "memory_footprint")
    assert found.rows.select("device", "launches", "launch_mean_bytes").rows() == [(0, 3, 300.0)]
    assert found.notes[-1] == (
        "Kernels of process 1 are told of device 2 and its memory of device 0: there is no other of either, so both "
        "are taken as the same device."
    )
    sets = archive.open(trace.id).sql("select device, memory_device, tensor_footprint_bytes from working_set")
    assert sets.rows() == [(2, 0, 100), (2, 0, 400), (2, 0, 400)]


@pytest.mark.parametrize(("kernels", "memory"), [((2, 3), (0,)), ((2,), (0, 1))])
def test_of_several_devices_none_is_taken_for_another(
    tmp_path: Path, kernels: tuple[int, ...], memory: tuple[int, ...]
) -> None:
    lives = [_life(100, 0, 100, device=device) for device in memory]
    launches = [_kernel(5, process=1, device=device) for device in kernels]
    trace, archive = build(tmp_path, allocation=lives, kernel=launches)
    found = find(trace, archive, "memory_footprint")
    assert found.rows["launches"].to_list() == [None] * len(memory)
    assert not any("same device" in note for note in found.notes)
    sets = archive.open(trace.id).sql("select device, memory_device, tensor_footprint_bytes from working_set")
    assert sets.rows() == [(device, device, None) for device in kernels]


def test_working_sets_of_operands_are_level_b_with_numpys_percentile(tmp_path: Path) -> None:
    sizes = [1, 2, 3, 4, 10]  # numbers of 4 bytes
    ops = [
        {
            "id": at,
            "name": "aten::relu",
            "start_ns": 10 * at,
            "end_ns": 10 * at + 9,
            "shapes": f"[[{size}]]",
            "types": '["float"]',
        }
        for at, size in enumerate(sizes)
    ]
    trace, archive = build(
        tmp_path,
        op=ops,
        api=[{"start_ns": 10 * at + 1, "end_ns": 10 * at + 2, "correlation": 100 + at} for at in range(5)],
        kernel=[*(_kernel(1000 + at, correlation=100 + at) for at in range(5)), _kernel(2000)],
        allocation=[_life(80, 0, None)],
    )
    found = find(trace, archive, "working_sets")
    (row,) = found.rows.to_dicts()
    bytes_ = 2 * 4 * np.array(sizes)  # as much comes out as goes in
    assert (row["granularity"], row["evidence"], row["launches"], row["known"]) == ("tensor", "B", 6, 5)
    assert (row["max_bytes"], row["min_bytes"], row["mean_bytes"], row["median_bytes"]) == (80, 8, 32.0, 24.0)
    assert row["p90_bytes"] == pytest.approx(np.percentile(bytes_, 90))  # 60.8
    assert (row["footprint_bytes"], row["ratio"], row["unused_bytes"]) == (80.0, 1.0, 0.0)
    assert row["accesses"] is None
    assert row["accesses_per_page"] is None
    assert found.notes == (
        "Evidence B: operand tensors of the launching operator, its inputs and the outputs that its formula gives, an "
        "upper bound on what a kernel touches of these.",
        "The outputs of all 5 launches with operands are counted.",
    )
    assert archive.open(trace.id).sql(found.sql).equals(found.rows)
    points = find(trace, archive, "working_set_points")
    assert points.rows["launches"].sum() == 5
    assert points.sentence == "The working set is never above what is known to be allocated."


def test_outputs_count_where_they_are_known_and_the_note_says_where_not(tmp_path: Path) -> None:
    # bytes that go in and come out: 4 × (6 + 12) and 4 × 8, twice; 4 × 20 in place; 4 × 5 and not known;
    # 4 × (16 + 8 + 8) and 4 × 16 without the statistics
    calls = [
        ("aten::mm", [[2, 3], [3, 4]]),
        ("aten::mm", [[2, 3], [3, 4]]),
        ("aten::add_", [[10], [10]]),
        ("my::operator", [[5]]),
        ("aten::native_layer_norm", [[2, 8], [], [8], [8]]),
    ]
    ops = [
        {"id": at, "name": name, "start_ns": 10 * at, "end_ns": 10 * at + 9, "shapes": json.dumps(shapes),
         "types": json.dumps(["float" if one else "ScalarList" for one in shapes])}
        for at, (name, shapes) in enumerate(calls)
    ]  # fmt: skip
    trace, archive = build(
        tmp_path,
        op=ops,
        api=[{"start_ns": 10 * at + 1, "end_ns": 10 * at + 2, "correlation": at} for at in range(5)],
        kernel=[_kernel(1000 + at, correlation=at) for at in range(5)],
        allocation=[_life(200, 0, None)],
    )
    mined = mine(trace, archive, "memory_use")
    assert mined.sql("select tensor_bytes, output_bytes, outputs from working_set order by launch").rows() == [
        (104, 32, "formula"), (104, 32, "formula"), (80, 0, "operands"), (20, 0, "unknown"), (192, 64, "part")
    ]  # fmt: skip
    note = (
        "Of 5 launches with operands 1 count inputs only, as their outputs are not known, and 1 lack some outputs, "
        "such as statistics of rows."
    )
    for name in ("working_sets", "working_set_points"):
        found = find(trace, archive, name)
        assert found.notes[1:] == (note,)
        assert [found.rows[column].sum() for column in ("operators", "inputs_only", "outputs_in_part")] == [5, 1, 1]
        assert archive.open(trace.id).sql(found.sql).equals(found.rows)
    extremes = find(trace, archive, "kernel_extremes")
    assert extremes.rows.select("choice", "tensor_bytes", "output_bytes", "outputs").rows() == [
        ("most called", 104, 32, "formula"), ("most memory", 192, 64, "part")
    ]  # fmt: skip
    assert extremes.sentence.endswith("touches of these; some of its outputs are not known).")
    side = runs([("one", archive.open(trace.id))])
    assert side.rows.select("working_set_bytes", "operators", "inputs_only", "outputs_in_part").rows() == [
        (192, 5, 1, 1)
    ]


def test_an_operand_of_unknown_type_makes_the_working_set_unknown(tmp_path: Path) -> None:
    op = {"id": 0, "name": "x", "start_ns": 0, "end_ns": 9, "shapes": "[[4],[4]]", "types": '["float", "strange"]'}
    api = {"start_ns": 1, "end_ns": 2, "correlation": 1}
    trace, archive = build(tmp_path, op=[op], api=[api], kernel=[_kernel(50, correlation=1)])
    with pytest.raises(NotCollected) as missing:
        find(trace, archive, "working_sets")
    assert missing.value.message == "what memory kernels touch"


def test_a_log_of_launches_gives_measured_working_sets_at_both_granularities(tmp_path: Path) -> None:
    # tensors 6, 6, 2 and 4 MiB, objects 7, 7, 2 and 5; allocated objects 7 throughout, tensors 6, 6, 6, 4
    found = find(*_sample(tmp_path, "net_app_analysis.log"), "working_sets")
    mib = 1 << 20
    columns = ("granularity", "evidence", "max_bytes", "min_bytes", "median_bytes", "p90_bytes", "footprint_bytes")
    assert found.rows.select(columns).rows() == [
        ("tensor", "A", 6 * mib, 2 * mib, 5.0 * mib, 6.0 * mib, 5.5 * mib),
        ("object", "A", 7 * mib, 2 * mib, 6.0 * mib, 7.0 * mib, 7.0 * mib),
    ]
    assert found.rows["object_ratio"].to_list() == [7 / 6, 1.0]
    assert found.rows["inputs_only"].to_list() == [None, None]  # what is measured lacks no outputs
    assert found.notes == ("Evidence A: measured accesses.",)
    # 9 699 328 accesses over the 1792 pages of 7 MiB, and the 1536 of 6 MiB
    assert found.rows["accesses_per_page"].to_list() == [9_699_328 / 1536, 9_699_328 / 1792]


def test_accesses_a_page_are_over_the_peak_and_not_over_the_misprinted_one(tmp_path: Path) -> None:
    """The tool prints the accesses where the bytes of the peak belong, and touched bytes in 32 bits."""
    log = app_metric([Allocation(4096, 6 * GIB)], [Launch("k", 13_000_000, 1, 0, 6 * GIB)])
    file = tmp_path / "net_2026-02-01_12-00-00.log"
    file.write_text(log)
    archive = Archive(tmp_path / "archive")
    (row,) = find(read(file, archive)[0], archive, "working_sets").rows.to_dicts()
    assert row["max_bytes"] == 6 * GIB  # not 2 GiB
    assert row["peak_bytes"] == pytest.approx(6 * GIB, rel=1e-3)
    assert row["accesses_per_page"] == pytest.approx(13_000_000 / 1_572_864, rel=1e-3)  # 8.27


def test_the_stages_of_the_curve_are_told_by_change_and_by_time(tmp_path: Path) -> None:
    # ten allocations of 10 B, one each 10 ns; at 100 B until the releases from 300 on, one each 10 ns
    lives = [_life(10, 10 * at, 300 + 10 * at, address=at) for at in range(10)]
    trace, archive = build(tmp_path, allocation=lives)
    found = find(trace, archive, "memory_stages")
    rows = {row["stage"]: row for row in found.rows.to_dicts()}
    assert set(rows) == {"ramp-up", "peak", "ramp-down"}
    assert abs(rows["peak"]["first_event"] - 9) <= 1
    assert abs(rows["ramp-down"]["first_event"] - 10) <= 1
    assert (rows["ramp-up"]["start_ns"], rows["ramp-down"]["end_ns"]) == (0, 390)
    assert found.rows["changes"].sum() == 20
    usage = find(trace, archive, "memory_usage").rows
    assert usage.filter(usage["axis"] == "event")["high_bytes"].max() == 100
    assert usage.filter(usage["axis"] == "time")["position"].max() == 390.0


def test_a_stretch_of_time_has_its_last_level_until_the_next_with_changes(tmp_path: Path) -> None:
    # 239 ns and the moment after them: a stretch is 1 ns. 8 B at 0, 100 B at 0, released at 1; the end is at 239
    lives = [_life(8, 0, 239), _life(100, 0, 1, address=8192)]
    usage = find(*build(tmp_path, allocation=lives), "memory_usage").rows
    columns = ("place", "position", "until", "low_bytes", "high_bytes", "last_bytes")
    assert usage.filter(usage["axis"] == "time").select(columns).rows() == [
        (0, 0.0, 1.0, 8, 108, 108), (1, 1.0, 2.0, 8, 8, 8), (239, 239.0, 240.0, 0, 0, 0)
    ]  # fmt: skip
    assert usage.filter(usage["axis"] == "event").select(columns).rows() == [
        (0, 0.0, 1.0, 8, 8, 8), (1, 1.0, 2.0, 108, 108, 108), (2, 2.0, 3.0, 8, 8, 8), (3, 3.0, 4.0, 0, 0, 0)
    ]  # fmt: skip


def test_allocations_have_sizes_lives_and_used_places(tmp_path: Path) -> None:
    lives = [_life(100, 0, 10), _life(120, 20, 50), _life(100, 60, None), _life(1000, 0, 5, address=1 << 20)]
    found = find(*build(tmp_path, allocation=lives), "memory_sizes")
    columns = ("from_bytes", "allocations", "bytes", "sizes", "places", "reused", "median_life_ns", "released")
    assert found.rows.select(columns).rows() == [(64, 3, 320, 2, 1, 2, 20.0, 2), (512, 1, 1000, 1, 1, 0, 5.0, 1)]


def test_what_is_alive_at_the_end_is_no_leak_by_that(tmp_path: Path) -> None:
    lives = [_life(64, 5, None), _life(32, None, None, address=1), _life(16, 5, 9, address=2)]
    found = find(*build(tmp_path, allocation=lives), "memory_alive")
    assert found.rows.select("bytes", "allocations", "verdict").rows() == [(64, 1, "alive at the end")]
    assert found.sentence == "1 tensor allocated in the recording, 64 B, are alive at the end."


def _iterations(folder: Path, *, left: int, high: int | None = None, base: int = 0) -> tuple[Trace, Archive]:
    """Eight iterations of the same five kernels, of which the last `left` leave 256 B of one operator behind each.

    That of number `high` allocates 512 B in between; `base` bytes are there from the first kernel on.
    """
    kernels, ops, api, lives = [], [], [], []
    for step in range(8):
        for place in range(5):
            at = 1000 * step + 100 * place
            kernels.append(_kernel(at + 20, f"kernel {place}", correlation=at + 1) | {"end_ns": at + 70})
            api.append({"start_ns": at, "end_ns": at + 5, "correlation": at + 1})
        ops.append({"id": step, "name": "aten::empty", "start_ns": 1000 * step + 6, "end_ns": 1000 * step + 9})
        born = 1000 * step + 7
        lives.append(_life(256, born, None if step >= 8 - left else born + 400, address=step << 20, thread=1))
        if step == high:
            lives.append(_life(512, born + 100, born + 200, address=1 << 19))
    if base:
        lives.append(_life(base, 0, None, address=1 << 18))
    return build(folder, kernel=kernels, op=ops, api=api, allocation=lives)


def test_the_stages_are_those_of_the_iteration_that_holds_the_peak(tmp_path: Path) -> None:
    # all allocate 256 B and release them, the sixth 512 B more in between: its four changes have stages
    trace, archive = _iterations(tmp_path, left=0, high=5)
    found = find(trace, archive, "memory_stages")
    assert found.sentence.startswith("Of tensors, in the iteration that holds the peak: ")
    curve = archive.open(trace.id).sql("select event, bytes from memory_curve where stage is not null order by event")
    assert curve.rows() == [(10, 256), (11, 768), (12, 256), (13, 0)]  # after ten changes of five


def test_repeats_after_which_the_level_does_not_return_are_no_iterations_of_the_curve(tmp_path: Path) -> None:
    # each leaves 256 B behind, as layers of a forward pass do: the eighth begins with 1792 B and ends with 2048 B
    trace, archive = _iterations(tmp_path, left=8)
    found = find(trace, archive, "memory_stages")
    assert found.rows["changes"].sum() == 8
    assert found.sentence.startswith("Of tensors, over the whole curve: ")


def test_a_curve_that_hardly_varies_is_all_peak_and_not_that_of_one_repeat(tmp_path: Path) -> None:
    # 8 KiB throughout, and 256 B more in each of eight repeats, 3 % of the peak: 1 and 16 changes
    found = find(*_iterations(tmp_path, left=0, base=8192), "memory_stages")
    assert found.rows.select("stage", "changes").rows() == [("peak", 17)]
    assert found.sentence.startswith("Of tensors, over the whole curve: peak from change 0 (100")


def test_what_each_iteration_leaves_behind_grows(tmp_path: Path) -> None:
    trace, archive = _iterations(tmp_path, left=8)
    found = find(trace, archive, "memory_alive")
    (row,) = found.rows.to_dicts()
    assert (row["operator"], row["allocations"], row["verdict"]) == ("aten::empty", 8, "grows with the iterations")
    assert (row["iterations"], row["all_iterations"]) == (8, 8)
    assert found.sentence.endswith("2 KiB of these grow with the iterations: a leak is likely.")


def test_what_the_last_iterations_hold_does_not_grow(tmp_path: Path) -> None:
    (row,) = find(*_iterations(tmp_path, left=2), "memory_alive").rows.to_dicts()
    assert (row["allocations"], row["iterations"], row["verdict"]) == (2, 2, "alive at the end")


def test_a_release_of_what_was_never_allocated_is_no_fault(tmp_path: Path) -> None:
    """Recordings begin in the middle of programs."""
    trace, archive = build(tmp_path, allocation=[_life(64, None, 5)])
    assert find(trace, archive, "memory_footprint").rows["peak_bytes"].to_list() == [64]
    trace = archive.open(trace.id)
    assert trace.sql("select fate from memory_life").item() == "older"


def test_devices_and_processes_never_share_a_curve(tmp_path: Path) -> None:
    lives = [_life(1, 0, 9), _life(2, 0, 9, device=1), _life(4, 0, 9, process=2)]
    rows = find(*build(tmp_path, allocation=lives), "memory_footprint").rows
    assert rows.select("process", "device", "peak_bytes").rows() == [(1, 0, 1), (1, 1, 2), (2, 0, 4)]


def test_without_memory_all_of_it_is_not_collected(tmp_path: Path) -> None:
    trace, archive = build(tmp_path, kernel=[_kernel(5)])
    names = ("footprint", "stages", "usage", "holders", "sizes", "alive", "cold")
    for name in (*(f"memory_{name}" for name in names), "working_sets", "tensor_hotness", "hotness_windows"):
        with pytest.raises(NotCollected):
            find(trace, archive, name)


def test_cold_objects_are_ranked_by_bytes_and_launches_without_use(tmp_path: Path) -> None:
    # of launches 0 to 4: A of 100 B in 0 and 4 (3 idle), B of 50 B in 0 alone (4 after it), C of 10 B in all
    uses = {"A": (1, 100, (0, 4)), "B": (2, 50, (0,)), "C": (3, 10, range(5))}
    access = [
        {
            "process": 1,
            "launch": launch,
            "object": number << 20,
            "object_bytes": size,
            "granularity": "tensor",
            "accesses": 7,
        }
        for number, size, launches in uses.values()
        for launch in launches
    ]
    found = find(*build(tmp_path, access=access), "memory_cold")
    columns = ("object", "uses", "idle_launches", "longest_gap", "after_last_use", "cold")
    assert found.rows.select(columns).rows() == [
        (1 << 20, 2, 3, 3, 0, 300.0),
        (2 << 20, 1, 0, 0, 4, 200.0),
        (3 << 20, 5, 0, 0, 0, 0.0),
    ]
    assert found.notes == ("Evidence A: measured accesses.",)


def test_without_accesses_only_lifetimes_are_told(tmp_path: Path) -> None:
    lives = [_life(100, 0, 10), _life(10, 0, 100, address=1), _life(30, 50, 100, address=2)]
    found = find(*build(tmp_path, allocation=lives), "memory_cold")
    assert found.rows.select("bytes", "byte_ns").rows() == [(30, 1500.0), (100, 1000.0), (10, 1000.0)]
    assert found.sentence.startswith("Accesses were not collected, so what is idle is not known")
    assert found.notes == ("Evidence C: lifetimes of allocations only.",)


def _accesses(*rows: tuple[int | None, int | None, int | None, int]) -> list[dict[str, Any]]:
    """Rows of launch, window, address (None: no object is charged) and accesses, of blocks of 100 B."""
    return [
        {"process": 1, "granularity": "block", "launch": launch, "window": window, "object": place,
         "object_bytes": None if place is None else 100, "accesses": accesses}
        for launch, window, place, accesses in rows
    ]  # fmt: skip


def test_hotness_has_density_persistence_and_what_no_object_is_charged_with(tmp_path: Path) -> None:
    # four windows, the last of them partial; 30 accesses are outside all objects, and stay outside
    rows = _accesses((None, 0, 512, 40), (None, 1, 512, 40), (None, 3, 1024, 5), (None, 2, None, 30), (None, 3, 512, 5))
    trace, archive = build(tmp_path, access=rows)
    found = find(trace, archive, "tensor_hotness")
    columns = ("address", "accesses", "share", "density", "persistence", "burst")
    assert found.rows.select(columns).rows() == [
        ("0x200", 85, 85 / 120, 0.85, 0.75, 1.0),
        (None, 30, 0.25, None, 0.25, 0.25),
        ("0x400", 5, 5 / 120, 0.05, 0.25, 0.25),
    ]
    cells = find(trace, archive, "hotness_windows").rows
    assert cells["accesses"].sum() == 120  # the matrix has every access, those of the last window too
    assert cells.filter(cells["first_step"] == 3)["accesses"].sum() == 10
    assert archive.open(trace.id).sql(found.sql).equals(found.rows)


def test_sums_over_all_launches_are_not_added_to_the_launches(tmp_path: Path) -> None:
    rows = _accesses((0, None, 512, 3), (1, None, 512, 4), (None, None, 512, 7))
    found = find(*build(tmp_path, access=rows), "tensor_hotness")
    assert found.rows["accesses"].to_list() == [7]


def test_the_matrix_of_a_log_has_all_its_accesses(tmp_path: Path) -> None:
    trace, archive = _sample(tmp_path, "hotness_net_2026-02-01_12-00-00")
    whole = trace.sql("select sum(accesses) from access where launch is not null").item()
    assert whole == 1_310_720 + 2 * 3_932_160 + 524_288
    assert find(trace, archive, "hotness_windows").rows["accesses"].sum() == whole
    assert find(trace, archive, "tensor_hotness").rows["accesses"].sum() == whole


def test_objects_at_one_address_of_two_processes_are_two(tmp_path: Path) -> None:
    rows = _accesses((0, None, 512, 3), (1, None, 512, 4))
    trace, archive = build(tmp_path, access=[*rows, *(row | {"process": 2, "accesses": 20} for row in rows)])
    cells = find(trace, archive, "hotness_windows").rows
    assert cells.select("rank", "process", "object", "first_step", "accesses").rows() == [
        (1, 2, 512, 0, 20), (1, 2, 512, 1, 20), (2, 1, 512, 0, 3), (2, 1, 512, 1, 4)
    ]  # fmt: skip
    assert find(trace, archive, "tensor_hotness").rows["accesses"].to_list() == [40, 7]


def test_only_touched_flags_are_no_counts(tmp_path: Path) -> None:
    trace, archive = _sample(tmp_path, "uvm_advisor_opt.log")
    with pytest.raises(NotCollected) as missing:
        find(trace, archive, "tensor_hotness")
    assert missing.value.message == "counts of accesses (only which objects were touched)"
    mined = mine(trace, archive, "memory_use")
    told = mined.sql("select object_bytes, tensor_bytes from working_set order by launch").rows()
    assert told == [(7 << 20, 4 << 20), (5 << 20, None), (2 << 20, 2 << 20)]
