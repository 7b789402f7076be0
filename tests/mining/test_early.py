from pathlib import Path

from tests.building import build
from tests.mining.programs import train
from tracelode.mining.early import early
from tracelode.mining.levels import STEP
from tracelode.mining.mine import mine
from tracelode.store import Trace

BODY = ["a", "b", "c", "d"]


def _mined(folder: Path, *first: list[str], rounds: int, longer: dict[int, int]) -> Trace:
    trace, archive = train(folder, *first, *[BODY] * rounds, longer=longer)
    return mine(trace, archive, "segments", "hierarchy")


def test_what_is_told_as_warm_up_ends_where_iterations_are_steady(tmp_path: Path) -> None:
    """The first of twelve iterations takes 100 us longer; 4 kernels of 600 ns, 1 us apart, 5 us before each."""
    trace = _mined(tmp_path, rounds=12, longer={1: 100_000})
    found = early(trace, warm=True)
    assert trace.sql(found.steady).rows() == [(1, 1)]
    assert trace.sql(found.warm).rows() == [(1, 0, 5_000, 5_000 + 3_600 + 100_000)]


def test_where_warm_up_is_not_told_there_is_no_stretch_of_it(tmp_path: Path) -> None:
    trace = _mined(tmp_path, rounds=12, longer={})
    assert trace.sql(early(trace, warm=True).warm).rows() == []
    assert trace.sql(early(trace, warm=True).steady).rows() == [(1, 0)]
    slow = _mined(tmp_path / "slow", rounds=12, longer={1: 100_000})
    assert slow.sql(early(slow, warm=False).warm).rows() == []


def test_without_types_of_iterations_the_phases_tell_the_first_steady_one(tmp_path: Path) -> None:
    trace, archive = train(tmp_path, *[BODY] * 12, longer={1: 100_000})
    trace = mine(trace, archive, "iterations")
    assert trace.sql(early(trace, warm=True).steady).rows() == [(1, 0)]


def test_a_trace_without_iterations_has_neither(tmp_path: Path) -> None:
    trace, archive = build(tmp_path, kernel=[{"start_ns": 0, "end_ns": 5, "name": "k"}])
    trace = mine(trace, archive, "segments", "hierarchy")
    assert trace.sql(f"with {STEP.strip()} select * from step").rows() == []
    assert [trace.sql(query).rows() for query in (early(trace, warm=True).steady, early(trace, warm=True).warm)] == [
        [],
        [],
    ]
