from typing import Any

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from tracelode.mining.lanes import Lanes, lanes_of, stream_gaps


def _told(lanes: Lanes) -> list[tuple[int, ...]]:
    columns = lanes.begin, lanes.stop, lanes.process, lanes.device, lanes.stream
    return list(zip(*(column.tolist() for column in columns), strict=True))


def _lanes(*places: tuple[int, int, int]) -> Lanes:
    process, device, stream = (np.array([place[at] for place in places], np.int64) for at in range(3))
    return lanes_of(process, device.astype(np.int32), stream)


def test_a_lane_is_a_run_of_one_process_device_and_stream() -> None:
    assert _told(_lanes((1, 0, 7), (1, 0, 7), (1, 0, 9), (1, 1, 9), (2, 1, 9))) == [
        (0, 2, 1, 0, 7),
        (2, 3, 1, 0, 9),
        (3, 4, 1, 1, 9),
        (4, 5, 2, 1, 9),
    ]


def test_no_operations_have_no_lanes() -> None:
    lanes = _lanes()
    assert _told(lanes) == []
    assert len(stream_gaps(lanes, np.zeros(0, np.int64), np.zeros(0, np.int64))) == 0


def test_lanes_of_a_device_are_found_among_all() -> None:
    assert _told(_lanes((1, 0, 7), (1, 1, 7), (2, 0, 7)).of(1, 1)) == [(1, 2, 1, 1, 7)]


def test_lanes_of_another_table_stand_further_on() -> None:
    assert _told(_lanes((1, 0, 7), (1, 0, 7)).beside(_lanes((1, 0, 9)), 2)) == [(0, 2, 1, 0, 7), (2, 3, 1, 0, 9)]


def test_a_gap_is_counted_from_the_latest_end_of_the_stream() -> None:
    lanes = _lanes((1, 0, 7), (1, 0, 7), (1, 0, 7), (1, 0, 9))
    start, end = np.array([0, 5, 30, 0]), np.array([20, 8, 40, 5])
    assert stream_gaps(lanes, start, end).tolist() == [0, 0, 10, 0]


operations = st.lists(
    st.tuples(st.integers(0, 2), st.integers(0, 1), st.integers(0, 2), st.integers(0, 40), st.integers(0, 9)),
    max_size=25,
)


@given(operations)
def test_gaps_are_the_nanoseconds_of_a_stream_that_nothing_covers(drawn: list[Any]) -> None:
    drawn.sort()
    process, device, stream, start, length = (
        (np.array(column, np.int64) for column in zip(*drawn, strict=True)) if (drawn) else [np.zeros(0, np.int64)] * 5
    )
    lanes = lanes_of(process, device.astype(np.int32), stream)
    gaps = stream_gaps(lanes, start, start + length)
    for begin, stop in zip(lanes.begin.tolist(), lanes.stop.tolist(), strict=True):
        part = drawn[begin:stop]
        assert len({one[:3] for one in part}) == 1
        covered = {moment for one in part for moment in range(one[3], one[3] + one[4])}
        span = max(one[3] + one[4] for one in part) - min(one[3] for one in part)
        assert gaps[begin:stop].sum() == span - len(covered)
