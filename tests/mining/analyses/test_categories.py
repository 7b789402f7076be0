from pathlib import Path

import pytest

from tests.building import build
from tests.mining.programs import KERNEL_NS, STEP, train
from tracelode.mining.mine import find
from tracelode.store.kinds import VARIABLE

KERNELS = [
    {"start_ns": 0, "end_ns": 50, "name": "sgemm"},
    {"start_ns": 60, "end_ns": 80, "name": "hgemm"},
    {"start_ns": 90, "end_ns": 115, "name": "ncclDevKernel_AllReduce"},
    {"start_ns": 120, "end_ns": 125, "name": "laplacian"},
]


def test_kernels_are_summed_by_what_their_names_say(tmp_path: Path) -> None:
    found = find(*build(tmp_path, kernel=KERNELS), "categories")
    assert found.rows.select("category", "names", "calls", "total_ns", "share", "mean_ns").rows() == [
        ("gemm", 2, 2, 70, 0.7, 35.0),
        ("communication", 1, 1, 25, 0.25, 25.0),
        ("other", 1, 1, 5, 0.05, 5.0),
    ]
    assert found.sentence == "Most kernel time goes to gemm: 70.0 % of 100 ns, 25.0 % communication, 5.0 % other."
    assert found.notes == ()


def test_much_time_in_unknown_kernels_is_said_with_what_helps(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    trace, archive = build(tmp_path, kernel=[*KERNELS, {"start_ns": 200, "end_ns": 300, "name": "stencil"}])
    assert find(trace, archive, "categories").notes == (
        "52.5 % of the kernel time is in kernels whose names tell nothing: a file of rules, named by "
        "TRACELODE_CATEGORIES, can tell what they do.",
    )
    rules = tmp_path / "rules.toml"
    rules.write_text('[[rule]]\ncategory = "stencil"\npatterns = ["stencil", "laplacian"]\n')
    monkeypatch.setenv(VARIABLE, str(rules))
    found = find(trace, archive, "categories")
    assert found.rows["category"].to_list() == ["stencil", "gemm", "communication"]
    assert found.notes == ("TRACELODE_CATEGORIES puts 1 rule before the built-in ones.",)


def test_a_category_has_the_calls_and_the_time_of_an_iteration(tmp_path: Path) -> None:
    rows = find(*train(tmp_path, *[STEP] * 8), "categories").rows
    told = dict(rows.select("category", "calls_per_iteration").rows())
    assert told == {"gemm": 13.0, "elementwise": 4.0, "other": 6.0, "optimizer": 1.0, "reduction": 1.0}
    times = dict(rows.select("category", "time_per_iteration_ns").rows())
    assert times["gemm"] == 13.0 * KERNEL_NS


def test_kernels_without_trusted_times_are_no_category_of_most_time(tmp_path: Path) -> None:
    found = find(*build(tmp_path, kernel=[{"start_ns": 9, "end_ns": 3, "name": "sgemm"}]), "categories")
    assert found.sentence == "No kernel has a time to be trusted."
