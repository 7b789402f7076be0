from pathlib import Path
from typing import Any

import pytest

from tests.building import build
from tracelode.mining.mine import find
from tracelode.store import NotCollected


def _run(folder: Path, *, iterations: int) -> Any:
    """Iterations of 100 ns: a kernel, a copy half under it, a large copy alone, another kernel."""
    kernels: list[dict[str, Any]] = []
    copies: list[dict[str, Any]] = []
    for at in range(iterations):
        start = 1000 + 100 * at
        kernels += [
            {"start_ns": start, "end_ns": start + 20, "name": "a", "correlation": 4 * at},
            {"start_ns": start + 80, "end_ns": start + 95, "name": "b", "correlation": 4 * at + 3},
        ]
        copies += [
            {"start_ns": start + 10, "end_ns": start + 30, "bytes": 8, "stream": 9, "correlation": 4 * at + 1},
            {"start_ns": start + 40, "end_ns": start + 80, "bytes": 64, "kind": "DtoH", "correlation": 4 * at + 2},
        ]
    calls = [{"start_ns": at, "end_ns": at + 1, "correlation": at} for at in range(4 * iterations)]
    return build(folder, kernel=kernels, copy=copies, api=calls)


def test_copies_of_one_size_stand_together_with_their_cost_to_an_iteration(tmp_path: Path) -> None:
    found = find(*_run(tmp_path, iterations=10), "transfers")
    assert found.rows.drop("process", "device", "bytes_per_s").rows() == [
        ("DtoH", 64, 10, 1.0, 400, 40.0, 400),
        ("HtoD", 8, 10, 1.0, 200, 20.0, 100),
    ]
    assert found.rows["bytes_per_s"].to_list() == [1.6e9, 4e8]
    assert found.sentence == (
        "20 copy operations take 600 ns, 83.3 % of it with no kernel beside them; most by 10 DtoH of 64 B: 400 ns."
    )


def test_without_iterations_there_are_no_numbers_per_iteration(tmp_path: Path) -> None:
    rows = find(*_run(tmp_path, iterations=1), "transfers").rows
    assert rows.select("kind", "copies", "copies_per_iteration", "time_per_iteration_ns").rows() == [
        ("DtoH", 1, None, None),
        ("HtoD", 1, None, None),
    ]


def test_sizes_whose_sum_no_integer_holds_are_no_fault(tmp_path: Path) -> None:
    copies = [{"start_ns": 10 * at, "end_ns": 10 * at + 1, "bytes": 2**62} for at in range(4)]
    (row,) = find(*build(tmp_path, copy=copies), "transfers").rows.to_dicts()
    assert (row["copies"], row["bytes"], row["bytes_per_s"]) == (4, 2**62, 2.0**62 * 1e9)


def test_one_copy_of_unknown_size_is_told_as_such(tmp_path: Path) -> None:
    found = find(*build(tmp_path, copy=[{"start_ns": 1, "end_ns": 3}]), "transfers")
    assert found.sentence == (
        "1 copy operation takes 2 ns, 100.0 % of it with no kernel beside them; most by 1 HtoD of unknown size: 2 ns."
    )


def test_a_trace_whose_copies_were_not_recorded_says_so(tmp_path: Path) -> None:
    kernels = [{"start_ns": 10 * at, "end_ns": 10 * at + 5, "name": "a"} for at in range(3)]
    with pytest.raises(NotCollected):
        find(*build(tmp_path, kernel=kernels), "transfers")
