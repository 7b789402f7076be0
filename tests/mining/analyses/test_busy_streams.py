from pathlib import Path
from typing import Any

from tests.building import build
from tracelode.mining.mine import find


def _kernel(start: int, end: int, stream: int) -> dict[str, Any]:
    return {"start_ns": start, "end_ns": end, "name": "gemm", "stream": stream}


def test_time_is_told_by_the_number_of_streams_that_are_busy(tmp_path: Path) -> None:
    kernels = [_kernel(0, 10, 7), _kernel(5, 20, 8), _kernel(8, 9, 9), _kernel(30, 50, 7)]
    trace, archive = build(tmp_path, kernel=kernels)
    found = find(trace, archive, "busy_streams")
    assert found.rows.drop("process", "device").rows() == [(0, 10, 0.2), (1, 35, 0.7), (2, 4, 0.08), (3, 1, 0.02)]
    assert found.sentence == ("Two streams or more are busy for 10.0 % of the time, at most 3 streams at once.")
    assert archive.open(trace.id).sql(found.sql).equals(found.rows)


def test_streams_that_take_turns_are_not_at_once(tmp_path: Path) -> None:
    found = find(*build(tmp_path, kernel=[_kernel(0, 10, 7), _kernel(10, 20, 8)]), "busy_streams")
    assert found.sentence == "No two streams of a device are ever busy at once."
