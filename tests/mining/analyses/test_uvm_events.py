"""P46, P57 and P58: where faults and moves belong, and what kernels wait at most; numbers from managed_made."""

from pathlib import Path
from typing import Any

import polars as pl
import pytest

from tests.building import build
from tests.mining.managed_made import BASE, KIB, MIB, fault, move, run
from tracelode.mining.mine import find, mine
from tracelode.store import NotCollected, Trace


def _mined(folder: Path, **tables: Any) -> Trace:
    trace, archive = run(folder, **tables)
    return mine(trace, archive, "uvm_events")


def _rows(trace: Trace, sql: str) -> list[tuple[Any, ...]]:
    return trace.sql(sql).rows()


def test_each_fault_lies_in_the_object_that_lived_then(tmp_path: Path) -> None:
    trace = _mined(tmp_path)
    ranges = _rows(trace, "select range, granularity, bytes, owner from uvm_range order by range")
    assert ranges == [(0, "object", MIB, None), (1, "object", 2 * MIB, None), (2, "tensor", 64 * KIB, "weight")]
    placed = _rows(trace, "select start_ns, kind, range, tensor from uvm_event order by event")
    assert placed == [
        (110, "gpu_fault", 0, None),
        (120, "HtoD", 0, None),
        (140, "gpu_fault", 0, None),
        (190, "gpu_fault", 0, None),  # A lives until 250, B has its address from 260 on
        (350, "gpu_fault", 1, 2),
        (350, "gpu_fault", 1, 2),
        (355, "HtoD", 1, 2),
        (450, "DtoH", 1, 2),
        (450, "cpu_fault", 1, None),
        (510, "HtoD", 1, 2),
    ]


def test_what_lies_in_no_living_object_is_a_range_of_its_own(tmp_path: Path) -> None:
    # Between 250 and 260 nobody lives at BASE; B ends at BASE + 2 MiB.
    faults = [fault(255, 258, BASE), fault(300, 310, BASE + 2 * MIB), fault(350, 360, BASE + 40 * MIB)]
    trace = _mined(tmp_path, fault=faults, copy=None)
    ranges = _rows(trace, "select address, bytes from uvm_range where granularity = 'addresses' order by range")
    assert ranges == [(BASE, 4 * MIB), (BASE + 40 * MIB, 2 * MIB)]  # blocks next to each other are one
    assert _rows(trace, "select count(*) from uvm_event where range in (0, 1)") == [(0,)]


def test_the_stall_of_a_kernel_is_the_union_of_faults_during_it(tmp_path: Path) -> None:
    trace = _mined(tmp_path)
    # a: [110, 150) and [140, 180) are 70 ns together, not 80, and 10 ns of [190, 320) lie in [100, 200): 80.
    # b: 20 ns of [190, 320), and [350, 380): 50. The second a sees none.
    assert _rows(trace, "select kernel, occurrence, stall_ns, faults from uvm_stall order by start_ns") == [
        ("a", 0, 80, 3),
        ("b", 0, 50, 2),
    ]


def test_a_device_has_the_stall_the_service_time_and_the_faults_without_an_end(tmp_path: Path) -> None:
    trace = _mined(tmp_path)
    (row,) = trace.sql("select * exclude (trace_id) from uvm_device").to_dicts()
    assert row == {
        "process": 1,
        "device": 0,
        "kernel_ns": 300,
        "faults": 5,
        "untimed_faults": 1,  # its end is 0
        "service_ns": 40 + 40 + 130 + 30,
        "fault_ns": 70 + 130 + 30,
        "stall_ns": 80 + 50,
        "moves": 3,
        "move_ns": 10 + 20 + 20,
        "beside_ns": 10 + 20 + 20,
    }


def test_kernels_that_run_at_once_do_not_double_the_stall_of_the_run(tmp_path: Path) -> None:
    kernels = [{"start_ns": 100, "end_ns": 200, "name": name, "stream": at} for at, name in enumerate("ab")]
    trace = _mined(tmp_path, kernel=kernels, fault=[fault(110, 150, BASE)], copy=None)
    assert _rows(trace, "select kernel, stall_ns from uvm_stall order by kernel") == [("a", 40), ("b", 40)]
    assert _rows(trace, "select kernel_ns, stall_ns from uvm_device") == [(100, 40)]


def test_faults_of_another_device_are_no_stall_of_this_one(tmp_path: Path) -> None:
    trace = _mined(tmp_path, fault=[fault(110, 150, BASE), fault(110, 190, BASE, device=1)], copy=None)
    rows = _rows(trace, "select device, kernel_ns, stall_ns from uvm_device order by device")
    assert rows == [(0, 300, 40), (1, 0, 0)]


