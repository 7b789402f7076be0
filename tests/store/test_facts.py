from pathlib import Path

from tests.building import build
from tracelode.store.facts import facts


def test_facts_are_counts_sums_and_extents(tmp_path: Path) -> None:
    kernels = [
        {"start_ns": 10, "end_ns": 30, "name": "gemm", "correlation": 1},
        {"start_ns": 20, "end_ns": 25, "name": "gemm", "stream": 9, "correlation": 2},
        {"start_ns": 50, "end_ns": 70, "name": "zero", "device": 1, "correlation": 3},
        {"start_ns": 80, "end_ns": 80, "name": None, "device": 1},
    ]
    calls = [
        {"start_ns": 1, "end_ns": 2, "correlation": 1},
        {"start_ns": 3, "end_ns": 4, "correlation": 2, "name": "hipMemset"},
        {"start_ns": 5, "end_ns": 6, "name": "cudaLaunchHostFunc"},
        {"start_ns": 5, "end_ns": 6, "name": "__cudaPushCallConfiguration"},
    ]
    copies = [
        {"start_ns": 5, "end_ns": 9, "bytes": 100},
        {"start_ns": 90, "end_ns": 95, "bytes": 11, "kind": "DtoH"},
        {"start_ns": 91, "end_ns": 95, "bytes": 5},
    ]
    trace, _ = build(tmp_path, kernel=kernels, api=calls, copy=copies, fill=[{"start_ns": 0, "end_ns": 1, "bytes": 7}])
    assert facts(trace) == {
        "kernels": 4,
        "kernel_names": 3,
        "kernel_time_ns": 45,
        "longest_kernel": ["zero", 20],
        "memcpy": {"DtoH": 1, "HtoD": 2},
        "memcpy_bytes": {"DtoH": 11, "HtoD": 105},
        "memset": 1,
        "memset_bytes": 7,
        "devices": 2,
        "streams": 3,
        "gpu_first_ns": 0,
        "gpu_last_ns": 95,
        "runtime_calls": 4,
        "launch_calls": 1,
        "kernels_without_launch": 3,
        "kernels_without_call": 2,
    }


def test_what_was_not_collected_is_none_and_not_zero(tmp_path: Path) -> None:
    trace, _ = build(tmp_path, op=[{"start_ns": 0, "end_ns": 1, "name": "aten::add"}])
    told = facts(trace)
    assert told["runtime_calls"] is None
    assert told["launch_calls"] is None
    assert told["kernels_without_launch"] is None
    assert told["gpu_first_ns"] is None
    assert told["longest_kernel"] is None


def test_kernels_without_any_recorded_call_all_lack_one(tmp_path: Path) -> None:
    trace, _ = build(
        tmp_path, kernel=[{"start_ns": 0, "end_ns": 1, "name": "a"}, {"start_ns": 2, "end_ns": 3, "name": "b"}]
    )
    told = facts(trace)
    assert (told["kernels_without_launch"], told["kernels_without_call"]) == (2, 2)


def test_bytes_some_copies_do_not_state_are_not_summed(tmp_path: Path) -> None:
    trace, _ = build(tmp_path, copy=[{"start_ns": 0, "end_ns": 1, "bytes": None}])
    assert facts(trace)["memcpy_bytes"] is None
    assert facts(trace)["memcpy"] == {"HtoD": 1}


def test_rows_with_wrong_times_are_counted_and_in_no_sum_or_extent(tmp_path: Path) -> None:
    kernels = [
        {"start_ns": 10**10, "end_ns": 10**10 + 5, "name": "a"},
        {"start_ns": 0, "end_ns": 0, "name": "b"},
        {"start_ns": 10**10 + 9, "end_ns": 10**10 + 7, "name": "b"},
    ]
    told = facts(build(tmp_path, kernel=kernels)[0])
    assert (told["kernels"], told["kernel_time_ns"], told["longest_kernel"]) == (3, 5, ["a", 5])
    assert (told["gpu_first_ns"], told["gpu_last_ns"]) == (10**10, 10**10 + 9)
    told = facts(build(tmp_path / "all", kernel=[kernels[2]])[0])
    assert (told["kernels"], told["kernel_time_ns"], told["longest_kernel"]) == (1, 0, None)
