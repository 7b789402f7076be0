from pathlib import Path

from tests.building import build
from tracelode.mining.extent import UNKNOWN
from tracelode.mining.host_time import host_calls
from tracelode.mining.sequence import sequences


def test_an_operation_has_the_time_of_its_call_and_those_of_one_call_have_it_once(tmp_path: Path) -> None:
    kernels = [
        {"start_ns": 100, "end_ns": 110, "name": "a", "correlation": 1},
        {"start_ns": 120, "end_ns": 130, "name": "b", "correlation": 2, "graph": 1, "graph_node": 1},
        {"start_ns": 140, "end_ns": 150, "name": "c", "correlation": 2, "graph": 1, "graph_node": 2},
        {"start_ns": 160, "end_ns": 170, "name": "d", "correlation": 3},
    ]
    calls = [
        {"start_ns": 10, "end_ns": 13, "correlation": 1},
        {"start_ns": 20, "end_ns": 27, "correlation": 2},
        {"start_ns": 30, "end_ns": 31, "correlation": 3, "thread": 2},
    ]
    trace, _ = build(tmp_path, kernel=kernels, api=calls)
    (sequence,) = sequences(trace)
    found = host_calls(trace)
    assert found is not None
    assert found.durations(sequence).tolist() == [3, 7, 0, 1]


def test_without_a_call_the_time_is_unknown(tmp_path: Path) -> None:
    kernels = [{"start_ns": 100 + at, "end_ns": 101 + at, "name": "a", "correlation": at} for at in range(3)]
    trace, _ = build(tmp_path / "some", kernel=kernels, api=[{"start_ns": 1, "end_ns": 5, "correlation": 0}])
    found = host_calls(trace)
    assert found is not None
    (sequence,) = sequences(trace)
    assert found.durations(sequence).tolist() == [4, UNKNOWN, UNKNOWN]
    assert host_calls(build(tmp_path / "none", kernel=kernels)[0]) is None
