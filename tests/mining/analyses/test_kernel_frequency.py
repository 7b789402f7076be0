from collections import Counter
from pathlib import Path
from typing import Any

import pytest

from tests.building import build
from tests.mining.programs import STEP, train
from tracelode.collect.ingest import read
from tracelode.mining.mine import find
from tracelode.store import Archive, Trace
from tracelode.store.errors import NotCollected

ACCELPROF = Path(__file__).parents[3] / "data" / "samples" / "accelprof"


def _launched(folder: Path, *names: str | None) -> tuple[Trace, Archive]:
    kernels = [{"start_ns": 10 * at, "end_ns": 10 * at + 4, "name": name} for at, name in enumerate(names)]
    return build(folder, kernel=kernels)


def test_variants_of_a_template_are_one_name_and_the_most_frequent_full_name_is_kept(tmp_path: Path) -> None:
    names = ["void im2col_kernel<float>(int)"] * 2 + ["void im2col_kernel<half>(int)"] * 3 + ["ampere_sgemm_32x32"]
    found = find(*_launched(tmp_path, *names), "kernel_frequency")
    assert found.rows.select(
        "rank", "name", "calls", "share", "cumulative_share", "full_names", "full_name"
    ).rows() == [
        (1, "im2col_kernel", 5, 5 / 6, 5 / 6, 2, "void im2col_kernel<half>(int)"),
        (2, "ampere_sgemm_32x32", 1, 1 / 6, 1.0, 1, "ampere_sgemm_32x32"),
    ]
    assert found.sentence == "6 kernels of 2 names. Most called is im2col_kernel, 5 times."


@pytest.mark.parametrize(
    ("name", "short"),
    [
        ("void at::native::elementwise<4, F<int> >(int)", "at::native::elementwise"),
        ("voidance<int>", "voidance"),
        ("norm_rows(float*, int)", "norm_rows(float*, int)"),
        ("<lambda>", "<lambda>"),
        ("void <lambda>", "void <lambda>"),
        ("Cijk_Ailk", "Cijk_Ailk"),
        (None, "(no name)"),
    ],
)
def test_a_name_is_cut_at_the_first_angle_and_loses_void(tmp_path: Path, name: str | None, short: str) -> None:
    assert find(*_launched(tmp_path, name), "kernel_ranks").rows["name"].to_list() == [short]


def test_a_kernel_launched_once_is_called_one_time(tmp_path: Path) -> None:
    assert (
        find(*_launched(tmp_path, "a"), "kernel_frequency").sentence == "1 kernel of 1 name. Most called is a, 1 time."
    )


def test_ties_go_by_name(tmp_path: Path) -> None:
    found = find(*_launched(tmp_path, "b", "c", "a"), "kernel_ranks")
    assert found.rows.select("rank", "name").rows() == [(1, "a"), (2, "b"), (3, "c")]


def test_the_first_twenty_and_the_rest_are_all_launches(tmp_path: Path) -> None:
    names = [f"k{number * number % 31:02}" for number in range(200)] + [f"once {number}" for number in range(9)]
    trace, archive = _launched(tmp_path, *names)
    found = find(trace, archive, "kernel_frequency")
    counted = sorted(Counter(names).items(), key=lambda item: (-item[1], item[0]))
    named = found.rows.filter(found.rows["rank"].is_not_null())
    assert named.select("name", "calls").rows() == counted[:20]
    assert found.rows["calls"].sum() == len(names) == trace.sql("select count(*) from kernel").item()
    assert found.rows["names"].sum() == len(counted) == 25
    assert found.rows["cumulative_share"].max() == 1
    assert archive.open(trace.id).sql(found.sql).equals(found.rows)


def test_the_share_of_the_first_names_is_said(tmp_path: Path) -> None:
    # 6 names: five of 2 launches, one of 1: the first five have 10 of 11
    found = find(*_launched(tmp_path, *[name for name in "abcde" for _ in range(2)], "f"), "kernel_frequency")
    assert found.sentence == "11 kernels of 6 names: the first 5 have 90.9 %. Most called is a, 2 times."


def test_kernels_are_counted_by_device_and_in_an_iteration(tmp_path: Path) -> None:
    trace, archive = train(tmp_path, *[STEP] * 8)
    found = find(trace, archive, "kernel_counts")
    launches = trace.sql("select count(*) from kernel").item()
    assert found.rows["launches"].sum() == launches
    assert found.rows["launches_per_iteration"].sum() == launches / 8
    assert found.sentence == f"{launches} kernels on 1 device, about {launches // 8} an iteration."


def _logged(folder: Path) -> tuple[Trace, Archive]:
    archive = Archive(folder / "archive")
    return read(ACCELPROF / "net_app_analysis.log", archive)[0], archive


