"""How memory is used, the hotness of blocks, and the simulation, from AccelProf's logs and from faults."""

from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from tests.building import build
from tests.mining.managed_made import BASE, KIB, MIB, move, run
from tests.samples import FORMATS, sample
from tracelode.collect.ingest import read
from tracelode.mining.managed_steps import program
from tracelode.mining.mine import find, mine
from tracelode.mining.plan import read_plan, write_plan
from tracelode.mining.planned import plan_of
from tracelode.store import Archive, NotCollected, Trace

LOGS = Path(__file__).parents[3] / "data" / "samples" / "accelprof"
HOTNESS = "hotness_net_2026-02-01_12-00-00"


def _log(folder: Path, name: str) -> tuple[Trace, Archive]:
    archive = Archive(folder / "archive")
    return read(LOGS / name, archive)[0], archive


def test_the_hotness_of_a_log_by_launch_adds_up_to_its_accesses_on_every_clock(tmp_path: Path) -> None:
    trace, archive = _log(tmp_path, HOTNESS)
    whole = trace.sql("select sum(accesses) from access").item()
    rows = find(trace, archive, "hotness").rows
    assert dict(rows.group_by("clock").sum().select("clock", "accesses").rows()) == {
        "accesses": whole,
        "launches": whole,
    }
    first = rows.filter(clock="launches").row(0, named=True)
    assert (first["first_address"], first["accesses"]) == (139775415681024, 700_000)


def test_accesses_that_the_log_charges_to_no_block_are_kept(tmp_path: Path) -> None:
    found = find(*_log(tmp_path, "net.time_hotness_cpu.log"), "hotness")
    assert found.rows["accesses"].sum() == 2_000_000
    assert found.rows.filter(found.rows["band"].is_null())["accesses"].to_list() == [150_000]
    assert "7.5 % of them the source charges to no block" in found.sentence


def test_launches_with_times_have_a_clock_of_time(tmp_path: Path) -> None:
    kernels = [{"start_ns": at, "end_ns": at + 5, "name": "k", "correlation": at} for at in (100, 700)]
    calls = [{"start_ns": at - 9, "end_ns": at - 8, "correlation": at} for at in (100, 700)]
    accesses = [
        {"process": 1, "launch": launch, "object": BASE, "object_bytes": 2 * MIB, "granularity": "block", "accesses": 7}
        for launch in (0, 1)
    ]
    found = find(*build(tmp_path, kernel=kernels, api=calls, access=accesses), "hotness")
    # 600 ns in windows of 600 // 60 + 1 = 11 ns: the second launch is in window 600 // 11 = 54.
    rows = found.rows.filter(clock="time").select("length", "first_window", "accesses").rows()
    assert rows == [(11, 0, 7), (11, 54, 7)]


def test_classes_of_use_rest_on_accesses_where_there_are_some(tmp_path: Path) -> None:
    found = find(*_log(tmp_path, HOTNESS), "uvm_use")
    # 8,132,160 accesses to 5 MiB in launches 0, 1 and 3 of 4, 1,567,168 to 2 MiB in 0, 1 and 2; the median of the
    # densities, 1.55 and 0.75, is between them.
    rows = found.rows.select("bytes", "accesses", "used_windows", "windows", "coverage", "class", "role", "evidence")
    assert rows.rows() == [
        (5 * MIB, 8_132_160, 3, 4, 1.0, "dense hot", "keep", "accesses"),
        (2 * MIB, 1_567_168, 3, 4, 1.0, "dense cool", "keep", "accesses"),
    ]


def test_without_accesses_they_rest_on_faults_and_say_so(tmp_path: Path) -> None:
    found = find(*run(tmp_path), "uvm_use")
    assert set(found.rows["evidence"]) == {"faults"}
    assert any("not accesses" in note for note in found.notes)


def test_without_either_it_was_not_collected(tmp_path: Path) -> None:
    trace, archive = build(tmp_path, kernel=[{"start_ns": 1, "end_ns": 2, "name": "a"}])
    for name in ("uvm_use", "hotness", "uvm_simulation"):
        with pytest.raises(NotCollected):
            find(trace, archive, name)


def test_a_simulation_is_never_in_a_table_of_what_was_measured(tmp_path: Path) -> None:
    trace, archive = run(tmp_path)
    found = find(trace, archive, "uvm_simulation")
    assert found.sentence.startswith("Simulated over 3 steps")
    assert "from uvm_simulation" in found.sql
    assert "uvm_event" not in found.sql
    measured = mine(trace, archive, "uvm_events")
    for name in ("uvm_devices", "uvm_moves", "uvm_ranges", "uvm_kernels"):
        assert "simul" not in find(measured, archive, name).sql


