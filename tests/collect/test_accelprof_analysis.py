import json
from collections.abc import Callable
from pathlib import Path

import pytest

from data.generator.accelprof import ADD, GEMM, MIB, Launch, app_analysis
from tests.collect.reading import Told, read
from tracelode.collect.readers import accelprof

Tell = Callable[[str], Told]
LOG = app_analysis(
    [Launch(GEMM, 64, 0, 3 * MIB, 4 * MIB, 5 * MIB, 6 * MIB), Launch(ADD, 0, 0, 0, 0, 5 * MIB, 6 * MIB)],
    tensors=(4, 2048, 3, 4096),
    memory=(2, 6 * MIB, 0, 0),
)


@pytest.fixture
def tell(tmp_path: Path) -> Tell:
    def told(text: str) -> Told:
        path = tmp_path / "app_app_analysis.log"
        path.write_text(text)
        return read(accelprof, path, tmp_path)

    return told


def test_lines_as_the_tool_writes_them_are_one_row_a_launch(tell: Tell) -> None:
    told = tell(
        "Tensor Stats:\n  Alloc Count: 2\n  Alloc Size: 5\n  Free Count: 1\n  Free Size: 7\n"
        "Memory Stats:\n  Alloc Count: 1\n  Alloc Size: 4096\n  Free Count: 0\n  Free Size: 0\n"
        "Kernel Stats:\nKernel ID: 0\n  Kernel Name: void f<2>(int (*)(char))\n  Access Count: 9\n"
        "  Tensor Working Set Size: 5 (5 bytes)\n  Memory Working Set Size: 4096 (4.00 KB)\n"
        "  Tensor Footprint Size: 12 (12 bytes)\n  Memory Footprint Size: 8589934592 (8.00 GB)\n"
    )
    assert told["launch_memory"] == [
        {
            "process": 0,
            "launch": 0,
            "kernel": "void f<2>(int (*)(char))",
            "accesses": 9,
            "tensor_working_set_bytes": 5,
            "memory_working_set_bytes": 4096,
            "tensor_footprint_bytes": 12,
            "memory_footprint_bytes": 8589934592,
        }
    ]
    assert set(told.tables) == {"launch_memory", "process"}
    assert told.facts.producer == "AccelProf app_analysis"
    assert told.facts.clock is None


def test_alloc_size_is_what_is_left_and_the_sum_is_made_of_it_and_of_what_was_freed(tell: Tell) -> None:
    labels = tell(LOG).facts.labels
    assert (labels["tensor_live_bytes"], labels["tensor_allocated_bytes"]) == ("2048", str(2048 + 4096))
    assert (labels["tensor_allocations"], labels["tensor_frees"]) == ("4", "3")


def test_launches_that_touched_something_may_have_been_charged_for_their_neighbours(tell: Tell) -> None:
    assert tell(LOG).counts() == {"lower-neighbour": 1, "fixed-name": 1}


def test_the_name_says_that_ranks_may_have_overwritten_each_other(tmp_path: Path) -> None:
    path = tmp_path / "rank1.log"
    path.write_text(LOG)
    assert "fixed-name" not in read(accelprof, path, tmp_path).notes


def test_more_objects_or_tensors_than_the_tool_looks_at_are_noted(tell: Tell) -> None:
    assert "capped-objects" not in tell(app_analysis([], memory=(16_384, 0, 0, 0))).notes
    told = tell(app_analysis([], tensors=(65_537, 0, 0, 0), memory=(16_385, 0, 0, 0)))
    assert told.counts()["capped-objects"] == 16_385
    assert told.counts()["capped-tensors"] == 65_537


def test_a_sum_that_went_below_zero_is_no_number_of_bytes(tell: Tell) -> None:
    told = tell(app_analysis([Launch(GEMM, 1, 0, 1, 1, 1, 2**64 - 512)], memory=(1, 2**64 - 512, 3, 4096)))
    assert "memory_footprint_bytes" not in told["launch_memory"][0]
    assert "memory_allocated_bytes" not in told.facts.labels
    assert told.counts()["wrapped-counter"] == 2


def test_a_log_cut_within_a_launch_keeps_what_it_says(tell: Tell) -> None:
    cut = LOG[: LOG.index("  Access Count: 0") + 8]
    told = tell(cut)
    assert told["launch_memory"][1] == {"process": 0, "launch": 1, "kernel": ADD}
    assert told.notes["truncated"].count == 2  # the line, and the launch


def test_a_log_cut_before_its_launches_says_so(tell: Tell) -> None:
    assert "truncated" in tell(LOG[: LOG.index("Kernel Stats")]).notes


def test_a_second_writer_shows(tell: Tell) -> None:
    told = tell(LOG + LOG[LOG.index("cess Count: 64") :])
    assert told.counts()["repeated-launch"] == 1
    # What is left of the first launch, after the end of the shorter log.
    lines = [json.loads(row["json"])["line"] for row in told["other"]]
    assert lines[0] == "cess Count: 64"
    assert len(lines) == 5


def test_a_kernel_named_like_a_line_of_the_log_is_a_name(tell: Tell) -> None:
    told = tell(app_analysis([Launch("Kernel ID: 7", 3), Launch("<script>", 4)]))
    assert [row["kernel"] for row in told["launch_memory"]] == ["Kernel ID: 7", "<script>"]


@pytest.mark.parametrize(
    ("old", "new", "noted"),
    [
        ("Memory Stats:\n", "", {"unread-line": 4, "missing-part": 4}),  # its sums are not those of the tensors
        ("  Free Count: 3\n", "", {"missing-part": 1}),
        ("  Free Count: 3\n", "  Free Count: 3\n  Free Count: 4\n", {"unread-line": 1}),
        ("Kernel Stats:\n", "Kernel Stats:\nKernel Stats:\n", {"unread-line": 1}),
        ("(4.00 MB)", "(4x00 MB)", {"unread-line": 1, "truncated": 1}),
        ("(4.00 MB)", "(4.01 MB)", {"size-differs": 1}),
        (" (4.00 MB)", "", {}),
    ],
)
def test_sums_and_sections_are_there_once(old: str, new: str, noted: dict[str, int], tell: Tell) -> None:
    assert old in LOG
    told = tell(LOG.replace(old, new, 1))
    assert told.counts() == {"fixed-name": 1, "lower-neighbour": 1, **noted}
    assert told.facts.labels["tensor_live_bytes"] == "2048"
    assert told.facts.labels.get("tensor_frees") == (None if noted == {"missing-part": 1} else "3")
