"""What each diagnosis counts, on traces small enough to reckon by hand. Times are nanoseconds; 1,000,000 is a ms."""

from dataclasses import replace
from pathlib import Path
from typing import Any

import polars as pl

from tests.building import build
from tracelode.mining.diagnosis import Diagnosis
from tracelode.mining.mine import mine
from tracelode.store import Note
from tracelode.store.parts import load

MS = 1_000_000


def _kernels(*spans: tuple[int, int], launch: int | None = None, **more: Any) -> list[dict[str, Any]]:
    """Kernels of those starts and durations, launched right before or so much earlier."""
    return [
        {
            "start_ns": start,
            "end_ns": start + length,
            "name": f"k{number % 3}",
            "correlation": number,
            "launch_ns": None if launch is None else start - launch,
            "launch_thread": None if launch is None else 1,
            **more,
        }
        for number, (start, length) in enumerate(spans)
    ]


def _diagnosed(tmp_path: Path, name: str, **tables: list[dict[str, Any]]) -> tuple[Diagnosis, ...]:
    trace, archive = build(tmp_path, **tables)
    return load("diagnosis", name).diagnose(mine(trace, archive, *load("diagnosis", name).NEEDS))


def _rows(told: Diagnosis) -> list[tuple[Any, ...]]:
    return told.rows.select("what", "detail", "count", "time_ns", "saves_ns", "at_ns").rows()


def test_a_trace_without_device_work_gets_no_diagnosis(tmp_path: Path) -> None:
    call = {"start_ns": 0, "end_ns": 5, "name": "cudaFree"}
    trace, archive = build(tmp_path, api=[call])
    mined = mine(trace, archive, "diagnoses")
    assert not mined.has("finding")


def test_a_copy_that_hides_behind_a_kernel_stalls_nothing(tmp_path: Path) -> None:
    kernels = _kernels((0, 10 * MS), (10 * MS, 10 * MS))
    copy = {"start_ns": 0, "end_ns": 9 * MS, "stream": 8, "bytes": 100}
    assert _diagnosed(tmp_path, "copy_stalls", kernel=kernels, copy=[copy]) == ()


def test_a_copy_stalls_for_the_time_in_which_no_kernel_runs(tmp_path: Path) -> None:
    kernels = _kernels((0, 10 * MS), (15 * MS, 5 * MS))
    copy = {
        "start_ns": 8 * MS, "end_ns": 14 * MS, "stream": 8, "bytes": 100,
        "source_memory": "pageable", "target_memory": "device",
    }  # fmt: skip
    (told,) = _diagnosed(tmp_path, "copy_stalls", kernel=kernels, copy=[copy])
    assert _rows(told) == [("copy HtoD", "pageable to device, 100 bytes", 1, 4 * MS, 4 * MS, 10 * MS)]
    assert (told.saves_ns, told.span_ns) == (4 * MS, 20 * MS)
    assert told.share == 0.2
    assert told.sentence == (
        "The device spends 4 ms in copies alone, with no compute beside them, mostly in copy HtoD (pageable to device, "
        "100 bytes); 100.0 % of it from or to pageable memory. At most 4 ms (20.0 % of the device's time) could be "
        "saved."
    )


def test_communication_beside_compute_is_not_exposed(tmp_path: Path) -> None:
    kernels = _kernels((0, 10 * MS), (10 * MS, 10 * MS))
    message = {"start_ns": 5 * MS, "end_ns": 23 * MS, "stream": 9, "name": "ncclDevKernel_AllReduce"}
    (told,) = _diagnosed(tmp_path, "exposed_communication", kernel=[*kernels, message])
    assert _rows(told) == [("ncclDevKernel_AllReduce", "the one that started last", 1, 3 * MS, 3 * MS, 20 * MS)]


def test_a_late_host_is_told_for_long_gaps_alone(tmp_path: Path) -> None:
    kernels = _kernels((0, 10 * MS), (12 * MS, 6 * MS), (18_100_000, 2 * MS), launch=5_000)
    (told,) = _diagnosed(tmp_path, "host_late", kernel=kernels)
    assert _rows(told) == [("k1", "after k0", 1, 2 * MS, 2 * MS, 10 * MS)]


