from pathlib import Path

from tests.building import build
from tracelode.mining.mine import find


def test_idle_time_goes_to_the_calls_under_way(tmp_path: Path) -> None:
    kernels = [{"start_ns": s, "end_ns": s + 10, "name": "k"} for s in (0, 110, 220)]
    calls = [
        {"start_ns": 5, "end_ns": 60, "name": "hipFree"},  # 50 of the first gap (10 to 110)
        {"start_ns": 100, "end_ns": 130, "name": "hipFree"},  # 10 of the first, 10 of the second (120 to 220)
        {"start_ns": 150, "end_ns": 155, "name": "hipMalloc", "thread": 2},
        {"start_ns": 300, "end_ns": 400, "name": "hipLaunchKernel"},
    ]
    found = find(*build(tmp_path, kernel=kernels, api=calls), "host_calls")
    assert found.rows.select("name", "calls", "idle_ns", "share").rows() == [
        ("hipFree", 2, 70, 0.35),
        ("hipMalloc", 1, 5, 0.025),
    ]
    assert found.sentence == "70 ns of the idle time (35.0 %) passes while the host is in hipFree."


def test_calls_of_one_name_at_once_count_once(tmp_path: Path) -> None:
    kernels = [{"start_ns": s, "end_ns": s + 10, "name": "k"} for s in (0, 110)]
    calls = [
        {"start_ns": 10, "end_ns": 70, "name": "hipFree"},
        {"start_ns": 20, "end_ns": 60, "name": "hipFree"},  # within the first
        {"start_ns": 50, "end_ns": 200, "name": "hipFree", "thread": 2},  # 40 more of the gap (10 to 110)
    ]
    found = find(*build(tmp_path, kernel=kernels, api=calls), "host_calls")
    assert found.rows.select("name", "calls", "idle_ns", "share").rows() == [("hipFree", 3, 100, 1.0)]


def test_no_call_in_a_gap_is_said(tmp_path: Path) -> None:
    kernels = [{"start_ns": s, "end_ns": s + 10, "name": "k"} for s in (0, 110)]
    call = {"start_ns": 0, "end_ns": 5, "name": "hipFree"}
    found = find(*build(tmp_path, kernel=kernels, api=[call]), "host_calls")
    assert found.sentence == "No runtime or driver call is under way while a device idles."
