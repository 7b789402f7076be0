from pathlib import Path

import numpy as np
import pytest

from tests.building import build
from tests.mining.programs import STEP, train
from tracelode.mining.folding import LOOP, fold
from tracelode.mining.mine import mine
from tracelode.mining.naming import Label, Name, kernel_names, labels, short, span_names
from tracelode.mining.spans import Spans, spans

TEXT = np.array([9, 1, 2, 1, 2, 1, 2, 8], np.int32)
LABELS = {
    1: Label("my_gemm", "gemm"),
    2: Label("add", "elementwise"),
    8: Label("copy HtoD", "copy"),
    9: Label("sgd", "optimizer"),
}


def _spans(pairs: list[tuple[int, str, int]], operations: int) -> Spans:
    """Spans by operation, name and number; all are modules, and no operation has an operator."""
    names = sorted({("module", name) for _, name, _ in pairs})
    operation, name, span = (
        np.array([pair[0] for pair in pairs], np.int64),
        np.array([names.index(("module", pair[1])) for pair in pairs], np.int64),
        np.array([pair[2] for pair in pairs], np.int64),
    )
    return Spans(operation, name, span, names, np.full(operations, -1))


def test_a_loop_is_called_after_the_costliest_category_and_what_is_special_in_it() -> None:
    tree = fold(TEXT)
    time = np.array([0, 5, 0, 300, 200, 1000])
    (loop,) = np.flatnonzero(tree.kind == LOOP).tolist()
    assert kernel_names(tree, time, LABELS) == {0: Name("copy HtoD", "kernels"), loop: Name("gemm: my_gemm", "kernels")}


def test_a_loop_is_called_after_the_spans_that_hold_its_passes() -> None:
    tree = fold(TEXT)
    (loop,) = np.flatnonzero(tree.kind == LOOP).tolist()
    layers = [(at, "Layer", (at - 1) // 2) for at in range(1, 7)]
    found = _spans(sorted([*layers, *[(at, "Model", 9) for at in range(8)]]), 8)
    assert span_names(tree, np.arange(8, dtype=np.int32), found)[loop] == Name("Layer", "module", 1.0)


def test_a_loop_is_not_called_after_a_span_around_all_its_passes_nor_after_parts_of_them() -> None:
    tree = fold(TEXT)
    around, parts = [(at, "Stack", 0) for at in range(1, 7)], [(at, "Linear", at) for at in range(1, 7)]
    for pairs in (around, parts, []):
        assert span_names(tree, np.arange(8, dtype=np.int32), _spans(pairs, 8)) == {}


def test_layers_of_another_part_do_not_count_against_a_name() -> None:
    text = np.array([1, 2, 1, 2, 7, 3, 4, 3, 4, 3, 4], np.int32)
    tree = fold(text)
    pairs = [(at, "Layer", at // 2) for at in (0, 1, 2, 3)] + [(at, "Layer", (at + 5) // 2) for at in range(5, 11)]
    names = span_names(tree, np.arange(11, dtype=np.int32), _spans(pairs, 11))
    assert [names[loop] for loop in tree.loops()] == [Name("Layer", "module", 1.0)] * 2


@pytest.mark.parametrize(
    ("name", "expected"),
    [
        ("void at::native::(anonymous namespace)::fold<float, 4>(int, (lambda at x))", "fold"),
        ("ampere_sgemm_32x128_tn", "ampere_sgemm_32x128_tn"),
        ("copy HtoD", "copy HtoD"),
        ("<unknown>", "<unknown>"),
    ],
)
def test_short_names_have_no_types_and_arguments(name: str, expected: str) -> None:
    assert short(name) == expected


def test_symbols_are_labelled_with_kernel_copy_or_fill(tmp_path: Path) -> None:
    kernels = [{"start_ns": 10, "end_ns": 10, "name": "twin"}, {"start_ns": 10, "end_ns": 10, "name": "void sgemm"}]
    kernels += [{"start_ns": 50, "end_ns": 60, "name": name, "correlation": 3} for name in ["void sgemm"]]
    tables = {"copy": [{"start_ns": 20, "end_ns": 30}], "fill": [{"start_ns": 30, "end_ns": 40}]}
    calls = [{"start_ns": at, "end_ns": at + 1, "correlation": at} for at in range(1, 6)]
    linked = [row | {"correlation": at} for at, row in enumerate([*kernels, *tables["copy"], *tables["fill"]], start=1)]
    trace = mine(*build(tmp_path, kernel=linked[:3], copy=linked[3:4], fill=linked[4:], api=calls), "iterations")
    found = sorted((label.text, label.category) for label in labels(trace).values())
    assert found == [("copy HtoD", "copy"), ("fill", "fill"), ("twin", "other"), ("void sgemm", "gemm")]


def test_spans_are_those_around_the_launch_with_the_innermost_operator(tmp_path: Path) -> None:
    ops = [
        {"id": 0, "start_ns": 0, "end_ns": 30_000, "name": "outer"},
        {"id": 1, "start_ns": 4_000, "end_ns": 4_300, "name": "inner"},
    ]
    ranges = [
        {"start_ns": 0, "end_ns": 4_500, "name": "step#1", "kind": "nvtx"},
        {"start_ns": 0, "end_ns": 4_500, "name": "train.py(3): main", "kind": "python"},
        {"start_ns": 4_050, "end_ns": 9_000, "name": "nn.Module: Block_7", "kind": "python"},
    ]
    trace = mine(*train(tmp_path, STEP, op=ops, range=ranges), "iterations")
    found = spans(trace, [(0, 0, 2)])
    assert found is not None
    assert found.names == [
        ("annotation", "step#*"), ("module", "Block_*"), ("operator", "inner"), ("operator", "outer"),
    ]  # fmt: skip
    assert list(zip(found.operation.tolist(), found.name.tolist(), strict=True)) == [
        (0, 0), (0, 1), (0, 2), (0, 3), (1, 1), (1, 3),
    ]  # fmt: skip
    assert found.operator.tolist() == [2, 3]
    assert found.part(1, 2).name.tolist() == [1, 3]


def test_without_operators_and_ranges_there_are_no_spans(tmp_path: Path) -> None:
    assert spans(mine(*train(tmp_path, STEP), "iterations"), [(0, 0, 2)]) is None
