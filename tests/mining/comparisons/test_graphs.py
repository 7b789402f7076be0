from pathlib import Path

import polars as pl
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.building import build
from tests.mining.programs import KERNEL_NS, STEP, train
from tracelode.mining.comparisons.graphs import compare
from tracelode.mining.mine import compare as compared
from tracelode.mining.mine import mine
from tracelode.store import Archive, Error, Trace

LAYERS = ["read", *["project_gemm", "gelu_kernel", "output_gemm"] * 6, "loss", *["back_gemm", "grad"] * 5, "adam"]


def _mined(folder: Path, *units: list[str], longer: dict[int, int] | None = None) -> tuple[Trace, Archive]:
    trace, archive = train(folder, *units, longer=longer)
    return mine(trace, archive, "performance_graph"), archive


def _rows(base: Trace, trace: Trace) -> pl.DataFrame:
    found = pl.from_arrow(compare(base, trace)["performance_diff"])
    assert isinstance(found, pl.DataFrame)
    return found


def test_a_trace_is_the_same_as_itself(tmp_path: Path) -> None:
    trace, _ = _mined(tmp_path, *[STEP] * 12)
    rows = _rows(trace, trace)
    assert rows["change"].to_list() == ["same"] * len(trace.performance_node.collect())
    assert rows["base_node"].to_list() == rows["trace_node"].to_list() == rows["node"].to_list()


def test_more_layers_are_more_passes_of_the_same_block(tmp_path: Path) -> None:
    base, _ = _mined(tmp_path / "base", *[STEP] * 12)
    trace, _ = _mined(tmp_path / "trace", *[LAYERS] * 12)
    rows = _rows(base, trace)
    loop = rows.filter(rows["name"] == "gemm: project_gemm")
    assert loop.select("base_repeat", "repeat", "base_count", "count", "change", "delta_ns").rows() == [
        (4, 6, 48, 72, "more", 24 * 3 * KERNEL_NS)
    ]
    assert set(rows.filter(rows["kind"] == "operation")["change"]) == {"same", "more"}


def test_a_slower_operation_shows_in_all_around_it(tmp_path: Path) -> None:
    base, _ = _mined(tmp_path / "base", *[STEP] * 12)
    longer = {25 * iteration + 13: 500 for iteration in range(12)}
    trace, _ = _mined(tmp_path / "trace", *[STEP] * 12, longer=longer)
    rows = _rows(base, trace)
    changed = rows.filter(rows["change"] != "same")
    assert changed.select("kind", "name", "change", "delta_ns").rows() == [
        ("device", "device 0", "slower", 6_000),
        ("iterations", "iterations", "slower", 6_000),
        ("iteration", "iteration", "slower", 6_000),
        ("operation", "loss", "slower", 6_000),
    ]


def test_traces_with_other_numbers_of_iterations_are_compared_per_iteration(tmp_path: Path) -> None:
    base, _ = _mined(tmp_path / "base", *[STEP] * 12)
    trace, _ = _mined(tmp_path / "trace", *[STEP] * 8)
    rows = _rows(base, trace)
    below = rows.filter(rows["depth"] > 1)
    assert set(below["change"]) == {"same"}
    assert rows["delta_ns"][0] == -4 * 25 * KERNEL_NS


def test_what_appears_and_vanishes_is_told(tmp_path: Path) -> None:
    base, _ = _mined(tmp_path / "base", *[STEP] * 12)
    other = [name if name != "loss" else "fused_loss" for name in STEP]
    trace, _ = _mined(tmp_path / "trace", *[other] * 12)
    rows = _rows(base, trace)
    alone = rows.filter(rows["change"].is_in(["appeared", "vanished"]))
    assert alone.select("name", "change", "base_time_ns", "time_ns").sort("name").rows() == [
        ("fused_loss", "appeared", 0, 12 * KERNEL_NS),
        ("loss", "vanished", 12 * KERNEL_NS, 0),
    ]


def test_the_answer_says_what_differs_most(tmp_path: Path) -> None:
    base = _mined(tmp_path / "base", *[STEP] * 12)
    trace = _mined(tmp_path / "trace", *[STEP] * 12, longer={25 * iteration + 13: 500 for iteration in range(12)})
    found = compared(base, (trace[0], trace[1]), "graphs")
    assert found.sentence == (
        "Devices are busy for 186 µs instead of 180 µs; in an iteration (of 12, before of 12) for 15.5 µs instead of "
        "15 µs, 3.3 % more; the operation that differs most, in all its places, is loss: 1.1 µs instead of 600 ns, "
        "83.3 % more."
    )
    assert trace[1].open(trace[0].id).sql(found.sql).equals(found.rows)


def test_a_trace_without_device_work_cannot_be_compared(tmp_path: Path) -> None:
    base, _ = _mined(tmp_path / "base", *[STEP] * 12)
    trace = mine(*build(tmp_path / "trace", api=[{"start_ns": 0, "end_ns": 1}]), "performance_graph")
    with pytest.raises(Error, match="no kernel, copy or fill to compare"):
        compare(base, trace)


@settings(max_examples=8, deadline=None)
@given(st.lists(st.sampled_from(["left", "right", "other"]), min_size=1, max_size=12), st.integers(0, 300))
def test_differences_add_up_to_that_of_the_busy_time(
    tmp_path_factory: pytest.TempPathFactory, names: list[str], more: int
) -> None:
    folder = tmp_path_factory.mktemp("traces")
    base, _ = _mined(folder / "base", *[STEP] * 5, names)
    trace, _ = _mined(folder / "trace", *[LAYERS] * 4, longer={7: more})
    rows = _rows(base, trace)
    for side, column in ((base, "base_time_ns"), (trace, "time_ns")):
        whole = side.performance_node.filter(pl.col("kind") == "device").collect()["time_ns"].sum()
        assert rows.filter(rows["parent"].is_null())[column].sum() == whole
    assert (rows["time_ns"] - rows["base_time_ns"]).to_list() == rows["delta_ns"].to_list()
    inside = rows.filter(rows["parent"].is_not_null()).group_by("parent").agg(pl.col("delta_ns").sum().alias("sum_ns"))
    joined = rows.join(inside, left_on="node", right_on="parent")
    assert joined["delta_ns"].to_list() == joined["sum_ns"].to_list()


def test_more_iterations_alike_are_no_difference_of_an_operation(tmp_path: Path) -> None:
    base, other = _mined(tmp_path / "base", *[STEP] * 12), _mined(tmp_path / "other", *[STEP] * 24)
    assert compared(base, other, "graphs").sentence == (
        "Devices are busy for 360 µs instead of 180 µs; in an iteration (of 24, before of 12) for 15 µs instead of "
        "15 µs."
    )
