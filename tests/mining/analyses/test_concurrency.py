from pathlib import Path
from typing import Any

import polars as pl
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from tests.building import build
from tracelode.mining.mine import mine
from tracelode.store import Trace

NCCL = "ncclDevKernel_AllReduce_Sum_f16_RING_LL"


def _mined(folder: Path, **tables: list[dict[str, Any]]) -> Trace:
    return mine(*build(folder, **tables), "concurrency")


def _kernel(start: int, end: int, name: str | None = "gemm", **more: Any) -> dict[str, Any]:
    return {"start_ns": start, "end_ns": end, "name": name, **more}


def test_kernels_copies_and_fills_of_a_device_are_told_together(tmp_path: Path) -> None:
    trace = _mined(
        tmp_path,
        kernel=[_kernel(0, 10), _kernel(5, 20, NCCL, stream=20), _kernel(40, 50, "__amd_rocclr_copyBuffer")],
        copy=[{"start_ns": 18, "end_ns": 25, "stream": 7}],
        fill=[{"start_ns": 30, "end_ns": 31, "stream": 9}],
    )
    rows = trace.device_time.drop("process", "device").collect()
    assert sorted(rows.rows()) == [
        (0, 0, 0, 0, 5 + 9),
        (0, 0, 1, 1, 5 + 1 + 10),
        (0, 1, 0, 1, 8),
        (0, 1, 1, 2, 2),
        (1, 0, 0, 1, 5),
        (1, 1, 0, 2, 5),
    ]
    streams = trace.stream_time.collect().drop("process", "device")
    assert streams.columns[:3] == ["stream", "start_ns", "end_ns"]
    assert streams.rows() == [
        (7, 0, 50, 3, 1, 0, 2, 27, 2, 23, 15, 25),
        (9, 30, 31, 1, 0, 0, 1, 1, 0, 0, 0, None),
        (20, 5, 20, 1, 0, 1, 0, 15, 0, 0, 0, None),
    ]


def test_devices_and_processes_are_apart(tmp_path: Path) -> None:
    trace = _mined(tmp_path, kernel=[_kernel(0, 10), _kernel(0, 8, device=1), _kernel(4, 5, process=2)])
    assert trace.device_time.select("process", "device", "time_ns").collect().rows() == [
        (1, 0, 10),
        (1, 1, 8),
        (2, 0, 1),
    ]


def test_work_with_wrong_times_is_left_out(tmp_path: Path) -> None:
    kernels = [_kernel(100, 110), _kernel(10**6, 10**6 - 5), _kernel(120, 130, None)]
    trace = _mined(tmp_path, kernel=kernels)
    assert trace.device_time.select("compute", "time_ns").collect().rows() == [(0, 10), (1, 20)]
    assert trace.stream_time.select("operations", "end_ns").collect().rows() == [(2, 130)]


@pytest.mark.parametrize("tables", [{"op": [{"start_ns": 0, "end_ns": 1}]}, {"kernel": [_kernel(20, 15)]}])
def test_a_trace_without_device_work_to_be_trusted_has_no_such_tables(tmp_path: Path, tables: Any) -> None:
    trace = _mined(tmp_path, **tables)
    assert not trace.has("device_time")
    assert not trace.has("stream_time")


work = st.lists(
    st.tuples(st.integers(0, 40), st.integers(0, 9), st.integers(0, 2), st.integers(0, 2)), min_size=1, max_size=15
)


@settings(deadline=None, max_examples=20, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(work)
def test_exposed_times_are_those_of_the_segments(tmp_path_factory: pytest.TempPathFactory, drawn: list[Any]) -> None:
    names = ("gemm", NCCL)
    kernels = [_kernel(s, s + d, names[k], stream=i) for s, d, i, k in drawn if k < 2]
    copies = [{"start_ns": s, "end_ns": s + d, "stream": i} for s, d, i, k in drawn if k == 2]
    tables = {name: rows for name, rows in (("kernel", kernels), ("copy", copies)) if rows}
    trace = mine(*build(tmp_path_factory.mktemp("t"), **tables), "concurrency", "segments")
    state = pl.when(pl.col("compute") == 1).then(pl.lit("compute"))
    state = state.when(pl.col("communication") == 1).then(pl.lit("communication"))
    state = state.when(pl.col("copy") == 1).then(pl.lit("copy")).otherwise(pl.lit("idle"))
    times = trace.device_time.group_by(state.alias("state")).agg(pl.col("time_ns").sum()).collect()
    length = (pl.col("end_ns") - pl.col("start_ns")).sum().alias("time_ns")
    segments = trace.segment.group_by("state").agg(length).filter(pl.col("time_ns") > 0).collect()
    assert times.sort("state").rows() == segments.sort("state").rows()
