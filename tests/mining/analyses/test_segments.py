from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from tests.building import build
from tracelode.mining.analyses.segments import LAUNCH_PACE_NS
from tracelode.mining.mine import mine


def _segments(folder: Path, **tables: list[dict[str, Any]]) -> list[tuple[int, int, str, str | None]]:
    trace = mine(*build(folder, **tables), "segments")
    return trace.segment.select("start_ns", "end_ns", "state", "cause").collect().rows()


def _kernel(start: int, end: int, name: str = "gemm", **more: Any) -> dict[str, Any]:
    return {"start_ns": start, "end_ns": end, "name": name, **more}


def test_states_tile_the_span_and_what_overlaps_counts_once(tmp_path: Path) -> None:
    kernels = [
        _kernel(0, 10),
        _kernel(5, 20, "ncclDevKernel_AllReduce", stream=20),
        _kernel(30, 40),
        _kernel(32, 38, stream=8),
    ]
    assert _segments(tmp_path, kernel=kernels, copy=[{"start_ns": 15, "end_ns": 25, "stream": 9}]) == [
        (0, 10, "compute", None),
        (10, 20, "communication", None),
        (20, 25, "copy", None),
        (25, 30, "idle", "unknown"),
        (30, 40, "compute", None),
    ]


def test_copies_and_fills_that_are_kernels_are_in_the_state_of_copies(tmp_path: Path) -> None:
    kernels = [_kernel(0, 10, "__amd_rocclr_copyBuffer"), _kernel(10, 20, "__amd_rocclr_fillBufferAligned")]
    assert _segments(tmp_path, kernel=kernels) == [(0, 20, "copy", None)]


def test_devices_and_processes_are_apart(tmp_path: Path) -> None:
    kernels = [_kernel(0, 10), _kernel(20, 30), _kernel(5, 25, device=1), _kernel(12, 18, process=2)]
    trace = mine(*build(tmp_path, kernel=kernels), "segments")
    rows = trace.segment.select("process", "device", "start_ns", "end_ns", "state").collect().rows()
    assert rows == [
        (1, 0, 0, 10, "compute"),
        (1, 0, 10, 20, "idle"),
        (1, 0, 20, 30, "compute"),
        (1, 1, 5, 25, "compute"),
        (2, 0, 12, 18, "compute"),
    ]


def _cause(folder: Path, *calls: dict[str, Any], **second: Any) -> str | None:
    kernels = [_kernel(1_000_000, 2_000_000, correlation=1), _kernel(3_000_000, 4_000_000, correlation=2, **second)]
    return _segments(folder, kernel=kernels, api=list(calls))[1][3]


def _call(start: int, end: int, correlation: int | None = None, name: str = "cudaLaunchKernel") -> dict[str, Any]:
    return {"start_ns": start, "end_ns": end, "correlation": correlation, "name": name}


FIRST = _call(900_000, 905_000, 1)


def test_launched_late_after_a_wait_for_the_device_is_synchronisation(tmp_path: Path) -> None:
    wait = _call(910_000, 2_001_000, name="cudaDeviceSynchronize")
    assert _cause(tmp_path, FIRST, wait, _call(2_900_000, 2_905_000, 2)) == "synchronisation"


def test_launched_late_by_a_thread_that_did_something_else_is_the_host(tmp_path: Path) -> None:
    assert _cause(tmp_path, FIRST, _call(2_900_000, 2_905_000, 2)) == "host"


def test_a_wait_that_ended_before_the_device_ran_dry_is_no_cause(tmp_path: Path) -> None:
    wait = _call(910_000, 1_900_000, name="cudaStreamSynchronize")
    assert _cause(tmp_path, FIRST, wait, _call(2_900_000, 2_905_000, 2)) == "host"


def test_launched_late_in_a_steady_row_of_launches_is_launch_bound(tmp_path: Path) -> None:
    before = _call(2_900_000 - LAUNCH_PACE_NS, 2_860_000, 3)
    other = {"start_ns": 2_500_000, "end_ns": 2_500_000, "correlation": 3, "device": 1}
    kernels = [_kernel(1_000_000, 2_000_000, correlation=1), _kernel(3_000_000, 4_000_000, correlation=2)]
    calls = [FIRST, before, _call(2_900_000, 2_905_000, 2)]
    assert _segments(tmp_path, kernel=kernels, fill=[other], api=calls)[1][3] == "host"  # a launch for another device
    same = {**other, "device": 0, "stream": 9, "start_ns": 3_500_000, "end_ns": 3_600_000}
    assert _segments(tmp_path / "same", kernel=kernels, fill=[same], api=calls)[1][3] == "launch"


