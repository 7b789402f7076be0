from typing import Any

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from tracelode.mining.concurrency import Concurrency, concurrency
from tracelode.mining.lanes import lanes_of


def _swept(work: list[tuple[int, int, int, int, int]]) -> Concurrency:
    """The sweep over (table, stream, start, end, kind), stored as the tables are: one after the other, sorted."""
    work = sorted(work)
    table, stream, start, end, kind = (np.array([one[at] for one in work], np.int64) for at in range(5))
    lanes = lanes_of(table, np.zeros(len(work), np.int32), stream)  # a lane for each table and stream
    return concurrency(lanes, start, end, kind.astype(np.int8))


def _times(found: Concurrency) -> dict[tuple[int, int], int]:
    kinds, streams = np.nonzero(found.time_ns)
    return {
        (kind, busy): int(found.time_ns[kind, busy])
        for kind, busy in zip(kinds.tolist(), streams.tolist(), strict=True)
    }


def test_time_is_told_by_what_runs_and_on_how_many_streams() -> None:
    found = _swept([(0, 7, 0, 10, 0), (0, 7, 14, 20, 0), (0, 9, 5, 16, 1), (1, 9, 22, 23, 2)])
    assert _times(found) == {
        (0, 0): 2,  # from 20 to 22
        (1, 1): 5 + 4,  # compute alone, before 5 and from 16 on
        (2, 1): 4,  # communication alone, from 10 to 14
        (3, 2): 5 + 2,
        (4, 1): 1,
    }


def test_a_stream_is_told_by_the_union_of_its_operations_in_all_tables() -> None:
    use = _swept([(0, 7, 0, 10, 0), (0, 7, 5, 8, 1), (1, 7, 12, 13, 2), (1, 7, 40, 42, 2)]).streams
    told = {name: getattr(use, name).tolist() for name in use.__dataclass_fields__}
    assert told == {
        "stream": [7],
        "computing": [1],
        "communicating": [1],
        "copying": [2],
        "busy_ns": [13],
        "start_ns": [0],
        "end_ns": [42],
        "gaps": [2],
        "gap_ns": [29],
        "longest_ns": [27],
        "longest_at_ns": [13],
    }


def test_an_end_that_a_later_operation_moves_ends_nothing() -> None:
    found = _swept([(0, 7, 0, 5, 0), (0, 7, 3, 9, 0), (0, 8, 0, 4, 0), (0, 8, 4, 6, 0)])
    assert _times(found) == {(1, 1): 3, (1, 2): 6}


def test_work_without_length_takes_no_time_but_bounds_the_span() -> None:
    found = _swept([(0, 7, 0, 0, 0), (0, 7, 4, 5, 0), (0, 8, 9, 9, 1)])
    assert _times(found) == {(0, 0): 8, (1, 1): 1}


operations = st.lists(
    st.tuples(st.integers(0, 1), st.integers(0, 3), st.integers(0, 40), st.integers(0, 9), st.integers(0, 2)),
    min_size=1,
    max_size=30,
)


@given(operations)
def test_the_sweep_tells_what_looking_at_every_nanosecond_tells(drawn: list[Any]) -> None:
    work = [(table, stream, start, start + length, kind) for table, stream, start, length, kind in drawn]
    found = _swept(work)
    first, last = min(one[2] for one in work), max(one[3] for one in work)
    expected: dict[tuple[int, int], int] = {}
    for moment in range(first, last):
        running = [one for one in work if one[2] <= moment < one[3]]
        key = sum(1 << kind for kind in {one[4] for one in running}), len({one[1] for one in running})
        expected[key] = expected.get(key, 0) + 1
    assert _times(found) == expected
    use = found.streams
    for at, stream in enumerate(use.stream.tolist()):
        own = sorted(one[2:4] for one in work if one[1] == stream)
        covered = {moment for start, end in own for moment in range(start, end)}
        assert use.busy_ns[at] == len(covered)
        assert use.busy_ns[at] + use.gap_ns[at] == use.end_ns[at] - use.start_ns[at]
        assert (use.start_ns[at], use.end_ns[at]) == (own[0][0], max(end for _, end in own))
        assert use.longest_ns[at] <= use.gap_ns[at] <= use.gaps[at] * use.longest_ns[at]
        assert use.computing[at] + use.communicating[at] + use.copying[at] == len(own)
