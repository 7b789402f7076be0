from pathlib import Path
from typing import Any

from tests.building import build
from tracelode.mining.mine import find


def _kernel(start: int, end: int, stream: int, **more: Any) -> dict[str, Any]:
    return {"start_ns": start, "end_ns": end, "name": "gemm", "stream": stream, **more}


def test_streams_stand_by_busy_time_with_their_share_of_the_span(tmp_path: Path) -> None:
    copies = [{"start_ns": 12, "end_ns": 14, "stream": 9}]
    trace, archive = build(tmp_path, kernel=[_kernel(0, 10, 7), _kernel(4, 8, 7), _kernel(30, 40, 7)], copy=copies)
    found = find(trace, archive, "streams")
    assert found.rows.drop("process", "device").rows() == [
        (7, 3, 3, 0, 0, 20, 0.5, 1, 20, 20, 10),
        (9, 1, 0, 0, 1, 2, 0.05, 0, 0, 0, None),
    ]
    assert found.sentence == "2 streams; the busiest of a device has 90.9 % of the streams' busy time."
    assert archive.open(trace.id).sql(found.sql).equals(found.rows)


def test_one_stream_to_a_device_is_said(tmp_path: Path) -> None:
    found = find(*build(tmp_path, kernel=[_kernel(0, 10, 7)]), "streams")
    assert found.sentence == "The device's work is on one stream."
    two = find(*build(tmp_path / "two", kernel=[_kernel(0, 10, 7), _kernel(0, 10, 7, device=1)]), "streams")
    assert two.sentence == "All work of each device is on one stream."