def test_an_event_counts_to_the_kernel_that_runs_and_to_the_one_that_started_last(tmp_path: Path) -> None:
    kernels = [
        {"start_ns": 0, "end_ns": 1000, "name": "long", "stream": 2},
        {"start_ns": 100, "end_ns": 200, "name": "short", "stream": 1},
    ]
    faults = [fault(at, at + 1, BASE) for at in (50, 150, 250, 1000)]
    trace = _mined(tmp_path, kernel=kernels, fault=faults, copy=None)
    assert _rows(trace, "select kernel from uvm_event order by event") == [("long",), ("short",), ("long",), (None,)]


def test_an_operator_has_the_faults_of_the_kernels_launched_in_it(tmp_path: Path) -> None:
    trace, archive = build(
        tmp_path,
        kernel=[{"start_ns": 100, "end_ns": 200, "name": "a", "correlation": 1}],
        api=[{"start_ns": 10, "end_ns": 20, "correlation": 1}],
        op=[{"start_ns": 5, "end_ns": 30, "name": "aten::mm", "id": 0}],
        fault=[fault(110, 130, BASE)],
    )
    (row,) = find(trace, archive, "uvm_operators").rows.to_dicts()
    assert (row["operator"], row["gpu_faults"], row["stall_ns"], row["stall_share"]) == ("aten::mm", 1, 20, 0.2)


def test_bytes_that_come_again_and_pages_that_come_back(tmp_path: Path) -> None:
    trace = _mined(tmp_path)
    # Of T 64 KiB come at 355, go at 450, and 32 KiB come again at 510. What A had at 120 is other memory's address.
    assert _rows(
        trace, "select start_ns, again_bytes, returned_bytes from uvm_event where bytes > 0 order by event"
    ) == [
        (120, 0, 0),
        (355, 0, 0),
        (450, None, 64 * KIB),
        (510, 32 * KIB, 32 * KIB),
    ]


def test_another_object_at_the_same_addresses_has_other_pages(tmp_path: Path) -> None:
    # The same 64 KiB of addresses move at 120 for A, which dies at 250, and at 355 and 510 for B.
    copies = [move(at, at + 10, BASE, 64 * KIB) for at in (120, 355, 510)]
    trace = _mined(tmp_path, fault=None, copy=copies)
    assert _rows(trace, "select range, again_bytes from uvm_event order by event") == [(0, 0), (1, 0), (1, 64 * KIB)]


def test_a_fault_of_no_told_device_is_in_no_stall(tmp_path: Path) -> None:
    trace = _mined(tmp_path, fault=[fault(110, 150, BASE), fault(160, 190, BASE, device=None)], copy=None)
    assert _rows(trace, "select kernel, stall_ns, faults from uvm_stall") == [("a", 40, 1)]
    assert _rows(trace, "select device, faults, stall_ns from uvm_device") == [(0, 1, 40)]


def test_moves_told_without_a_stream_are_the_same_as_moves_told_as_copies(tmp_path: Path) -> None:
    moves = [
        {"process": 1, "device": 0, "kind": "UVM_HtoD", "start_ns": 120, "end_ns": 130, "address": BASE, "bytes": 4096},
        {"process": 1, "kind": "thrash", "start_ns": 150, "end_ns": 0, "address": BASE, "bytes": 4096},
        {"process": 1, "device": 0, "kind": "throttle", "start_ns": 160, "end_ns": 190, "address": BASE},
        {"process": 1, "device": 0, "kind": "remote_map", "start_ns": 170, "address": BASE, "bytes": 65536},
    ]
    trace, archive = run(tmp_path, migration=moves, copy=None, fault=None)
    (row,) = find(trace, archive, "uvm_moves").rows.to_dicts()
    assert (row["kind"], row["moves"], row["bytes"], row["time_ns"], row["bytes_per_s"]) == (
        "HtoD",
        1,
        4096,
        10,
        4.096e11,
    )
    found = find(trace, archive, "uvm_contention")
    assert found.sentence == "Thrashing 1 time, throttling 1 time, remote maps 1 time."
    acts = found.rows.select("kind", "events", "bytes", "time_ns").rows()
    assert acts == [("remote_map", 1, 65536, None), ("thrash", 1, 4096, None), ("throttle", 1, None, 30)]


def test_causes_are_explained_only_where_a_move_has_one(tmp_path: Path) -> None:
    trace, archive = run(tmp_path)
    (note,) = find(trace, archive, "uvm_moves").notes
    assert note.startswith("Causes are the driver's: coherence is a fault's own move")
    trace, archive = run(tmp_path / "b", copy=[move(120, 130, BASE, 4096, cause=None)])
    assert find(trace, archive, "uvm_moves").notes == ()


def test_throughput_is_said_in_the_unit_of_the_table(tmp_path: Path) -> None:
    # 16 KiB in 16 µs and 64 KiB in 32 µs: 80 KiB in 48 µs are 1.59 GiB/s, the large one alone is 1.91 GiB/s
    trace, archive = run(tmp_path, copy=[move(0, 16_000, BASE, 16 * KIB), move(20_000, 52_000, BASE + MIB, 64 * KIB)])
    assert find(trace, archive, "uvm_links").sentence == (
        "Pages move to devices at 1.59 GiB/s over all moves, 1.91 GiB/s over the largest."
    )


