"""Advice from a trace: what is asked for, how far ahead, what it rests on."""

import re
from pathlib import Path
from typing import Any

from tests.mining.managed_made import BASE, KIB, MIB, fault, move, run
from tracelode.mining.mine import find, mine
from tracelode.mining.thresholds import read_thresholds
from tracelode.mining.uvm_rules import RULES


def _rows(folder: Path, **tables: Any) -> list[dict[str, Any]]:
    return find(*run(folder, **tables), "uvm_advice").rows.to_dicts()


def test_a_prefetch_names_the_kernel_and_the_one_to_ask_before(tmp_path: Path) -> None:
    # 1 MiB came at 10.5 bytes a nanosecond, so the 2 MiB that are asked for take at most 200,000 ns; b needs it, and a
    # starts 300,000 ns before b.
    kernels = [
        {"start_ns": at, "end_ns": at + 90_000, "name": name} for at, name in ((0, "x"), (100_000, "a"), (400_000, "b"))
    ]
    life = [{"process": 1, "kind": "managed", "address": BASE, "bytes": 2 * MIB, "birth_ns": 0}]
    moves = [move(410_000, 510_000, BASE, MIB)]
    (row,) = _rows(tmp_path, kernel=kernels, allocation=life, copy=moves, fault=None)
    assert (row["action"], row["kernel"], row["occurrence"], row["executions"]) == ("prefetch", "b", 0, 1)
    assert (row["ahead_kernel"], row["ahead_occurrence"], row["ahead_ns"]) == ("a", 0, 300_000)
    assert (row["bytes"], row["transfer_ns"]) == (MIB, 200_000)
    # The move goes on for 80,000 ns of the kernel's 90,000; its transfer takes longer than that.
    assert (row["cost_ns"], row["saves_least_ns"], row["saves_most_ns"]) == (80_000, 0, 80_000)
    assert (row["confidence"], row["evidence"]) == ("low", "moves")
    assert row["cuda"] == "cudaMemPrefetchAsync(p, 2097152, 0, stream);"
    assert row["hip"] == "hipMemPrefetchAsync(p, 2097152, 0, stream);"


def test_a_tensor_gets_the_advice_where_its_object_is_mostly_untouched(tmp_path: Path) -> None:
    lives = [
        {"process": 1, "kind": "managed", "address": BASE, "bytes": 32 * MIB, "birth_ns": 0},
        {"process": 1, "kind": "tensor", "address": BASE + 8 * MIB, "bytes": 2 * MIB, "birth_ns": 0, "owner": "w"},
    ]
    moves = [move(110, 150, BASE + 8 * MIB, MIB), move(150, 190, BASE + 9 * MIB, MIB)]
    (row,) = _rows(tmp_path, allocation=lives, copy=moves, fault=None)
    assert (row["level"], row["bytes"]) == ("tensor", 2 * MIB)
    assert row["cuda"] == f"cudaMemPrefetchAsync((char *)p + {8 * MIB}, 2097152, 0, stream);"


def test_the_most_that_could_be_saved_comes_first_and_what_is_left_last(tmp_path: Path) -> None:
    lives = [{"process": 1, "kind": "managed", "address": BASE + at * 8 * MIB, "bytes": MIB} for at in range(3)]
    copies = [move(100, 110, BASE, MIB), move(120, 180, BASE + 8 * MIB, MIB)]
    rows = _rows(tmp_path, allocation=lives, copy=copies, fault=None)
    assert [(row["action"], row["saves_most_ns"]) for row in rows] == [("prefetch", 60), ("prefetch", 10), ("leave", 0)]
    assert [row["advice"] for row in rows] == [0, 1, 2]


def test_the_evidence_is_every_event_on_the_range(tmp_path: Path) -> None:
    trace, archive = run(tmp_path)
    rows = find(trace, archive, "uvm_evidence").rows
    assert set(rows["advice"]) == {0, 1}
    events = mine(trace, archive, "uvm_events").uvm_event.collect()
    assert rows["events"].sum() == len(events)
    assert rows["bytes"].sum() == events["bytes"].sum()


def test_what_the_program_moved_itself_needs_no_advice(tmp_path: Path) -> None:
    rows = _rows(tmp_path, fault=None, copy=[move(110, 190, BASE, MIB, cause="user")])
    assert {row["action"] for row in rows} == {"leave"}