def test_the_simulated_moves_of_a_run_whose_device_holds_all(tmp_path: Path) -> None:
    trace, archive = run(tmp_path, fault=None)
    rows = find(trace, archive, "uvm_simulation").rows.filter(oversubscription=1.0)
    told = {row["policy"]: row for row in rows.to_dicts()}
    # A gets 64 KiB in a, T's 64 KiB come in b and again in the second a: 2 leaves, each moved once.
    assert (told["on demand"]["faults"], told["on demand"]["moved_bytes"]) == (2, 128 * KIB)
    # A and B have one address: 1 MiB of it, then the rest of 2 MiB, and the footprint is 2 MiB.
    assert {row["footprint_bytes"] for row in told.values()} == {2 * MIB}
    assert (told["object plan"]["faults"], told["object plan"]["prefetched_bytes"]) == (0, 2 * MIB)


def test_oversubscription_is_the_footprint_over_what_the_device_holds(tmp_path: Path) -> None:
    rows = find(*_log(tmp_path, HOTNESS), "uvm_simulation").rows.filter(policy="on demand")
    # 7 MiB, and never less than a block of 2 MiB: 7 / 4 would be less.
    assert set(rows["footprint_bytes"]) == {7 * MIB}
    sizes = dict(rows.select("oversubscription", "capacity_bytes").rows())
    assert {factor: size / MIB for factor, size in sizes.items()} == {
        0.5: 14.0,
        1.0: 7.0,
        1.5: 4.625,  # 4.667 in whole leaves of 64 KiB
        2.0: 3.5,
        3.0: 2.3125,
        4.0: 2.0,
    }


def test_a_plan_of_a_log_names_kernels_and_objects_and_comes_back(tmp_path: Path) -> None:
    trace, archive = _log(tmp_path, "uvm_advisor_opt.log")
    made = plan_of(mine(trace, archive, "uvm_events"))
    plan = read_plan(write_plan(made.plan).encode())
    assert plan == made.plan
    # Two operators: conv2d touches both objects, the second what is there already, so one step brings all of it.
    assert [(step.kernel, step.occurrence) for step in plan.steps] == [("void columns_of_image_kernel<f", 0)]
    assert [(key.kind, key.bytes, key.occurrence) for key in plan.memory] == [
        ("managed", 5 * MIB, 0),
        ("managed", 2 * MIB, 0),
    ]
    assert plan.bytes == 7 * MIB
    assert (made.outcome.faults, made.without.faults, made.left_out) == (0, 112, 0)


def test_what_an_operator_allocates_is_in_no_plan_to_bring_before_it(tmp_path: Path) -> None:
    # Launches 1 and 2 are of operator 5; A is born at launch 0, B at launch 2, within it. Both count to the footprint.
    lives = [("managed", BASE, 0), ("managed", BASE + 8 * MIB, 2)]
    touched = [(0, BASE), (1, BASE), (2, BASE), (2, BASE + 8 * MIB)]
    trace, _ = build(
        tmp_path,
        launch_memory=[
            {"process": 1, "launch": launch, "kernel": name, "op_id": op}
            for launch, name, op in ((0, "fill", None), (1, "im2col", 5), (2, "gemm", 5))
        ],
        allocation=[
            {"process": 1, "kind": kind, "address": address, "bytes": 2 * MIB, "birth_ns": birth}
            for kind, address, birth in lives
        ],
        access=[
            {"process": 1, "launch": launch, "object": address, "object_bytes": 2 * MIB, "granularity": "object"}
            for launch, address in touched
        ],
    )
    told = program(replace(trace, facts=replace(trace.facts, clock="ordinal")))
    assert told is not None
    assert [(step.name, set(step.objects), set(step.born)) for step in told.steps] == [
        ("fill", {0}, set()),
        ("im2col", {0}, {1}),
    ]
    assert told.footprint == 4 * MIB


def test_a_plan_leaves_out_what_no_name_tells_in_another_run(tmp_path: Path) -> None:
    trace, archive = run(tmp_path, allocation=None)
    made = plan_of(mine(trace, archive, "uvm_events"))
    assert (made.plan.steps, made.plan.memory) == ((), ())
    assert made.lost == {"lie at addresses of no recorded allocation": 32}  # the block of 2 MiB
    assert made.plan.why_empty == (
        "nothing names its steps to another run: 2 MiB lie at addresses of no recorded allocation. To have a plan, "
        "record with nsys profile --trace=cuda --cuda-memory-usage=true --cuda-um-gpu-page-faults=true "
        "--cuda-um-cpu-page-faults=true, or with tracelode record --uvm"
    )
    found = find(trace, archive, "uvm_plan")
    assert found.sentence == f"A plan of prefetches is empty, since {made.plan.why_empty}."
    (row,) = found.rows.to_dicts()
    assert (row["steps"], row["bytes"], row["left_out_bytes"]) == (0, 0, 2 * MIB)
    assert (row["faults"], row["faults_without"]) == (made.without.faults, made.without.faults)


