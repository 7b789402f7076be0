import numpy as np
import pytest

from tracelode.mining import nodes
from tracelode.mining.naming import Label
from tracelode.mining.nodes import NONE, Work, devices_of, graph


def _work(symbols: str, *, sequence: int = 0, device: int = 0) -> Work:
    """Operations of one sequence, 10 ns each, named by letters."""
    names = sorted(set(symbols))
    number = np.array([names.index(one) for one in symbols], np.int64)
    count = len(symbols)
    return Work(
        np.ones(count, np.int64),
        np.full(count, device),
        np.full(count, sequence),
        number.astype(np.int32),
        number,
        [Label(name, "other") for name in names],
        np.full(count, 10),
    )


def _shape(work: Work) -> list[tuple[int, str, str, int]]:
    return [(node.parent, node.kind, node.name, node.repeat) for node in graph(work, {}, {}, {}).nodes]


def test_without_iterations_loops_keep_their_order_and_the_rest_is_by_name() -> None:
    assert _shape(_work("xababaxyx")) == [
        (NONE, "device", "device 0", NONE),
        (0, "stage", "whole recording", NONE),
        (1, "loop", "other: b", 2),
        (2, "operation", "a", 1),
        (2, "operation", "b", 1),
        (1, "operation", "a", NONE),
        (1, "operation", "x", NONE),
        (1, "operation", "y", NONE),
    ]


def test_every_operation_has_a_leaf_and_loops_their_passes() -> None:
    found = graph(_work("xabababy"), {}, {}, {})
    names = [found.nodes[leaf].name for leaf in found.leaf.tolist()]
    assert names == list("xabababy")
    loop = next(at for at, node in enumerate(found.nodes) if node.kind == "loop")
    assert found.passed_ns[found.passed == loop].tolist() == [20, 20, 20]


def test_operations_of_no_sequence_are_a_stage_of_their_own() -> None:
    assert _shape(_work("ab", sequence=NONE))[1:] == [
        (0, "stage", "other operations", NONE),
        (1, "operation", "a", NONE),
        (1, "operation", "b", NONE),
    ]


def test_of_a_content_with_too_many_nodes_the_longest_loops_are_kept(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(nodes, "MOST_NODES", 4)
    loops = [name for _, kind, name, _ in _shape(_work("cdcdcd" + "x" + "abababab")) if kind == "loop"]
    assert loops == ["other: a"]


def test_operations_are_parted_by_process_and_device() -> None:
    process, device = np.array([9, 3, 9, 3]), np.array([0, 1, 0, 0])
    assert [part.tolist() for part in devices_of(process, device)] == [[3], [1], [0, 2]]
    assert [part.tolist() for part in devices_of(process[:1], device[:1])] == [[0]]
    assert devices_of(process[:0], device[:0]) == []
