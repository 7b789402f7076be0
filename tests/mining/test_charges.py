import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st

from tracelode.mining.charges import charges

Ints = list[int]


def _charged(spans: list[tuple[int, int]], begin: int) -> tuple[Ints, Ints]:
    start, end = (np.array([span[side] for span in spans], np.int64) for side in (0, 1))
    wait, work = charges(start, end, np.array([0]), np.array([len(spans)]), np.array([begin]))
    return wait.tolist(), work.tolist()


def test_an_operation_waits_for_what_ended_last_and_adds_what_it_ends_later() -> None:
    assert _charged([(10, 20), (25, 40), (30, 35), (38, 50)], 5) == ([5, 5, 0, 0], [10, 15, 0, 10])


def test_operations_are_taken_by_their_start_not_by_their_place() -> None:
    assert _charged([(30, 40), (10, 20)], 10) == ([10, 0], [10, 10])


def test_what_ran_before_the_iteration_began_counts_from_there() -> None:
    assert _charged([(0, 20), (25, 30)], 15) == ([0, 5], [5, 5])


def test_operations_outside_the_ranges_have_no_charge() -> None:
    start, end = np.array([0, 10, 20]), np.array([5, 15, 25])
    wait, work = charges(start, end, np.array([1]), np.array([2]), np.array([8]))
    assert (wait.tolist(), work.tolist()) == ([0, 2, 0], [0, 5, 0])


SPANS = st.lists(st.tuples(st.integers(0, 50), st.integers(0, 20)).map(lambda at: (at[0], at[0] + at[1])), min_size=1)


@settings(deadline=None)  # the first call compiles
@given(SPANS, st.integers(0, 60))
def test_charges_add_up_to_the_time_of_the_iteration(spans: list[tuple[int, int]], begin: int) -> None:
    wait, work = _charged(spans, begin)
    assert sum(wait) + sum(work) == max(0, max(end for _, end in spans) - begin)
    assert min(wait) >= 0
    assert min(work) >= 0