def test_a_gap_that_a_loader_fills_is_data_starvation_and_no_late_host(tmp_path: Path) -> None:
    kernels = _kernels((0, 10 * MS), (12 * MS, 6 * MS), (20 * MS, 2 * MS), launch=5_000)
    loader = {"start_ns": 9 * MS, "end_ns": 11_900_000, "name": "enumerate(DataLoader)#_Single.__next__"}
    other = {"start_ns": 0, "end_ns": 40 * MS, "name": "DataLoader thread", "thread": 2}
    trace = {"kernel": kernels, "range": [loader, other]}
    (told,) = _diagnosed(tmp_path / "a", "data_starvation", **trace)
    assert _rows(told) == [("enumerate(DataLoader)#_Single.__next__", "next: k1", 1, 2 * MS, 2 * MS, 10 * MS)]
    (told,) = _diagnosed(tmp_path / "b", "host_late", **trace)
    assert _rows(told) == [("k2", "after k1", 1, 2 * MS, 2 * MS, 18 * MS)]


def test_a_chain_is_as_many_late_launches_in_a_row_as_the_threshold_says(tmp_path: Path) -> None:
    five = _kernels(*((number * 20_000, 10_000) for number in range(6)), launch=5_000)
    (told,) = _diagnosed(tmp_path / "five", "launch_bound", kernel=five)
    assert told.saves_ns == 5 * 10_000
    assert _diagnosed(tmp_path / "four", "launch_bound", kernel=five[:5]) == ()


def test_the_call_that_waits_is_named_with_its_operator(tmp_path: Path) -> None:
    kernels = _kernels((0, 10 * MS), (12 * MS, 8 * MS), launch=5_000)
    launches = [
        {"start_ns": one["launch_ns"], "end_ns": one["launch_ns"] + 1_000, "correlation": one["correlation"]}
        for one in kernels
    ]
    call = {"start_ns": MS, "end_ns": 11_500_000, "name": "cudaStreamSynchronize", "op": 0}
    operator = {"id": 0, "start_ns": MS, "end_ns": 11_600_000, "name": "aten::item"}
    (told,) = _diagnosed(tmp_path, "synchronisation", kernel=kernels, api=[*launches, call], op=[operator])
    assert _rows(told) == [("cudaStreamSynchronize", "in aten::item, after k0", 1, 2 * MS, 2 * MS, 10 * MS)]


def test_a_run_of_small_kernels_could_save_all_but_the_longest(tmp_path: Path) -> None:
    little = _kernels((0, 2_000), (2_000, 4_000), (6_000, 3_000))
    long = {"start_ns": 9_000, "end_ns": 29_000, "name": "long"}
    alone = {"start_ns": 29_000, "end_ns": 30_000, "name": "alone"}
    (told,) = _diagnosed(tmp_path, "small_kernels", kernel=[*little, long, alone])
    assert told.saves_ns == 2_000 + 3_000
    assert sorted(told.rows.select("what", "saves_ns").rows()) == [("k0", 2_000), ("k1", 0), ("k2", 3_000)]


def test_small_kernels_at_the_same_time_count_once(tmp_path: Path) -> None:
    one = _kernels(*((n * 3_000, 3_000) for n in range(3)))
    other = _kernels(*((n * 3_000, 3_000) for n in range(3)), stream=8)
    (told,) = _diagnosed(tmp_path, "small_kernels", kernel=[*one, *other])
    assert told.saves_ns <= told.span_ns == 9_000


def test_a_kernel_with_too_few_blocks_could_save_the_share_of_units_without_one(tmp_path: Path) -> None:
    blocks = {"grid_x": 25, "grid_y": 1, "grid_z": 1}
    kernels = _kernels((0, 8 * MS), **blocks) + _kernels((8 * MS, 2 * MS), **blocks | {"grid_x": 100})
    device = {"process": 1, "device": 0, "compute_units": 100}
    (told,) = _diagnosed(tmp_path, "underfilled", kernel=kernels, device=[device])
    assert _rows(told) == [("k0", "25 blocks on 100 compute units", 1, 8 * MS, 6 * MS, 0)]


def test_several_devices_are_told_by_the_one_that_loses_most(tmp_path: Path) -> None:
    kernels = [
        one | {"device": device} for device in (0, 1) for one in _kernels((0, 10 * MS), (15 * MS, 5 * MS))
    ]  # fmt: skip
    copies = [
        {"start_ns": 10 * MS, "end_ns": end, "stream": 8, "device": device}
        for device, end in ((0, 13 * MS), (1, 14 * MS))
    ]
    (told,) = _diagnosed(tmp_path, "copy_stalls", kernel=kernels, copy=copies)
    assert (told.device, told.saves_ns) == (1, 4 * MS)
    assert told.sentence.startswith("Device 1 of process 1 spends 4 ms in copies alone")
    assert told.sentence.endswith("could be saved; one other device likewise.")
    assert told.rows.select("device", "saves_ns").rows() == [(1, 4 * MS), (0, 3 * MS)]


