from pathlib import Path
from typing import Any

import pytest

from tests.building import build
from tracelode.mining.mine import find
from tracelode.store import NotCollected

MEMORY = {"source_memory": "pageable", "target_memory": "device"}


def _tables(iterations: int) -> dict[str, list[dict[str, Any]]]:
    """Iterations of 100 ns: two copies of 64 bytes, one half under a kernel; a kernel; a copy back; once another."""
    kernels: list[dict[str, Any]] = []
    copies: list[dict[str, Any]] = []
    for at in range(iterations):
        start = 1000 + 100 * at
        copies += [
            {"start_ns": start, "end_ns": start + 20, "bytes": 64, "correlation": 5 * at, **MEMORY},
            {"start_ns": start + 30, "end_ns": start + 40, "bytes": 64, "correlation": 5 * at + 1, **MEMORY},
            {"start_ns": start + 80, "end_ns": start + 90, "bytes": 4, "kind": "DtoH", "correlation": 5 * at + 3},
        ]
        kernels.append({"start_ns": start + 35, "end_ns": start + 75, "name": "a", "correlation": 5 * at + 2})
        kernels.append({"start_ns": start + 91, "end_ns": start + 95, "name": "b", "correlation": 5 * at + 4})
    copies.append({"start_ns": 1241, "end_ns": 1243, "bytes": 99, "stream": 9, "kind": "HtoD"})
    calls = [{"start_ns": at, "end_ns": at + 1, "correlation": at} for at in range(5 * iterations)]
    return {"kernel": kernels, "copy": copies, "api": calls}


def test_copies_of_one_size_in_every_iteration_are_told_with_what_they_cost(tmp_path: Path) -> None:
    trace, archive = build(tmp_path, **_tables(10))
    found = find(trace, archive, "repeated_copies")
    assert found.rows.drop("process", "device").rows() == [
        ("HtoD", 64, "pageable", 20, 10, 10, 2.0, 128.0, 300, 30.0, 250, pytest.approx(64 * 20e9 / 300)),
        ("DtoH", 4, None, 10, 10, 10, 1.0, 4.0, 100, 10.0, 100, 4e8),
    ]
    assert found.sentence == (
        "2 sizes of copies between host and device recur in every iteration; from host to device most time goes to "
        "2 pageable copies of 64 B an iteration: 30 ns, 83.3 % of it with no kernel beside them."
    )
    assert archive.open(trace.id).sql(found.sql).equals(found.rows)


def test_copies_within_a_device_are_not_between_host_and_device(tmp_path: Path) -> None:
    tables = _tables(10)
    tables["copy"] = [copy | {"kind": "DtoD"} for copy in tables["copy"]]
    found = find(*build(tmp_path, **tables), "repeated_copies")
    assert found.sentence == "No copy between host and device comes again in every iteration with the same size."


def test_without_iterations_nothing_comes_again(tmp_path: Path) -> None:
    assert len(find(*build(tmp_path, **_tables(1)), "repeated_copies").rows) == 0


def test_a_trace_whose_copies_were_not_recorded_says_so(tmp_path: Path) -> None:
    tables = _tables(10)
    with pytest.raises(NotCollected):
        find(*build(tmp_path, kernel=tables["kernel"], api=tables["api"]), "repeated_copies")
