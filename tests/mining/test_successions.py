import numpy as np

from tracelode.mining.nodes import NONE, Graph, Node
from tracelode.mining.successions import Gaps, successions


def _ints(*values: int) -> np.ndarray[tuple[int], np.dtype[np.int64]]:
    return np.array(values, np.int64)


def _graph(leaf: list[int], unit: list[int], number: list[int]) -> Graph:
    """A device (0) with iterations (1); in these a loop (2) of two operations (3 and 4), and an operation (5)."""
    parents = (NONE, 0, 1, 2, 2, 1)
    nodes = [Node(parent, 1, 0, "operation", str(at)) for at, parent in enumerate(parents)]
    return Graph(nodes, _ints(*leaf), _ints(*unit), _ints(*number), _ints(), _ints())


def _told(found: Graph, gaps: Gaps, apart: list[int]) -> list[tuple[int, ...]]:
    edges = successions(found, _ints(*apart), gaps)
    columns = (
        edges.parent, edges.source, edges.target, edges.count, edges.gaps, edges.idle_ns, edges.longest_ns,
        edges.cause, edges.cause_ns,
    )  # fmt: skip
    return list(zip(*(column.tolist() for column in columns), strict=True))


def test_successions_are_told_of_siblings() -> None:
    leaf = [3, 4, 3, 4, 5, 3, 4, 3, 4, 5]
    found = _graph(leaf, [1] * 10, [0] * 5 + [1] * 5)
    gaps = Gaps(_ints(1, 2, 5, 4), _ints(10, 4, 7, 3), _ints(0, 1, 1, 0), ["host", "launch"])
    assert _told(found, gaps, [0] * 10) == [
        (0, NONE, 1, 1, 0, 0, 0, NONE, 0),
        (0, 1, 1, 1, 1, 7, 7, 1, 7),
        (1, 2, 5, 2, 1, 3, 3, 0, 3),
        (2, 3, 4, 4, 1, 10, 10, 0, 10),
        (2, 4, 3, 2, 1, 4, 4, 1, 4),
    ]


def test_the_cause_is_the_one_with_most_idle_time() -> None:
    found = _graph([3, 4, 3, 4], [1] * 4, [0] * 4)
    gaps = Gaps(_ints(1, 3), _ints(4, 9), _ints(0, 1), ["host", "launch"])
    assert _told(found, gaps, [0] * 4)[1] == (2, 3, 4, 2, 2, 13, 9, 1, 9)


def test_sequences_do_not_follow_each_other() -> None:
    found = _graph([5, 5, 5], [NONE] * 3, [NONE] * 3)
    gaps = Gaps(_ints(), _ints(), _ints(), [])
    assert [row[:4] for row in _told(found, gaps, [0, 1, 1])] == [(0, NONE, 1, 2), (1, 5, 5, 1)]