def test_kinds_of_events_that_no_table_holds_are_not_collected_and_never_zero(tmp_path: Path) -> None:
    trace, archive = run(tmp_path, fault=None)
    with pytest.raises(NotCollected, match="page faults of devices") as caught:
        find(trace, archive, "uvm_faults")
    assert "--cuda-um-gpu-page-faults=true" in caught.value.hint
    with pytest.raises(NotCollected, match="thrashing"):
        find(trace, archive, "uvm_contention")
    found = find(trace, archive, "uvm_devices")
    assert found.rows.select("faults", "service_ns", "stall_ns").rows() == [(None, None, None)]
    assert found.sentence.startswith("How long kernels wait for page faults was not collected; 3 moves")
    assert find(trace, archive, "uvm_ranges").rows["gpu_faults"].to_list() == [None, None]
    assert find(trace, archive, "uvm_ranges").rows["stall_ns"].to_list() == [None, None]
    assert find(trace, archive, "uvm_kernels").rows["gpu_faults"].null_count() == 2


def test_a_trace_without_anything_of_managed_memory_has_no_table_of_it(tmp_path: Path) -> None:
    trace, archive = run(tmp_path, fault=None, copy=[{"start_ns": 210, "end_ns": 220, "bytes": 8}])
    assert not any(mine(trace, archive, "uvm_events").has(name) for name in ("uvm_event", "uvm_range", "uvm_device"))
    for name in ("uvm_devices", "uvm_moves", "uvm_ranges", "uvm_places", "uvm_advice", "uvm_kernels"):
        with pytest.raises(NotCollected, match="nothing of managed memory"):
            find(trace, archive, name)


def test_host_faults_alone_make_no_device(tmp_path: Path) -> None:
    trace, archive = run(tmp_path, copy=None, fault=[{"process": 1, "processor": "cpu", "start_ns": 5, "pages": 1}])
    assert not len(find(trace, archive, "uvm_devices").rows)
    assert find(trace, archive, "uvm_faults").sentence == "1 page fault of the host."
    assert trace.has("uvm_stall") is False


def test_flawed_copies_are_in_no_time(tmp_path: Path) -> None:
    copies = [move(120, 110, BASE, 4096), move(130, 140, BASE, 4096)]
    trace, archive = run(tmp_path, fault=None, copy=copies)
    (row,) = find(trace, archive, "uvm_moves").rows.to_dicts()
    assert (row["moves"], row["untimed"], row["time_ns"], row["bytes_per_s"]) == (2, 1, 10, 4.096e11)


def test_the_sums_over_ranges_and_over_kernels_are_those_of_the_events(tmp_path: Path) -> None:
    trace, archive = run(tmp_path)
    for name in ("uvm_ranges", "uvm_kernels"):
        rows = find(trace, archive, name).rows
        inside = "range is not null" if name == "uvm_ranges" else "kernel is not null"
        events = mine(trace, archive, "uvm_events").uvm_event.collect().filter(pl.sql_expr(inside))
        assert rows["gpu_faults"].sum() == len(events.filter(pl.col("kind") == "gpu_fault"))
        assert rows["to_device_bytes"].sum() == events.filter(pl.col("kind") == "HtoD")["bytes"].sum()


def test_times_of_places_count_from_the_first_event_which_is_named(tmp_path: Path) -> None:
    # From the first fault at 110 to the last move at 510 there are 401 ns, in 60 bins; all lie in one block.
    found = find(*run(tmp_path), "uvm_places")
    times = found.rows.select("base_ns", "bin", "from_ns", "to_ns").rows()
    assert (times[0], times[-1]) == ((110, 0, 0, 6), (110, 59, 394, 401))
    assert found.sentence == "6 faults and moves of 224 KiB, on 1 block of 2 MiB."


def test_sentences_give_bytes_in_the_unit_that_reads_best_and_one_of_a_kind_in_the_singular(tmp_path: Path) -> None:
    life = [{"process": 1, "kind": "managed", "address": BASE, "bytes": 8 * MIB}]
    tables: dict[str, Any] = {"allocation": life, "fault": [fault(110, 150, BASE)], "copy": [move(120, 130, BASE, MIB)]}
    trace, archive = run(tmp_path, **tables)
    assert find(trace, archive, "uvm_moves").sentence == "1 move of 1 MiB to devices in 10 ns."
    assert find(trace, archive, "uvm_ranges").sentence == (
        "1 range of managed memory; most falls on managed of 8.0 MiB at 0x4000000: 1 fault group of devices, 1 MiB to "
        "devices, at most 40 ns of stall."
    )
    assert find(trace, archive, "uvm_kernels").sentence == (
        "Of 1 kernel with faults or moves, a has most: at most 40 ns of stall, 1 fault group, 1 MiB to the device."
    )