def test_a_copy_can_hide_behind_no_more_compute_than_its_iteration_has(tmp_path: Path) -> None:
    kernels = _kernels((0, 3 * MS), (13 * MS, MS))
    copies = [{"start_ns": 3 * MS, "end_ns": 13 * MS}]
    (told,) = _diagnosed(tmp_path, "copy_stalls", kernel=kernels, copy=copies)
    assert _rows(told) == [("copy HtoD", "", 1, 10 * MS, 4 * MS, 3 * MS)]
    assert told.sentence.startswith("The device spends 10 ms in copies alone")
    assert "At most 4 ms (28.6 % of the device's time) could be saved." in told.sentence


def test_copies_of_a_device_that_computes_nothing_stall_nothing(tmp_path: Path) -> None:
    copies = [{"start_ns": n * MS, "end_ns": n * MS + 600_000} for n in range(4)]
    assert _diagnosed(tmp_path, "copy_stalls", copy=copies) == ()


def test_launches_that_come_late_only_once_are_no_chain(tmp_path: Path) -> None:
    """Six operations that each occur once, the last of them a slow launch: no loop that a graph would shorten."""
    once = _kernels(*((number * 20_000, 10_000) for number in range(6)), launch=5_000)
    for number, one in enumerate(once):
        one["name"] = f"alone{number}"
    assert _diagnosed(tmp_path / "once", "launch_bound", kernel=once) == ()
    again = [one | {"start_ns": one["start_ns"] + MS, "end_ns": one["end_ns"] + MS} for one in once]
    for one in again:
        one |= {"launch_ns": one["start_ns"] - 5_000, "correlation": one["correlation"] + 100}
    (told,) = _diagnosed(tmp_path / "twice", "launch_bound", kernel=[*once, *again])
    assert told.saves_ns == 2 * 5 * 10_000


def test_a_finding_says_what_makes_it_uncertain(tmp_path: Path) -> None:
    trace, archive = build(
        tmp_path, kernel=_kernels((0, 10 * MS), (15 * MS, 5 * MS)), copy=[{"start_ns": 10 * MS, "end_ns": 14 * MS}]
    )
    trace = mine(trace, archive, "segments", "hierarchy")
    (sure,) = load("diagnosis", "copy_stalls").diagnose(trace)
    assert sure.sentence.endswith("could be saved.")
    notes = (Note("unclassified-work", 1_234, "work of no known kind"), Note("bad-text", 1, "names"))
    (told,) = load("diagnosis", "copy_stalls").diagnose(replace(trace, notes=notes))
    assert told.sentence == (
        f"{sure.sentence} This is uncertain: busy and idle time cannot be relied on in this recording "
        "(unclassified-work: 1\u202f234)."
    )


def _started_up(tmp_path: Path, *waits: int) -> pl.DataFrame:
    """The findings of 12 iterations of three kernels of 1 ms, one more kernel 20 ms before them, the host waiting."""
    spans, names, at = [(0, 100_000)], ["set up"], 20_100_000
    for iteration in range(12):
        at += 6 * MS if iteration in waits else 0
        spans += [(at + place * MS, MS) for place in range(3)]
        names += ["a", "b", "c"]
        at += 3 * MS + 50_000
    kernels = _kernels(*spans, launch=5_000)
    late = [1, *(1 + 3 * iteration for iteration in waits)]
    api = []
    for number, one in enumerate(kernels):
        one["name"] = names[number]
        if number and number not in late:
            one["launch_ns"] = kernels[number - 1]["launch_ns"] + 1_000
        if number in late:
            wait = {"end_ns": one["launch_ns"] - 1_000, "name": "cudaDeviceSynchronize"}
            api.append({"start_ns": kernels[number - 1]["start_ns"], **wait})
    launches = [
        {"start_ns": one["launch_ns"], "end_ns": one["launch_ns"] + 500, "correlation": one["correlation"]}
        for one in kernels
    ]
    trace, archive = build(tmp_path, kernel=kernels, api=[*launches, *api])
    return mine(trace, archive, "diagnoses").finding.collect().select("name", "saves_ns", "saves_per_iteration_ns")


def test_a_gap_before_the_first_iteration_is_told_as_warm_up_and_not_again(tmp_path: Path) -> None:
    assert _started_up(tmp_path).rows() == [("warm_up", 20_100_000, 0)]


def test_the_same_gap_between_iterations_is_a_synchronisation_of_these(tmp_path: Path) -> None:
    found = _started_up(tmp_path, 6, 9).filter(pl.col("name").is_in(["warm_up", "synchronisation"]))
    assert found.rows() == [("warm_up", 20_100_000, 0), ("synchronisation", 2 * 6_050_000, 2 * 6_050_000 // 12)]