def test_what_the_program_moved_before_is_not_counted_as_moved_again_unasked(tmp_path: Path) -> None:
    life = [{"process": 1, "kind": "managed", "address": BASE, "bytes": 2 * MIB, "birth_ns": 0}]
    asked = [move(at, at + 20, BASE, 64 * KIB, cause="user") for at in (110, 310)]
    copies = [*asked, move(510, 590, BASE + MIB, 64 * KIB)]
    (row,) = _rows(tmp_path, allocation=life, fault=None, copy=copies)
    assert (row["action"], row["bytes"], row["saves_most_ns"]) == ("prefetch", 64 * KIB, 80)
    assert row["rule"] == "1 move unasked; 0.0 % of their bytes had moved before"


def test_measured_accesses_say_what_to_pin_and_what_to_offload(tmp_path: Path) -> None:
    # Of ten windows the first object is accessed in all, 1,000 times, the second in the fourth alone, 10 times.
    lives = [
        {"process": 1, "kind": "managed", "address": BASE + at * 8 * MIB, "bytes": 2 * MIB, "birth_ns": at}
        for at in (0, 1)
    ]
    accesses = [
        {"process": 1, "granularity": "object", "object": BASE + at * 8 * MIB, "window": window, "accesses": number}
        for at, window, number in [*((0, window, 100) for window in range(10)), (1, 3, 10)]
    ]
    moves = [move(110, 150, BASE, MIB), move(150, 190, BASE + 8 * MIB, MIB)]
    rows = _rows(tmp_path, allocation=lives, access=accesses, fault=None, copy=moves)
    assert {row["range"]: (row["action"], row["kernel"], row["evidence"], row["confidence"]) for row in rows} == {
        0: ("pin", "a", "accesses", "high"),
        1: ("offload", "a", "accesses", "high"),
    }


def test_a_range_that_faults_on_two_kernels_says_so(tmp_path: Path) -> None:
    life = [{"process": 1, "kind": "managed", "address": BASE, "bytes": 2 * MIB}]
    faults = [fault(110, 150, BASE), fault(310, 350, BASE)]
    copies = [move(120, 130, BASE, 64 * KIB), move(320, 330, BASE + 64 * KIB, 64 * KIB)]
    (row,) = _rows(tmp_path, allocation=life, fault=faults, copy=copies)
    assert (row["executions"], row["cost_ns"], row["bytes"]) == (2, 80, 128 * KIB)


def test_every_threshold_has_a_comment_above_it() -> None:
    lines = RULES.read_text().splitlines()
    values = [number for number, line in enumerate(lines) if re.match(r"\w+ = ", line)]
    assert len(values) == sum(len(section) for section in read_thresholds(RULES).values()) >= 15
    assert [lines[number] for number in values if not lines[number - 1].startswith("# ")] == []


def test_where_no_allocation_is_recorded_the_lines_are_templates_and_it_says_what_to_record(tmp_path: Path) -> None:
    found = find(*run(tmp_path, allocation=None), "uvm_advice")
    # All events lie in one block of 2 MiB at BASE, 64 MiB.
    (row,) = found.rows.to_dicts()
    within = "/* each allocation within 0x4000000 to 0x41fffff */"
    assert row["cuda"] == f"{within} cudaMemPrefetchAsync(<allocation>, <its bytes>, 0, stream);"
    assert row["hip"] == f"{within} hipMemPrefetchAsync(<allocation>, <its bytes>, 0, stream);"
    assert found.sentence.startswith(
        "1 range to act on; first prefetch what lies in the address range of 2.0 MiB at 0x4000000 before a: saves "
    )
    assert found.notes[0] == (
        "1 range to act on known by addresses only: the allocations behind them are not recorded, and may be several. "
        "Such a line is a template, to be used for each allocation within its range. To have allocations named, record "
        "with nsys profile --trace=cuda --cuda-memory-usage=true --cuda-um-gpu-page-faults=true "
        "--cuda-um-cpu-page-faults=true, or with tracelode record --uvm."
    )
    named = find(*run(tmp_path / "named"), "uvm_advice")
    assert named.notes[0] == "In a line p is the allocation named beside it, and stream one of the program's streams."
    assert not any("template" in note for note in named.notes)


def test_without_kernels_the_cost_and_the_saving_are_not_known(tmp_path: Path) -> None:
    rows = _rows(tmp_path, kernel=None, fault=None)
    told = {(row["action"], row["cost_ns"], row["saves_least_ns"], row["saves_most_ns"]) for row in rows}
    assert ("prefetch", None, None, None) in told
    assert {row["cost_ns"] for row in rows} == {None}
