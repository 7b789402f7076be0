import json
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from data.generator.accelprof import ADD, GEMM, MIB, Allocation, Launch, app_metric
from tests.collect.reading import Told, read
from tracelode.collect.readers import accelprof

GIB = 1 << 30
Tell = Callable[[str], Told]


@pytest.fixture
def tell(tmp_path: Path) -> Tell:
    def told(text: str) -> Told:
        path = tmp_path / "app.log"
        path.write_text(text)
        return read(accelprof, path, tmp_path)

    return told


def large(sizes: Sequence[int]) -> list[Allocation]:
    return [Allocation((1 << 40) + number * 64 * GIB, size) for number, size in enumerate(sizes)]


def test_a_line_as_the_tool_writes_it_is_one_row(tell: Tell) -> None:
    told = tell(
        "Alloc(6) 0:\t140 2048 (2.00 KB)\nAlloc(8) 1:\t99999 7 (7 bytes)\nAlloc(0) 2:\t5 1 (1 bytes)\n\n"
        "Kernel 0 (refs=12, objs=1, obj_size=2048, 2.00 KB):\tvoid f<int>(int*, char (*)[4])\n\n"
        "InvCount=1\tvoid f<int>(int*, char (*)[4])\n\n"
        "Number of allocations: 3\nNumber of kernels: 1\nMaximum memory usage: 12B (2.01 KB)\n"
        "------------------------------\nTotal memory accesses: 12 (12)\nAverage accesses per page: 23.9064\n"
    )
    assert told["launch_memory"] == [
        {
            "process": 0,
            "launch": 0,
            "kernel": "void f<int>(int*, char (*)[4])",
            "accesses": 12,
            "objects": 1,
            "memory_working_set_bytes": 2048,
        }
    ]
    assert [(row["kind"], row["address"], row["bytes"]) for row in told["allocation"]] == [
        ("managed", 140, 2048),
        ("pinned", 99999, 7),
        ("device", 5, 1),
    ]
    assert json.loads(told["allocation"][0]["args"]) == {"ordinal": 0, "flags": 6}
    assert told.facts.labels["peak_memory_bytes"] == "2056"
    assert told.counts() == {"lower-neighbour": 1, "misprinted-peak": 1, "missing-part": 7}


@pytest.mark.parametrize("pages", ["8", "8.5"])
def test_a_whole_number_of_accesses_per_page_ends_the_log_as_any_other(tell: Tell, pages: str) -> None:
    told = tell(
        "Alloc(6) 0:\t140 2048 (2.00 KB)\n\n"
        "Kernel 0 (refs=8, objs=1, obj_size=2048, 2.00 KB):\tgemm\n\nInvCount=1\tgemm\n\n"
        "Number of allocations: 1\nNumber of kernels: 1\nMaximum memory usage: 2048B (2.00 KB)\n"
        f"------------------------------\nTotal memory accesses: 8 (8)\nAverage accesses per page: {pages}\n"
    )
    assert "truncated" not in told.notes


def test_the_peak_is_the_sum_of_all_allocations_when_nothing_else_is_possible(tell: Tell) -> None:
    sizes = [3 * MIB + 5, 7 * MIB]
    labels = tell(app_metric(large(sizes), [Launch(GEMM, 977, 1, 0, 7 * MIB)])).facts.labels
    assert labels["peak_memory_bytes"] == str(10 * MIB + 5)
    assert labels["peak_memory_error_bytes"] == "0"


def test_the_peak_below_that_sum_is_known_as_exactly_as_the_log_tells_it(tell: Tell) -> None:
    peak = 7 * MIB + 4321
    told = tell(app_metric(large([7 * MIB, 7 * MIB, 4321]), [Launch(GEMM, 97_700_123, 1, 0, 7 * MIB)], peak=peak))
    error = int(told.facts.labels["peak_memory_error_bytes"])
    assert abs(int(told.facts.labels["peak_memory_bytes"]) - peak) <= error < 50
    assert told.notes["misprinted-peak"].example == "97700123B (7.00 MB)"


