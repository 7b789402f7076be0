import json
from pathlib import Path

import polars as pl
import pytest

from tests.building import build
from tests.mining.operators.traces import Op, made
from tracelode.mining.mine import mine
from tracelode.store import Archive, Trace

LINEAR = Op(
    "aten::linear", [[8, 4], [16, 4], [16]],
    within=[Op("aten::t", [[16, 4]]), Op("aten::addmm", [[16], [8, 4], [4, 16], None, None], kernels=[100])],
)  # fmt: skip


def _work(trace: Trace, archive: Archive) -> pl.DataFrame:
    return mine(trace, archive, "operator_work").sql("select * from operator_work order by start_ns")


def test_nested_operators_are_charged_once_to_the_one_that_launched(tmp_path: Path) -> None:
    found = _work(*made(tmp_path, LINEAR))
    columns = ("op", "name", "family", "kind", "type", "arithmetic", "flops", "bytes", "kernels", "time_ns")
    assert found.select(columns).rows() == [
        (2, "aten::addmm", "gemm", "addmm", "bf16", "bf16", 2 * 8 * 4 * 16, 2 * (16 + 32 + 64 + 128), 1, 100)
    ]  # fmt: skip


def test_an_operator_around_one_of_its_family_is_not_charged_again(tmp_path: Path) -> None:
    inner = Op("aten::mm", [[8, 4], [4, 16]], kernels=[100])
    middle = Op("aten::clone", [[8, 4]], within=[inner])
    outer = Op("aten::matmul", [[8, 4], [4, 16]], kernels=[7], within=[middle])
    found = _work(*made(tmp_path, outer, Op("aten::relu", [[8]], kernels=[5], within=[inner])))
    assert found.select("name", "flops", "missing", "bytes_missing", "detail").rows() == [
        ("aten::matmul", 0, None, "counted in the operator within it", "counted in the operator within it"),
        ("aten::mm", 1024, None, None, None),
        ("aten::relu", 8, None, None, None),
        ("aten::mm", 1024, None, None, None),
    ]


def test_what_is_not_recorded_is_null_with_its_reason(tmp_path: Path) -> None:
    found = _work(*made(tmp_path, Op("aten::mm", None, [10]), Op("my::op", [[3]], [10])))
    assert found.select("family", "kind", "flops", "missing", "bytes", "bytes_missing").rows() == [
        ("gemm", "mm", None, "shapes not recorded", None, "shapes not recorded"),
        ("other", "other", None, "no formula", None, "no formula"),
    ]


def test_the_kernels_of_an_operator_are_summed(tmp_path: Path) -> None:
    found = _work(*made(tmp_path, Op("aten::sum", [[9], None, None], [10, 30])))
    assert found.select("kernels", "time_ns").rows() == [(2, 40)]


def test_names_of_kernels_tell_tf32(tmp_path: Path) -> None:
    product = [[8, 4], [4, 16]]
    ops = [
        Op("aten::mm", product, [10], type="float", kernel="ampere_s1688gemm_tf32_128x64"),
        Op("aten::mm", product, [10], type="float", kernel="ampere_sgemm_128x64"),
        Op("aten::mm", product, [10], kernel="something_tf32"),
        Op("aten::relu", [[8]], [10], type="float", kernel="tf32_relu"),
        Op("aten::add", [[8], [8], None], [10], type="double"),
    ]
    assert _work(*made(tmp_path, *ops))["arithmetic"].to_list() == [
        "tf32",
        "fp32",
        "bf16",
        "vector fp32",
        "vector fp64",
    ]


def test_what_is_handed_on_is_what_the_next_operator_has(tmp_path: Path) -> None:
    ops = [
        Op("aten::add", [[8, 4], [8, 4], None], [10]),
        Op("aten::relu", [[8, 4]], [10]),
        Op("aten::relu", [[4, 8]], [10]),  # another shape
        Op("aten::relu", [[4, 8]], [10], type="c10::Half"),  # another type
        Op("aten::relu", [[4, 8]], [10, 10], type="c10::Half"),
    ]
    found = _work(*made(tmp_path, *ops))
    assert found.select("result_bytes", "passed_bytes").rows() == [
        (64, None),
        (64, 64),
        (64, None),
        (64, None),
        (64, 64),
    ]