def test_launched_in_time_after_work_on_another_stream_is_a_dependency(tmp_path: Path) -> None:
    assert _cause(tmp_path, FIRST, _call(910_000, 915_000, 2), stream=20) == "dependency"


def test_launched_in_time_after_work_on_the_same_stream_is_the_device(tmp_path: Path) -> None:
    assert _cause(tmp_path, FIRST, _call(910_000, 915_000, 2)) == "device"


def test_without_the_call_the_cause_is_unknown(tmp_path: Path) -> None:
    assert _cause(tmp_path, FIRST) == "unknown"


def test_a_trace_without_device_work_has_no_segments(tmp_path: Path) -> None:
    trace = mine(*build(tmp_path, op=[{"start_ns": 0, "end_ns": 1, "name": "aten::add"}]), "segments")
    assert not trace.has("segment")


def test_work_without_duration_has_a_span_without_length(tmp_path: Path) -> None:
    assert _segments(tmp_path, kernel=[_kernel(5, 5)]) == [(5, 5, "compute", None)]


work = st.lists(st.tuples(st.integers(0, 50), st.integers(0, 20), st.integers(0, 2)), min_size=1, max_size=15)


@settings(deadline=None, max_examples=25, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(work)
def test_states_are_those_of_every_single_nanosecond(
    tmp_path_factory: pytest.TempPathFactory, drawn: list[Any]
) -> None:
    names = ("gemm", "ncclKernel")
    kernels = [_kernel(s, s + d, names[k], stream=i) for i, (s, d, k) in enumerate(drawn) if k < 2]
    copies = [{"start_ns": s, "end_ns": s + d, "stream": i} for i, (s, d, k) in enumerate(drawn) if k == 2]
    tables = {name: rows for name, rows in (("kernel", kernels), ("copy", copies)) if rows}
    found = _segments(tmp_path_factory.mktemp("t"), **tables)
    clock = np.full(80, 3)
    for s, d, k in sorted(drawn, key=lambda item: -item[2]):
        clock[s : s + d] = k
    first, last = min(s for s, _, _ in drawn), max(s + d for s, d, _ in drawn)
    told = [("compute", "communication", "copy", "idle")[k] for k in clock[first:last]]
    assert [state for start, end, state, _ in found for _ in range(end - start)] == told
    assert found[0][0] == first
    assert found[-1][1] == last


def test_a_thread_that_does_something_else_for_long_after_a_wait_is_the_host(tmp_path: Path) -> None:
    wait = _call(910_000, 2_001_000, name="cudaDeviceSynchronize")
    kernels = [_kernel(1_000_000, 2_000_000, correlation=1), _kernel(9_000_000, 9_100_000, correlation=2)]
    calls = [FIRST, wait, _call(8_000_000, 8_005_000, 2)]
    assert _segments(tmp_path, kernel=kernels, api=calls)[1] == (2_000_000, 9_000_000, "idle", "host")


def test_a_device_that_is_never_idle_stands_beside_one_that_is(tmp_path: Path) -> None:
    kernels = [_kernel(0, 10), _kernel(0, 10, device=1), _kernel(20, 30, device=1)]
    assert [state for _, _, state, _ in _segments(tmp_path, kernel=kernels)] == [
        "compute",
        "compute",
        "idle",
        "compute",
    ]


def test_work_with_wrong_times_is_in_no_stretch(tmp_path: Path) -> None:
    kernels = [
        _kernel(10**10, 10**10 + 10),
        _kernel(10**10 + 20, 10**10 + 15),
        _kernel(0, 0),
        _kernel(10**10 + 30, 10**10 + 40),
    ]
    assert _segments(tmp_path, kernel=kernels) == [
        (10**10, 10**10 + 10, "compute", None),
        (10**10 + 10, 10**10 + 30, "idle", "unknown"),
        (10**10 + 30, 10**10 + 40, "compute", None),
    ]
    trace = mine(*build(tmp_path / "all", kernel=[_kernel(20, 15)]), "segments")
    assert not trace.has("segment")