def test_a_peak_printed_right_is_taken_as_it_is(tell: Tell) -> None:
    log = app_metric(large([7 * MIB, 7 * MIB]), [Launch(GEMM, 900, 1, 0, 7 * MIB)], peak=7 * MIB)
    told = tell(log.replace("usage: 900B", f"usage: {7 * MIB}B"))
    assert told.facts.labels["peak_memory_bytes"] == str(7 * MIB)
    assert "misprinted-peak" not in told.notes


def test_counters_that_were_never_set_are_replaced_by_what_the_rows_say(tell: Tell) -> None:
    launches = [Launch(GEMM, 10, 1, 0, 4096), Launch(ADD, 6, 1, 0, 4096), Launch(GEMM, 10, 1, 0, 4096)]
    told = tell(app_metric(large([4096]), launches, unset=1_894_568_220))
    labels = told.facts.labels
    assert (labels["allocations"], labels["launches"], labels["accesses"]) == ("1", "3", "26")
    assert told.notes["wrong-summary"].count == 2
    assert told.notes["wrong-summary"].example == "Number of allocations: 1894568221, by the rows 1"
    assert told.notes["impossible-peak"].example == "1.76 GB"
    assert "peak_memory_bytes" not in labels


def test_touched_bytes_that_may_have_wrapped_at_4_gib_are_left_out(tell: Tell) -> None:
    sizes = [3 * GIB, 3 * GIB, 512 * MIB]
    launches = [
        Launch(GEMM, 8, 2, 0, 6 * GIB),  # printed as 2 GiB
        Launch(ADD, 8, 1, 0, 3 * GIB),  # one object: no more than the largest of them
    ]
    told = tell(app_metric(large(sizes), launches))
    first, second = told["launch_memory"]
    assert "memory_working_set_bytes" not in first
    assert json.loads(first["args"]) == {"touched_bytes_modulo_2_32": 2 * GIB}
    assert second["memory_working_set_bytes"] == 3 * GIB
    assert told.notes["wrapped-bytes"].count == 1


def test_a_single_object_above_4_gib_is_known_by_what_is_left_of_its_size(tell: Tell) -> None:
    told = tell(app_metric(large([5 * GIB, 3 * GIB]), [Launch(GEMM, 8, 1, 0, 5 * GIB)]))
    assert told["launch_memory"][0]["memory_working_set_bytes"] == 5 * GIB
    assert "wrapped-bytes" not in told.notes


def test_of_two_objects_that_leave_the_same_remainder_neither_is_chosen(tell: Tell) -> None:
    told = tell(app_metric(large([5 * GIB, GIB]), [Launch(GEMM, 8, 1, 0, 5 * GIB)]))
    assert "memory_working_set_bytes" not in told["launch_memory"][0]


def test_no_byte_is_doubted_while_less_than_4_gib_were_allocated_at_once(tell: Tell) -> None:
    allocations = large([3 * GIB, 3 * GIB])  # one after the other
    told = tell(app_metric(allocations, [Launch(GEMM, 8, 2, 0, 3 * GIB)], peak=3 * GIB))
    assert told["launch_memory"][0]["memory_working_set_bytes"] == 3 * GIB


def test_more_objects_than_the_tool_looks_at_are_noted(tell: Tell) -> None:
    told = tell(
        app_metric([Allocation((1 << 40) + at * 512, 512) for at in range(16_385)], [Launch(ADD, 1, 1, 0, 512)])
    )
    assert told.counts()["capped-objects"] == 16_385


def test_a_log_cut_within_its_launches_says_so_and_keeps_them(tell: Tell) -> None:
    log = app_metric(large([MIB]), [Launch(GEMM, 8, 1, 0, MIB), Launch(ADD, 9, 1, 0, MIB)])
    told = tell(log[: log.index("Kernel 1 (") + 12])
    assert [row["launch"] for row in told["launch_memory"]] == [0]
    assert "truncated" in told.notes
    assert "wrong-summary" not in told.notes