def test_objects_alike_are_told_apart_by_their_births(tmp_path: Path) -> None:
    lives: list[dict[str, Any]] = [
        {"process": 1, "kind": "managed", "address": BASE + at * 2 * MIB, "bytes": MIB, "birth_ns": at} for at in (1, 0)
    ]
    trace, archive = run(tmp_path, allocation=lives, fault=None)
    made = plan_of(mine(trace, archive, "uvm_events"))
    assert [key.occurrence for key in made.plan.memory] == [0]  # the one born first has BASE


def test_objects_alike_whose_births_are_not_known_are_left_out(tmp_path: Path) -> None:
    lives = [{"process": 1, "kind": "managed", "address": BASE + at * 2 * MIB, "bytes": MIB} for at in (0, 1)]
    trace, archive = run(tmp_path, allocation=lives, fault=None)
    made = plan_of(mine(trace, archive, "uvm_events"))
    # All moves lie in the first: 16 leaves.
    assert made.lost == {"belong to allocations alike, in an order that was not recorded": 16}
    assert made.plan.why_empty is not None
    assert made.plan.why_empty.startswith("nothing names its steps to another run: 1 MiB belong to allocations alike")


def test_what_is_larger_than_the_device_is_in_no_plan_and_that_is_why_it_is_empty(tmp_path: Path) -> None:
    life = [{"process": 1, "kind": "managed", "address": BASE, "bytes": 8 * MIB}]
    device = [{"process": 1, "device": 0, "memory_bytes": 2 * MIB}]
    moves = [move(110, 120, BASE, 64 * KIB), move(310, 320, BASE + 4 * MIB, 64 * KIB)]
    trace, archive = run(tmp_path, allocation=life, fault=None, copy=moves, device=device)
    made = plan_of(mine(trace, archive, "uvm_events"))
    # Its four blocks are of 2 MiB each: the first fits, so the plan has a step, and no more than that is asked for.
    assert (made.plan.capacity_bytes, made.is_known, made.plan.bytes) == (2 * MIB, True, 2 * MIB)
    assert made.plan.why_empty is None


def test_a_plan_says_how_much_a_step_asks_for_at_most_and_why(tmp_path: Path) -> None:
    device = [{"process": 1, "device": 0, "memory_bytes": 64 * MIB}]
    trace, archive = run(tmp_path, device=device)
    found = find(trace, archive, "uvm_plan")
    assert found.notes[0] == (
        "No step asks for more than 64 MiB (what the process's smallest device holds, as the trace describes it): in "
        "the file that is capacity_bytes."
    )
    trace, archive = run(tmp_path / "unknown")
    found = find(trace, archive, "uvm_plan")
    # A and B have one address, 2 MiB in all, and there is room for 2 MiB more for each of the two.
    assert found.rows.select("capacity_bytes", "capacity_source").rows() == [(6 * MIB, "touched")]
    assert "room for all that is touched, since the trace does not say what the device holds" in found.notes[0]


def test_the_time_of_a_fault_is_measured_where_it_can_be_and_else_assumed(tmp_path: Path) -> None:
    # Of the faults with an end, of 40, 40, 130 and 30 ns, the lower median is 40; the largest moves are of 64 KiB, in
    # 10 and 20 ns, so that the link moves 128 KiB in 30 ns.
    found = find(*run(tmp_path), "uvm_simulation")
    costs = found.rows.select("fault_ns", "fault_source", "bytes_per_s", "link_source").unique().rows()
    assert costs == [(40, "measured", 4_369_066_666_666, "measured")]
    assert found.sentence.startswith("Simulated over 3 steps at a measured 40 ns a fault: ")
    assert "40 ns a fault (measured: the median of the fault groups of devices that have an end)" in found.notes[0]
    found = find(*run(tmp_path / "assumed", fault=None), "uvm_simulation")
    assert found.sentence.startswith("Simulated over 3 steps at an assumed 30 µs a fault: ")
    assert "an assumed 30 µs a fault (thresholds in uvm.toml)" in found.notes[0]
    found = find(*_log(tmp_path / "log", HOTNESS), "uvm_simulation")
    assert set(found.rows["link_source"]) == {"assumed"}
    assert "an assumed 11.2 GiB/s of the link (thresholds in uvm.toml)" in found.notes[0]


