from pathlib import Path

import numpy as np

from tests.building import build
from tracelode.mining.rank_collectives import Calls, Key, calls_of, meet

NAME = "ncclDevKernel_AllReduce_Sum_bf16_RING_LL"
KEY = Key("allreduce", None, None, None, NAME)


def _calls(ends: list[int], sequence: list[int] | None = None, key: Key = KEY) -> Calls:
    end = np.array(ends, dtype=np.int64)
    told = np.array(sequence or [-1] * len(ends), dtype=np.int64)
    return Calls([key], np.zeros(len(ends), dtype=np.int64), told, end - 100, end, 0)


def test_collectives_without_a_number_are_matched_in_their_order() -> None:
    found = meet([_calls([1000, 2000, 3000]), _calls([1001, 2001])])
    assert found.at.tolist() == [[0, 1], [0, 1]]


def test_a_recording_that_begins_later_is_shifted_to_where_the_ends_lie_evenly_apart() -> None:
    ends = np.cumsum(np.random.default_rng(1).integers(10_000, 90_000, 40)).tolist()
    found = meet([_calls(ends), _calls([end + 7_000_000 for end in ends[5:]])])
    assert found.at.tolist() == [list(range(5, 40)), list(range(35))]


def test_sequence_numbers_decide_where_the_source_tells_them() -> None:
    found = meet([_calls([1000, 2000, 3000], [7, 8, 8]), _calls([1001, 2001, 3001], [8, 8, 9])])
    assert found.at.tolist() == [[1, 2], [0, 1]]


def test_a_collective_that_one_rank_has_alone_and_a_rank_without_any_are_left_out() -> None:
    other = Key("broadcast", None, None, None, "b")
    found = meet([_calls([1000]), _calls([1000], key=other), Calls((), *[np.zeros(0, dtype=np.int64)] * 4, 0)])
    assert found.at.shape == (3, 0)


def test_a_group_that_more_ranks_have_than_belong_to_it_is_left_out() -> None:
    pair = Key("allreduce", "tp", None, 2, "")
    assert meet([_calls([1000], key=pair)] * 3).at.shape == (3, 0)
    assert meet([_calls([1000], key=pair)] * 2).at.tolist() == [[0], [0]]


def test_ends_count_from_one_moment_where_every_trace_tells_its_own() -> None:
    one, other = _calls([1000]), Calls([KEY], *[np.zeros(1, dtype=np.int64)] * 2, np.array([50]), np.array([90]), 910)
    assert meet([one, other]).shared([one, other]).end_ns.tolist() == [[1000], [1000]]
    assert meet([one, other]).shared([one, other]).shortest_ns.tolist() == [40]


def test_the_kind_is_told_by_the_source_or_by_the_name_of_the_kernel(tmp_path: Path) -> None:
    kernel = [
        {"name": NAME, "start_ns": 10, "end_ns": 20, "correlation": 1},
        {"name": "ncclDevKernel_Generic", "start_ns": 30, "end_ns": 40, "correlation": 2},
        {"name": "gemm", "start_ns": 50, "end_ns": 60, "correlation": 3},
    ]
    told = {"process": 1, "name": "ncclDevKernel_Generic", "start_ns": 30, "end_ns": 40, "correlation": 2}
    told |= {"kind": "broadcast", "group": "0", "group_size": 2, "ranks": "[0, 1]", "sequence": 5}
    trace, _ = build(tmp_path, kernel=kernel, collective=[told])
    (calls,) = calls_of(trace).values()
    assert [calls.keys[at] for at in calls.key] == [KEY, Key("broadcast", "0", "[0, 1]", 2, "")]
    assert calls.sequence.tolist() == [-1, 5]
    assert calls.end_ns.tolist() == [20, 40]


def test_a_trace_without_kernels_has_no_collectives(tmp_path: Path) -> None:
    assert calls_of(build(tmp_path, api=[{"start_ns": 1, "end_ns": 2}])[0]) == {}
