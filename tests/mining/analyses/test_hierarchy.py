from pathlib import Path
from typing import Any

import polars as pl
import pytest

from tests.mining.programs import KERNEL_NS, PACE_NS, STEP, WAIT_NS, expanded, train
from tracelode.collect.ingest import read
from tracelode.mining.analyses import hierarchy
from tracelode.mining.mine import mine
from tracelode.store import Archive, Trace

EVALUATION = ["read", *["project_gemm", "gelu_kernel", "output_gemm"] * 4, "score"] * 2


def _nodes(trace: Trace, *columns: str, kind: str = "loop") -> list[tuple[Any, ...]]:
    main = trace.tree.filter(pl.col("level").is_not_null(), pl.col("kind") == kind).sort("node")
    return main.select(columns).collect().rows()


def test_an_iteration_folds_into_its_layers(tmp_path: Path) -> None:
    trace = mine(*train(tmp_path, *[STEP] * 12), "hierarchy")
    assert _nodes(trace, "offset", "period", "repeat", "length") == [(1, 3, 4, 12), (14, 2, 5, 10)]
    assert _nodes(trace, "period", "symbol", "label", kind="root") == [(25, None, None)]
    labels = [name for (name,) in _nodes(trace, "label", kind="symbol")]
    assert labels == ["read", "project_gemm", "gelu_kernel", "output_gemm", "loss", "back_gemm", "grad", "adam"]


def test_nodes_hold_the_times_of_their_passes(tmp_path: Path) -> None:
    trace = mine(*train(tmp_path, *[STEP] * 12, longer={25 * 3 + 1: 60}), "hierarchy")
    times = ("count", "time_ns", "min_ns", "max_ns", "mean_ns", "wait_ns")
    usual, gap = 3 * KERNEL_NS, PACE_NS - KERNEL_NS
    assert _nodes(trace, *times)[0] == (48, 48 * usual + 60, usual, usual + 60, usual + 1, 48 * 3 * gap)
    first = _nodes(trace, "label", *times, "std_ns", kind="symbol")[0]
    # The first iteration begins with its first kernel, so it does not wait for that.
    assert first == ("read", 12, 12 * KERNEL_NS, KERNEL_NS, KERNEL_NS, KERNEL_NS, 11 * (WAIT_NS + gap), 0)


def test_names_come_from_the_kernels_where_there_is_nothing_else(tmp_path: Path) -> None:
    trace = mine(*train(tmp_path, *[STEP] * 12), "hierarchy")
    assert _nodes(trace, "name", "named_by", "agreement") == [
        ("gemm: project_gemm", "kernels", None),
        ("gemm: back_gemm", "kernels", None),
    ]


def _annotated(step: int) -> dict[str, list[dict[str, Any]]]:
    """Operators around single launches, and modules around the four layers of each iteration."""
    ops: list[dict[str, Any]] = []
    ranges: list[dict[str, Any]] = []
    for iteration in range(12):
        begin = WAIT_NS * (iteration + 1) + step * PACE_NS * iteration - 950
        for layer in range(4):
            start = begin + PACE_NS * (1 + 3 * layer)
            ranges.append({"start_ns": start, "end_ns": start + 3 * PACE_NS - 100, "name": f"nn.Module: Block_{layer}"})
            names = ("aten::addmm", "aten::gelu", "aten::mm")
            for at, name in enumerate(names):
                ops.append({"start_ns": start + at * PACE_NS, "end_ns": start + at * PACE_NS + 300, "name": name})
    return {
        "op": [{"id": number} | one for number, one in enumerate(ops)],
        "range": [{"kind": "python"} | one for one in ranges],
    }


def test_names_come_from_modules_and_operators_where_they_agree(tmp_path: Path) -> None:
    trace = mine(*train(tmp_path, *[STEP] * 12, **_annotated(len(STEP))), "hierarchy")
    assert _nodes(trace, "name", "named_by", "agreement") == [
        ("Block_*", "module", 1.0),
        ("gemm: back_gemm", "kernels", None),
    ]
    assert _nodes(trace, "name", "named_by", "agreement", kind="symbol")[:4] == [
        ("read", "kernels", None),
        ("aten::addmm", "operator", 1.0),
        ("aten::gelu", "operator", 1.0),
        ("aten::mm", "operator", 1.0),
    ]