def test_what_two_processes_wrote_over_each_other_is_kept_and_noted(tell: Tell) -> None:
    log = app_metric(large([MIB]), [Launch(GEMM, 8, 1, 0, MIB)])
    line = next(line for line in log.splitlines() if line.startswith("Kernel 0"))
    told = tell(log.replace(line, f"{line}\nnel 7 (refs=1\n{line}"))
    assert [row["launch"] for row in told["launch_memory"]] == [0, 0]
    assert told.counts()["repeated-launch"] == 1
    assert [json.loads(row["json"]) for row in told["other"]] == [{"line": "nel 7 (refs=1"}]


def test_a_run_without_launches_or_allocations_is_read(tell: Tell) -> None:
    told = tell(app_metric([], []))
    labels: Any = told.facts.labels
    assert (labels["launches"], labels["allocations"]) == ("0", "0")
    assert set(told.tables) == {"process"}


@settings(max_examples=60, deadline=None)
@given(
    st.lists(st.integers(1, 9 * GIB), min_size=1, max_size=6),
    st.lists(st.tuples(st.integers(0, 63), st.integers(0, 10**12)), max_size=5),
    st.integers(1, 63),
)
def test_what_is_told_of_bytes_and_of_the_peak_is_true(
    tmp_path_factory: pytest.TempPathFactory, sizes: list[int], touched: list[tuple[int, int]], live: int
) -> None:
    def chosen(mask: int) -> list[int]:
        return [size for at, size in enumerate(sizes) if mask >> at & 1]

    live |= 1
    launches = [
        Launch(GEMM, accesses, len(chosen(mask & live)), 0, sum(chosen(mask & live))) for mask, accesses in touched
    ]
    peak = max(sum(chosen(live)), *sizes)
    folder = tmp_path_factory.mktemp("metric")
    (folder / "app.log").write_text(app_metric(large(sizes), launches, peak=peak))
    told = read(accelprof, folder / "app.log", folder)
    for row, launch in zip(told.tables.get("launch_memory", []), launches, strict=True):
        assert row["memory_working_set_bytes"] in (None, launch.memory_working_set)
        assert row["accesses"] == launch.accesses
    labels = told.facts.labels
    assert abs(int(labels["peak_memory_bytes"]) - peak) <= int(labels["peak_memory_error_bytes"])


@pytest.mark.parametrize(
    ("old", "new", "noted"),
    [
        ("Total memory accesses: 26 (26)\n", "", "missing-part"),
        ("Number of kernels: 2\n", "Number of kernels: 9\nNumber of kernels: 2\n", "unread-line"),
        ("InvCount=1\tadd\n", "InvCount=4\tadd\nInvCount=1\tadd\n", "unread-line"),
        ("Number of kernels: 2\n", "Number of kernels: 2\nNumber of colonels: 2\n", "unread-line"),
        ("B (7.00 MB)\n", "B (7x00 MB)\n", "unread-line"),
        ("B (7.00 MB)\n", "B\n", "unread-line"),
        ("obj_size=4096, 4.00 KB", "obj_size=4096, 4.0\ufffd KB", "unread-line"),
        ("obj_size=4096, 4.00 KB", "obj_size=4096, 5.00 KB", "size-differs"),
        ("7340032 (7.00 MB)", "7340032 (7.00 GB)", "size-differs"),
        ("Average accesses per page: 0.0145089", "Average accesses per page: 2", "wrong-summary"),
        ("Average accesses per page: 0.0145089", "Average accesses per page: -0.0145089", "wrong-summary"),
    ],
)
def test_what_a_sum_says_is_not_lost_without_a_note(old: str, new: str, noted: str, tell: Tell) -> None:
    log = app_metric(large([7 * MIB]), [Launch("mm", 20, 1, 0, 4096), Launch("add", 6, 1, 0, 4096)])
    assert old in log
    usual = {"lower-neighbour", "misprinted-peak"}
    assert tell(log).notes.keys() == usual
    assert noted in tell(log.replace(old, new, 1)).notes.keys() - usual
