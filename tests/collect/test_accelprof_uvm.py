import json
import re
from collections.abc import Callable
from pathlib import Path

import pytest

from data.generator.accelprof import ADD, GEMM, MIB, Group, uvm_advisor
from tests.collect.reading import Told, read
from tracelode.collect.readers import accelprof

Tell = Callable[[str], Told]
WEIGHTS, INPUT, VIEW = (1, 1 << 40, 64 * MIB), (2, 2 << 40, 8 * MIB), (3, (1 << 40) + 4 * MIB, 4 * MIB)
GROUPS = [
    Group("aten::linear", 2, [(GEMM, 1, [WEIGHTS, INPUT], [VIEW]), (ADD, 2, [WEIGHTS], [])], ops=3, pending=4),
    Group("aten::relu", 5, [(ADD, 6, [INPUT], [(4, 2 << 40, 8 * MIB)])]),
]
LOG = uvm_advisor(GROUPS, peak=80 * MIB, tensor_peak=70 * MIB, objects=(2, 72 * MIB), tensors=(4, 24 * MIB))


@pytest.fixture
def tell(tmp_path: Path) -> Tell:
    def told(text: str, name: str = "uvm_advisor_opt.log") -> Told:
        path = tmp_path / name
        path.write_text(text)
        return read(accelprof, path, tmp_path)

    return told


def test_operators_have_launches_and_launches_objects_and_tensors(tell: Tell) -> None:
    told = tell(LOG)
    launches = [(row["launch"], row["kernel"], row["op"], row["op_id"]) for row in told["launch_memory"]]
    assert launches == [
        (0, GEMM[:30], "aten::linear", 2),
        (1, ADD[:30], "aten::linear", 2),
        (5, ADD[:30], "aten::relu", 5),
    ]
    touched = [
        (row["launch"], row["granularity"], row["object_id"], row["object"], row["object_bytes"])
        for row in told["access"]
    ]
    assert touched == [
        (0, "object", *WEIGHTS),
        (0, "object", *INPUT),
        (0, "tensor", *VIEW),
        (1, "object", *WEIGHTS),
        (5, "object", *INPUT),
        (5, "tensor", 4, 2 << 40, 8 * MIB),
    ]
    assert json.loads(told["launch_memory"][0]["args"]) == {
        "pending_ops": 3, "pending_kernels": 4, "pending_mem_alloc": 0, "pending_ten_alloc": 0,
    }  # fmt: skip


def test_accesses_are_not_counted_by_this_tool_and_stay_unknown(tell: Tell) -> None:
    told = tell(LOG)
    assert not any("accesses" in row for row in told["access"] + told["launch_memory"])


def test_an_object_is_one_allocation_however_often_it_is_touched(tell: Tell) -> None:
    found = [(row["kind"], row["address"], row["bytes"]) for row in tell(LOG)["allocation"]]
    assert sorted(found) == [
        ("managed", 1 << 40, 64 * MIB),
        ("managed", 2 << 40, 8 * MIB),
        ("tensor", (1 << 40) + 4 * MIB, 4 * MIB),
        ("tensor", 2 << 40, 8 * MIB),
    ]


def test_an_address_used_again_is_another_object(tell: Tell) -> None:
    again = Group("aten::add", 9, [(ADD, 9, [(7, 1 << 40, 64 * MIB)], [])])
    log = uvm_advisor([*GROUPS, again], peak=1, tensor_peak=1, objects=(3, 3), tensors=(4, 4))
    assert sum(row["address"] == 1 << 40 and row["kind"] == "managed" for row in tell(log)["allocation"]) == 2


def test_peaks_and_sums_are_labels(tell: Tell) -> None:
    labels = tell(LOG).facts.labels
    assert labels["peak_memory_bytes"] == str(80 * MIB)
    assert labels["peak_tensor_bytes"] == str(70 * MIB)
    assert (labels["managed_allocations"], labels["managed_allocated_bytes"]) == ("2", str(72 * MIB))
    assert (labels["tensor_frees"], labels["tensor_freed_bytes"]) == ("0", "0")
    assert (labels["ops"], labels["op_groups"]) == ("4", "2")


def test_a_sum_without_its_bytes_is_a_count_by_its_whole_name(tell: Tell) -> None:
    labels = tell(re.sub(r"(\[MemMalloc\] +count: 2) *,.*", r"\1", LOG)).facts.labels
    assert labels["managed_allocations"] == "2"
    assert not {"managed_allocat", "managed_allocated_bytes"} & labels.keys()