def test_units_tile_the_sequence_and_their_order_folds(tmp_path: Path) -> None:
    epoch = [*[STEP] * 8, EVALUATION]
    trace = mine(*train(tmp_path, *epoch * 3), "edits")
    units = trace.unit.sort("unit").collect()
    assert units["first"].to_list() == [0, *(units["last"] + 1).to_list()[:-1]]
    assert units["level"].is_null().to_list() == [*[False] * 8, True] * 3
    order = trace.tree.filter(pl.col("type").is_null(), pl.col("kind") != "root").collect()
    assert order.select("kind", "repeat", "period", "name").rows() == [
        ("loop", 3, 9, None),
        ("loop", 8, 1, None),
        ("unit", 1, 1, "iteration"),
        ("unit", 1, 1, "stretch"),
    ]
    assert expanded(trace) == {0: trace.member.sort("ordinal").collect()["symbol"].to_list()}


def test_trees_and_edits_give_every_operation_back(tmp_path: Path) -> None:
    without, other = STEP[:3] + STEP[5:], [*STEP[:9], "new_kernel", *STEP[10:]]
    units = [["warm"] * 3, STEP, without, STEP, [*STEP, "log", "log"], STEP, other, STEP, STEP, STEP, STEP, STEP[:7]]
    trace = mine(*train(tmp_path, *units), "edits")
    assert expanded(trace) == {0: trace.member.sort("ordinal").collect()["symbol"].to_list()}


def test_the_same_trace_gives_the_same_bytes(tmp_path: Path) -> None:
    trace = mine(*train(tmp_path, *[STEP] * 6, STEP[3:], *[STEP] * 6, **_annotated(len(STEP))), "iterations")
    once, again = hierarchy.mine(trace), hierarchy.mine(trace)
    assert once["tree"].equals(again["tree"])
    assert once["unit"].equals(again["unit"])


def test_without_iterations_the_tables_are_empty(tmp_path: Path) -> None:
    trace = mine(*train(tmp_path, [f"kernel_{number}" for number in range(30)]), "edits")
    assert [len(trace.table(name).collect()) for name in ("unit", "tree", "edit")] == [0, 0, 0]


def test_without_device_work_there_are_no_tables(tmp_path: Path) -> None:
    from tests.building import build

    trace = mine(*build(tmp_path, api=[{"start_ns": 0, "end_ns": 1}]), "edits")
    assert not any(trace.has(name) for name in ("unit", "tree", "edit"))


@pytest.mark.corpus
@pytest.mark.parametrize("name", ["hta-nccl", "kineto-2021-stack-memory", "tracelens-h100-owlv2"])
def test_operators_of_public_traces_agree_in_all_iterations(corpus: Path, tmp_path: Path, name: str) -> None:
    (path,) = (corpus / "kineto" / name).iterdir()
    archive = Archive(tmp_path)
    trace = mine(read(path, archive)[0], archive, "edits")
    leaves = trace.tree.filter(pl.col("named_by") == "operator", pl.col("kind") == "symbol").collect()
    assert len(leaves) > 100
    assert leaves["agreement"].min() == 1.0
    sequences = trace.member.sort("sequence", "ordinal").collect().partition_by("sequence")
    assert list(expanded(trace).values()) == [part["symbol"].to_list() for part in sequences]


@pytest.mark.corpus
def test_layers_of_a_public_trace_have_the_names_of_their_modules(corpus: Path, tmp_path: Path) -> None:
    (path,) = (corpus / "kineto" / "tracelens-h100-owlv2").iterdir()
    archive = Archive(tmp_path)
    trace = mine(read(path, archive)[0], archive, "hierarchy")
    found = trace.tree.filter(pl.col("kind") == "loop", pl.col("length") > 100).sort("node").collect()
    assert found.select("repeat", "period", "name", "named_by", "agreement").rows() == [
        (24, 27, "Owlv2EncoderLayer_*", "module", 1.0),
        (12, 24, "Owlv2EncoderLayer_*", "module", 1.0),
    ]