def test_other_work_between_two_operators_parts_them(tmp_path: Path) -> None:
    ops = [Op("aten::relu", [[8]], [10]), Op("aten::relu", [[8]], [10])]
    between = {"start_ns": 21, "end_ns": 22}
    assert _work(*made(tmp_path / "a", *ops))["passed_bytes"].to_list() == [None, 16]
    assert _work(*made(tmp_path / "b", *ops, copy=[between]))["passed_bytes"].to_list() == [None, None]
    assert _work(*made(tmp_path / "c", *ops, copy=[between | {"stream": 8}]))["passed_bytes"].to_list() == [None, 16]


def test_modules_are_told_those_of_backward_operators_by_their_forward_ones(tmp_path: Path) -> None:
    ops = [
        Op("aten::relu", [[8]], [10], module="ReLU_0", more={"sequence": 7}),
        Op("aten::relu", [[8]], [10]),
        Op(
            "autograd::engine::evaluate_function: ReluBackward0",
            within=[Op("aten::threshold_backward", [[8], [8], None], [10])],
            more={"sequence": 7, "forward_thread": 1},
        ),
    ]
    found = _work(*made(tmp_path, *ops))
    assert found["layer"].to_list() == ["ReLU_0", None, "ReLU_0"]


def test_annotations_are_no_modules(tmp_path: Path) -> None:
    step = {"name": "ProfilerStep#1", "start_ns": 0, "end_ns": 1000}
    assert _work(*made(tmp_path, Op("aten::relu", [[8]], [10]), range=[step]))["layer"].to_list() == [None]


def test_kernels_on_several_devices_have_none(tmp_path: Path) -> None:
    ops = [
        {"id": 0, "name": "aten::relu", "start_ns": 0, "end_ns": 9, "depth": 0, "shapes": "[[8]]", "types": '["float"]'}
    ]
    calls = [{"start_ns": at, "end_ns": at + 1, "correlation": at} for at in (1, 3)]
    kernels = [{"device": at // 2, "start_ns": 10, "end_ns": 15, "name": "k", "correlation": at} for at in (1, 3)]
    found = _work(*build(tmp_path, op=ops, api=calls, kernel=kernels))
    assert found.select("device", "stream", "kernels", "time_ns", "flops").rows() == [(None, None, 2, 10, 8)]


def test_the_weight_of_an_old_gradient_is_that_of_the_operator_around_it(tmp_path: Path) -> None:
    inner = Op("aten::cudnn_convolution_backward_weight", [None, [1, 6, 5, 5], [1, 3, 5, 5]], [10])
    outer = Op("aten::cudnn_convolution_backward", [[1, 3, 5, 5], [1, 6, 5, 5], [6, 3, 3, 3]], within=[inner])
    found = _work(*made(tmp_path, outer))
    assert found["flops"].to_list() == [2 * 25 * 6 * 3 * 9]


@pytest.mark.parametrize(
    "shapes", ["3", '["x", {"a": 1}]', "[[-1, 3], [3, 4]]", "[[1e400]]", "null", "[[[[[]]]]]", "["]
)
def test_hostile_shapes_are_not_counted(tmp_path: Path, shapes: str) -> None:
    told = {"shapes": shapes, "types": json.dumps(["float", {}]), "args": "]"}
    found = _work(*made(tmp_path, Op("aten::mm", None, [10], more=told)))
    assert found["flops"].to_list() == [None]
    assert found["missing"][0]


def test_without_operators_or_kernels_there_is_no_table(tmp_path: Path) -> None:
    trace, archive = build(tmp_path, kernel=[{"start_ns": 1, "end_ns": 2, "name": "k"}])
    assert not mine(trace, archive, "operator_work").has("operator_work")
    trace, archive = made(tmp_path / "b", Op("aten::relu", [[8]]), kernel=[{"start_ns": 1, "end_ns": 2, "name": "k"}])
    assert not mine(trace, archive, "operator_work").has("operator_work")
