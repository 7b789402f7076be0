from pathlib import Path
from typing import Any

import numpy as np

from tests.mining.programs import STEP, train
from tracelode.mining.mine import mine
from tracelode.mining.spans import Spans, spans

SIZE = len(STEP)
LAUNCH_NS = [4_100 + 1_000 * at for at in range(5)]
"""When the first kernels of `train` are launched: from 900 ns before they start."""

RANGES: list[tuple[int, int, int, str]] = [
    (1, 0, 4_100, "ends at the launch"),
    (1, 0, 4_101, "ends after it"),
    (1, 4_100, 5_101, "two"),
    (1, 4_500, 7_000, "overlaps"),
    (1, 4_500, 4_900, "between launches"),
    (1, 0, 90_000, "all"),
    (2, 0, 90_000, "other thread"),
    (1, 90_000, 99_000, "later"),
]


def _around(at: int) -> set[str]:
    """The ranges around a launch, one by one."""
    return {name for thread, start, end, name in RANGES if thread == 1 and start <= LAUNCH_NS[at] < end}


def _named(found: Spans) -> list[set[str]]:
    """For each operation the names of its spans."""
    names = [found.names[name][1] for name in found.name.tolist()]
    return [
        {name for name, where in zip(names, found.operation.tolist(), strict=True) if where == operation}
        for operation in range(len(found.operator))
    ]


def test_ranges_are_those_of_the_thread_that_begin_before_a_launch_and_end_after_it(tmp_path: Path) -> None:
    ranges: list[dict[str, Any]] = [
        {"thread": thread, "start_ns": start, "end_ns": end, "name": name, "kind": "nvtx"}
        for thread, start, end, name in RANGES
    ]
    trace = mine(*train(tmp_path, STEP, STEP, range=ranges), "iterations")
    found = spans(trace, [(0, 0, 5)])
    assert found is not None
    assert _named(found) == [_around(at) for at in range(5)]
    assert _named(found)[0] == {"ends after it", "two", "all"}
    assert found.operator.tolist() == [-1] * 5


def test_operations_are_numbered_through_all_ranges_of_a_sequence(tmp_path: Path) -> None:
    ranges = [{"start_ns": 4_000, "end_ns": 6_000, "name": "first two", "kind": "nvtx"}]
    trace = mine(*train(tmp_path, STEP, STEP, range=ranges), "iterations")
    found = spans(trace, [(0, SIZE, SIZE + 3), (0, 1, 4), (0, 0, 1)])
    assert found is not None
    assert found.operation.tolist() == [3, 6]
    assert len(found.operator) == 7
    assert np.unique(found.span).tolist() == [0]