def test_nothing_calls_the_simulated_times_a_bound(tmp_path: Path) -> None:
    found = find(*run(tmp_path), "uvm_simulation")
    assert found.notes[-1] == (
        "Touches are those of faults and moves: pages that were there are not seen in use, so faults and bytes are "
        "lower bounds. Times are no bound: each fault is charged alone, while the driver services several at once."
    )


@pytest.mark.parametrize("format", FORMATS)
def test_how_memory_is_used_contradicts_no_advice(format: str, tmp_path: Path) -> None:
    archive = Archive(tmp_path)
    trace, _ = read(sample(format), archive)
    try:
        rows = find(trace, archive, "uvm_use").rows.to_dicts()
    except NotCollected:
        return
    try:
        advice = dict(find(trace, archive, "uvm_advice").rows.select("range", "action").rows())
    except NotCollected:
        advice = {}
    assert rows
    for row in rows:
        assert row["action"] == advice.get(row["range"])
        assert row["action"] is None or row["role"] is None  # never two words on what to do
        assert row["role"] is None or row["evidence"] == "accesses"


def test_faults_alone_do_not_say_what_to_evict(tmp_path: Path) -> None:
    # The ranges of the sample: the evicted one is to be offloaded, the two others cost too little.
    archive = Archive(tmp_path)
    trace, _ = read(sample("rocprofv3_json"), archive)
    found = find(trace, archive, "uvm_use")
    assert found.sentence == "3 objects: 3 sparse; advice: 2 leave, 1 offload."
    assert found.rows.sort("name").select("class", "role", "action").rows() == [
        ("sparse", None, "leave"),
        ("sparse", None, "leave"),
        ("sparse", None, "offload"),
    ]


def test_where_accesses_and_faults_are_known_the_advice_stands_in_the_place_of_the_role(tmp_path: Path) -> None:
    life = [{"process": 1, "kind": "managed", "address": BASE, "bytes": 2 * MIB, "birth_ns": 0}]
    access = {"process": 1, "granularity": "object", "object": BASE, "accesses": 100}
    accesses = [access | {"window": window} for window in range(10)]
    tables: dict[str, Any] = {"allocation": life, "access": accesses, "fault": None}
    found = find(*run(tmp_path, **tables, copy=[move(110, 150, BASE, MIB)]), "uvm_use")
    assert found.rows.select("role", "action", "evidence").rows() == [(None, "pin", "accesses")]
    found = find(*run(tmp_path / "alone", **tables, copy=None), "uvm_use")
    assert found.rows.select("role", "action", "evidence").rows() == [("pin", None, "accesses")]


def test_of_a_long_run_the_first_kernels_are_simulated_and_it_is_said(tmp_path: Path) -> None:
    # Each kernel moves 64 KiB of an object of 2 GiB, 32,768 leaves: 300,000 // 32,769 = 9 kernels are affordable.
    life = [{"process": 1, "kind": "managed", "address": BASE, "bytes": 2048 * MIB}]
    kernels = [{"start_ns": 100 * at, "end_ns": 100 * at + 90, "name": "k"} for at in range(12)]
    moves = [move(100 * at + 5, 100 * at + 9, BASE + at * MIB, 64 * KIB) for at in range(12)]
    found = find(*run(tmp_path, allocation=life, kernel=kernels, copy=moves, fault=None), "uvm_simulation")
    assert found.rows.row(0, named=True)["kernels"] == 9
    assert "Only the first 9 of 12 kernels are simulated." in found.notes


def test_a_step_whose_kernel_has_no_name_is_in_no_plan(tmp_path: Path) -> None:
    trace, archive = _log(tmp_path, HOTNESS)
    made = plan_of(mine(trace, archive, "uvm_events"))
    assert (made.plan.steps, made.lost) == ((), {"are needed by kernels whose names were not recorded": 112})


def test_a_plan_by_tensors_moves_no_more_than_one_by_objects(tmp_path: Path) -> None:
    log = mine(*_log(tmp_path, "uvm_advisor_opt.log"), "uvm_events")
    whole, parts = (plan_of(log, level).plan for level in ("object", "tensor"))
    # Objects of 5 and 2 MiB, in them tensors of 4 and 2 MiB: the last MiB of the first object is in no tensor.
    assert (whole.bytes, parts.bytes) == (7 * MIB, 6 * MIB)
    assert (whole.level, parts.level) == ("object", "tensor")
    with pytest.raises(NotCollected, match="what tensors kernels touch"):
        plan_of(mine(*_log(tmp_path / "b", HOTNESS), "uvm_events"), "tensor")
