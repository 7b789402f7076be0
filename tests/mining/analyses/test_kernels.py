from pathlib import Path

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from tests.building import build
from tests.mining.programs import KERNEL_NS, STEP, train
from tracelode.mining.mine import find


def test_kernels_are_summed_by_name_and_those_with_wrong_times_only_counted(tmp_path: Path) -> None:
    kernels = [
        {"start_ns": 10, "end_ns": 40, "name": "gemm"},
        {"start_ns": 50, "end_ns": 60, "name": "gemm"},
        {"start_ns": 70, "end_ns": 65, "name": "gemm"},
        {"start_ns": 90, "end_ns": 80, "name": "lost"},
    ]
    found = find(*build(tmp_path, kernel=kernels), "kernels")
    columns = ("name", "category", "calls", "total_ns", "share", "mean_ns", "p50_ns", "p95_ns", "variation")
    assert found.rows.select(columns).rows() == [
        ("gemm", "gemm", 3, 40, 1.0, 20.0, 20.0, 29.0, 0.5),
        ("lost", "other", 1, 0, None, None, None, None, None),
    ]
    assert found.notes == ("2 calls without trusted times in no sum and no mean: see the trace's notes.",)


def test_a_trace_without_flaws_has_nothing_to_add(tmp_path: Path) -> None:
    found = find(*build(tmp_path, kernel=[{"start_ns": 1, "end_ns": 2, "name": "gemm"}]), "kernels")
    assert found.notes == ()
    assert found.rows.select("calls_per_iteration", "time_per_iteration_ns").rows() == [(None, None)]


def test_calls_and_time_an_iteration_count_what_starts_in_iterations(tmp_path: Path) -> None:
    trace, archive = train(tmp_path, ["only_once"], *[STEP] * 8)
    rows = find(trace, archive, "kernels").rows
    told = {name: (calls, each, time) for name, calls, each, time in rows.select(
        "name", "calls", "calls_per_iteration", "time_per_iteration_ns"
    ).rows()}  # fmt: skip
    assert told["gelu_kernel"] == (32, 4.0, 4.0 * KERNEL_NS)
    assert told["adam"] == (8, 1.0, KERNEL_NS)
    assert told["only_once"] == (1, 0.0, None)


SPANS = st.lists(st.tuples(st.integers(0, 3), st.integers(0, 1000)), min_size=1, max_size=20)


@settings(max_examples=15, suppress_health_check=[HealthCheck.function_scoped_fixture], deadline=None)
@given(SPANS)
def test_numbers_equal_numpy_and_the_sql_beside_them(
    tmp_path_factory: pytest.TempPathFactory, spans: list[tuple[int, int]]
) -> None:
    names = ("sgemm", "relu", "ncclKernel_AllReduce", "laplacian")
    kernels = [
        {"start_ns": 2000 * at, "end_ns": 2000 * at + length, "name": names[name]}
        for at, (name, length) in enumerate(spans)
    ]
    trace, archive = build(tmp_path_factory.mktemp("trace"), kernel=kernels)
    found = find(trace, archive, "kernels")
    trace = archive.open(trace.id)
    assert trace.sql(found.sql).equals(found.rows)
    whole = sum(length for _, length in spans)
    for row in found.rows.to_dicts():
        times = np.array([length for name, length in spans if names[name] == row["name"]])
        assert (row["calls"], row["total_ns"]) == (len(times), times.sum())
        assert row["share"] == (pytest.approx(times.sum() / whole) if whole else None)
        assert row["mean_ns"] == pytest.approx(times.mean())
        assert row["p50_ns"] == pytest.approx(np.quantile(times, 0.5))
        assert row["p95_ns"] == pytest.approx(np.quantile(times, 0.95))
        assert row["variation"] == (pytest.approx(times.std() / times.mean()) if times.any() else None)
    kinds = find(trace, archive, "categories")
    assert trace.sql(kinds.sql).equals(kinds.rows)
    assert kinds.rows["total_ns"].sum() == found.rows["total_ns"].sum()
    assert set(kinds.rows["category"]) <= {"gemm", "elementwise", "communication", "other"}