def test_a_log_of_launches_without_times_has_counts_and_no_times(tmp_path: Path) -> None:
    """Launches were serialised to be measured: nothing is said of their time."""
    trace, archive = _logged(tmp_path)
    found = find(trace, archive, "kernel_frequency")
    assert found.rows.select("name", "calls", "work_ns", "work_share").rows() == [
        ("gemm_tile_kernel", 2, None, None),
        ("columns_of_image_kernel", 1, None, None),
        ("elementwise_kernel", 1, None, None),
    ]
    assert find(trace, archive, "kernel_counts").sentence == "4 kernels on 1 device."
    with pytest.raises(NotCollected):
        find(trace, archive, "by_family")


def test_launches_without_names_are_only_counted(tmp_path: Path) -> None:
    assert find(*_launched(tmp_path, None, None), "kernel_frequency").sentence == "2 kernels; names were not recorded."


def test_the_kernel_of_most_accesses_is_the_earliest_of_equal_ones(tmp_path: Path) -> None:
    # launches 1 and 3 have 3 932 160 accesses each
    trace, archive = _logged(tmp_path)
    rows = find(trace, archive, "kernel_extremes").rows
    assert rows.select("choice", "launch", "calls", "accesses").rows() == [
        ("most called", 1, 2, 3_932_160),
        ("most memory", 1, None, 3_932_160),
    ]
    stack = find(trace, archive, "kernel_stack")
    assert stack.rows.rows() == [(side, 0, "none recorded") for side in ("Python", "native", "operator")]
    assert stack.sentence == "Around launch 1: 0 frames."


def test_the_stack_of_the_kernel_with_the_largest_operands_joins_python_and_operators(tmp_path: Path) -> None:
    shapes: dict[str, Any] = {"types": '["float", "float"]'}
    ops = [
        {"id": 0, "name": "aten::linear", "start_ns": 10, "end_ns": 40},
        {
            "id": 1,
            "name": "aten::addmm",
            "start_ns": 15,
            "end_ns": 35,
            "parent": 0,
            "shapes": "[[64,64],[64]]",
            **shapes,
        },
        {
            "id": 2,
            "name": "aten::relu",
            "start_ns": 50,
            "end_ns": 60,
            "shapes": "[[8],[]]",
            "types": '["float", "Scalar"]',
        },
    ]
    frames = [
        {"kind": "python", "name": "train.py(3): main", "start_ns": 0, "end_ns": 100},
        {"kind": "python", "name": "nn.Module: Linear_0", "start_ns": 5, "end_ns": 45},
        {"kind": "python", "name": "loss.py(9): other", "start_ns": 70, "end_ns": 80},
    ]
    trace, archive = build(
        tmp_path,
        op=ops,
        range=frames,
        api=[{"start_ns": at, "end_ns": at + 1, "correlation": at} for at in (20, 55)],
        kernel=[{"start_ns": 900 + at, "end_ns": 910 + at, "name": f"k{at}", "correlation": at} for at in (20, 55)],
    )
    rows = find(trace, archive, "kernel_extremes").rows
    # 64 × 64 + 64 numbers of 4 bytes
    assert rows.filter(rows["choice"] == "most memory").select("kernel", "evidence", "tensor_bytes").rows() == [
        ("k20", "B", 16_640)
    ]
    found = find(trace, archive, "kernel_stack")
    assert found.rows.rows() == [
        ("Python", 0, "train.py(3): main"),
        ("Python", 1, "nn.Module: Linear_0"),
        ("native", 0, "none recorded"),
        ("operator", 0, "aten::linear"),
        ("operator", 1, "aten::addmm"),
    ]
    assert archive.open(trace.id).sql(found.sql).equals(found.rows)


def test_the_name_that_is_called_most_is_not_that_of_one_of_its_forms(tmp_path: Path) -> None:
    names = ("void scale<float>(float*)", "void scale<half>(half*)", "void scale<half>(half*)", "copy", "copy")
    kernels = [{"name": name, "start_ns": 10 * at, "end_ns": 10 * at + 5} for at, name in enumerate(names)]
    found = find(*build(tmp_path, kernel=kernels), "kernel_extremes")
    assert found.sentence.startswith("Most called: scale, 3 times under 2 full names. What memory kernels touch")
    assert found.rows.select("launch", "short", "kernel", "calls", "full_names", "evidence").rows() == [
        (0, "scale", "void scale<float>(float*)", 3, 2, None)
    ]


def test_without_kernels_there_is_no_frequency(tmp_path: Path) -> None:
    trace, archive = build(tmp_path, copy=[{"start_ns": 0, "end_ns": 1}])
    for name in ("kernel_frequency", "kernel_ranks", "kernel_counts", "kernel_extremes"):
        with pytest.raises(NotCollected):
            find(trace, archive, name)
