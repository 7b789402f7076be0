import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from tracelode.mining.shares import STATES, shares

WORK = st.lists(st.tuples(st.integers(0, 40), st.integers(0, 15), st.integers(0, 2)), max_size=14)


def _shares(work: list[tuple[int, int, int]]) -> list[int]:
    """The time of operations given by start, duration and state."""
    start, duration, state = (np.array([one[at] for one in work], np.int64) for at in range(3))
    return shares(start, start + duration, state).tolist()


def _instant_by_instant(work: list[tuple[int, int, int]]) -> list[int]:
    """The oracle: every nanosecond goes to the least state that runs in it, there to the one that started first."""
    time = [0] * len(work)
    for now in range(60):
        running = [at for at, (start, duration, _) in enumerate(work) if start <= now < start + duration]
        if running:
            time[min(running, key=lambda at: (work[at][2], work[at][0], at))] += 1
    return time


def test_operations_one_after_the_other_have_their_own_time() -> None:
    assert _shares([(0, 5, 0), (5, 3, 1), (10, 2, 2)]) == [5, 3, 2]


def test_of_equal_operations_the_one_that_started_first_has_the_time() -> None:
    assert _shares([(0, 10, 0), (2, 20, 0), (3, 12, 0)]) == [10, 12, 0]


def test_time_under_computation_does_not_count_to_communication_or_copies() -> None:
    assert [STATES[state] for state in (0, 1, 2)] == ["compute", "communication", "copy"]
    assert _shares([(0, 20, 2), (2, 16, 1), (4, 3, 0), (10, 4, 0)]) == [4, 9, 3, 4]


@given(WORK)
def test_every_instant_counts_to_exactly_one_operation(work: list[tuple[int, int, int]]) -> None:
    assert _shares(work) == _instant_by_instant(work)
