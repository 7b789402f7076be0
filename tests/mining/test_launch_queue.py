import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from tracelode.mining.launch_queue import ahead, places, waiting

TIMES = st.integers(0, 30)
OPERATIONS = st.lists(st.tuples(TIMES, TIMES, st.integers(0, 10), st.integers(0, 2), st.booleans()), max_size=25)


def _columns(operations: list[tuple[int, int, int, int, bool]]) -> tuple[np.ndarray, ...]:
    launch, start, length, stream, known = (
        np.array([one[at] for one in operations], bool if at == 4 else np.int64) for at in range(5)
    )
    return launch, start, start + length, stream, known


def test_operations_wait_from_their_launch_to_their_start() -> None:
    launch = np.array([0, 10, 20, 100])
    start = np.array([5, 50, 60, 105])
    assert waiting(launch, start).tolist() == [0, 0, 1, 0]
    found = ahead(launch, start, start + 10, np.array([7, 7, 8, 7]), np.ones(4, bool))
    assert found.queue.tolist() == [0, 0, 1, 0]
    assert found.stream_queue.tolist() == [0, 0, 0, 0]
    assert found.running.tolist() == [0, 1, 0, 0]


def test_an_operation_that_starts_at_a_launch_no_longer_waits_but_runs() -> None:
    found = ahead(np.array([0, 10]), np.array([10, 20]), np.array([15, 30]), np.array([7, 7]), np.ones(2, bool))
    assert (found.queue.tolist(), found.running.tolist()) == ([0, 0], [0, 1])


def test_operations_of_one_call_are_not_ahead_of_each_other() -> None:
    assert waiting(np.array([5, 5, 5]), np.array([10, 20, 30])).tolist() == [0, 0, 0]
    assert places(np.array([3, 3, 3, 4]), np.array([30, 10, 20, 5])).tolist() == [2, 0, 1, 0]


@given(OPERATIONS)
def test_what_is_ahead_equals_counting_one_by_one(operations: list[tuple[int, int, int, int, bool]]) -> None:
    launch, start, end, stream, known = _columns(operations)
    found = ahead(launch, start, end, stream, known)
    own = np.flatnonzero(known)
    for place, at in enumerate(own):
        now = launch[at]
        waits = [one for one in own if launch[one] < now < start[one]]
        assert found.queue[place] == len(waits)
        assert found.stream_queue[place] == sum(stream[one] == stream[at] for one in waits)
        assert found.running[place] == sum(start <= now) - sum(end <= now) == sum((start <= now) & (now < end))


@given(st.lists(st.tuples(st.integers(0, 4), TIMES), max_size=25))
def test_places_number_the_operations_of_a_call_by_start(operations: list[tuple[int, int]]) -> None:
    call, start = np.array([c for c, _ in operations], np.int64), np.array([s for _, s in operations], np.int64)
    found = places(call, start)
    for one in set(call.tolist()):
        of_call = call == one
        assert sorted(found[of_call].tolist()) == list(range(int(of_call.sum())))
        assert start[of_call][np.argsort(found[of_call])].tolist() == sorted(start[of_call].tolist())