def test_a_sum_that_the_heading_does_not_have_is_kept_as_text(tell: Tell) -> None:
    told = tell(re.sub(r"\[Op\] +count: 4", r"\g<0>, size: 9 (9 B)", LOG))
    assert "ops" not in told.facts.labels
    assert [json.loads(row["json"])["line"][:4] for row in told["other"]] == ["[Op]"]


def test_a_launch_that_stands_twice_is_kept_and_noted(tell: Tell) -> None:
    log = uvm_advisor([*GROUPS, GROUPS[1]], peak=1, tensor_peak=1, objects=(3, 3), tensors=(4, 4))
    told = tell(log)
    assert [row["launch"] for row in told["launch_memory"]] == [0, 1, 5, 5]
    assert told.counts()["repeated-launch"] == 1


def test_launches_lumped_into_the_next_operator_cannot_be_told_apart_and_are_noted(tell: Tell) -> None:
    # The tool gives the two launches of aten::linear to it, whether they came from it or from before it.
    told = tell(LOG)
    assert told.notes["operator-by-order"].count == 3
    assert "lumped into the one that follows" in told.notes["operator-by-order"].meaning


def test_lists_without_what_the_operator_allocated_give_no_working_set(tell: Tell) -> None:
    told = tell(LOG)
    assert told.notes["earlier-objects-only"].count == 3
    assert not any("memory_working_set_bytes" in row or "objects" in row for row in told["launch_memory"])


def test_names_cut_at_30_bytes_are_counted(tell: Tell) -> None:
    assert tell(LOG).notes["cut-name"].count == 3


def test_the_one_name_all_processes_write_to_is_noted(tell: Tell) -> None:
    assert tell(LOG).notes["fixed-name"].example == "uvm_advisor_opt.log"
    assert "fixed-name" not in tell(LOG, "rank3.log").notes


def test_more_tensors_than_the_tool_looks_at_are_noted(tell: Tell) -> None:
    log = uvm_advisor(GROUPS, peak=1, tensor_peak=1, objects=(16_385, 1), tensors=(65_537, 1))
    counts = tell(log).counts()
    assert (counts["capped-objects"], counts["capped-tensors"]) == (16_385, 65_537)


def test_a_list_that_holds_another_number_than_it_says_is_kept_as_text(tell: Tell) -> None:
    told = tell(LOG.replace("MemAlloc (2)", "MemAlloc (3)", 1))
    assert [json.loads(row["json"])["line"][:20] for row in told["other"]] == ["       MemAlloc (3):"]
    assert told.notes["truncated"].count == 1


def test_a_log_cut_within_a_list_keeps_the_launches_before(tell: Tell) -> None:
    told = tell(LOG[: LOG.index("4:(") + 4])
    assert [row["launch"] for row in told["launch_memory"]] == [0, 1, 5]
    assert {row["launch"] for row in told["access"] if row["granularity"] == "tensor"} == {0}
    assert "truncated" in told.notes


def test_what_a_later_version_adds_to_an_operator_is_kept(tell: Tell) -> None:
    told = tell(LOG.replace("pending_ten_alloc: 0\n", "pending_ten_alloc: 0, flops: 12\n", 1))
    assert json.loads(told["launch_memory"][0]["args"])["more"] == ", flops: 12"


@pytest.mark.parametrize(
    ("old", "new", "noted"),
    [
        ("[MemFree] ", "[MemFrea] ", {"unread-line": 1, "missing-part": 2}),
        ("[OpGroup]    count: 2         \n", "", {"missing-part": 1}),
        ("[OpGroup] ", "[Op]        count: 7\n[OpGroup] ", {"unread-line": 1}),
        ("(80.00 MB)", "(80(80.00 MB)", {"unread-line": 1, "missing-part": 1}),
        ("(80.00 MB)", "(8.00 MB)", {"size-differs": 1}),
        ("(24.00 MB)", "(25165824 bytes)", {}),
    ],
)
def test_every_sum_is_there_once(old: str, new: str, noted: dict[str, int], tell: Tell) -> None:
    assert old in LOG
    counts, usual = tell(LOG.replace(old, new, 1)).counts(), tell(LOG).counts()
    assert counts == usual | noted
    assert not {"unread-line", "missing-part"} & usual.keys()
