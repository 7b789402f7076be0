from pathlib import Path

from tests.building import build
from tracelode.mining.analyses.kernels import find


def test_kernels_are_summed_by_name_and_those_with_wrong_times_only_counted(tmp_path: Path) -> None:
    kernels = [
        {"start_ns": 10, "end_ns": 40, "name": "gemm"},
        {"start_ns": 50, "end_ns": 60, "name": "gemm"},
        {"start_ns": 70, "end_ns": 65, "name": "gemm"},
        {"start_ns": 90, "end_ns": 80, "name": "lost"},
    ]
    found = find(build(tmp_path, kernel=kernels)[0])
    columns = ("name", "calls", "total_ns", "share", "mean_ns", "p50_ns")
    assert found.rows.select(columns).rows() == [
        ("gemm", 3, 40, 1.0, 20.0, 20.0),
        ("lost", 1, 0, None, None, None),
    ]
    assert found.notes == ("2 calls without trusted times in no sum and no mean: see the trace's notes.",)


def test_a_trace_without_flaws_has_nothing_to_add(tmp_path: Path) -> None:
    assert find(build(tmp_path, kernel=[{"start_ns": 1, "end_ns": 2, "name": "gemm"}])[0]).notes == ()
