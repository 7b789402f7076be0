from typing import Any

import numpy as np
from hypothesis import example, given
from hypothesis import strategies as st

from tracelode.mining.tiling import IDLE, tile


def _tiled(work: list[tuple[int, int, int]]) -> tuple[list[int], list[int], list[int], list[int]]:
    """Cuts, states, and the operations before and after idle stretches, of (start, end, kind) sorted by start."""
    start, end, kind = (np.array([one[at] for one in work], np.int64) for at in range(3))
    tiles = tile(start, end, kind)
    return tiles.cuts.tolist(), tiles.state.tolist(), tiles.before.tolist(), tiles.after.tolist()


def test_of_several_kinds_at_once_the_least_is_the_state() -> None:
    assert _tiled([(0, 10, 2), (2, 6, 1), (3, 4, 0)]) == ([0, 2, 3, 4, 6, 10], [2, 1, 0, 1, 2], [], [])


def test_neighbours_of_one_kind_are_one_stretch() -> None:
    assert _tiled([(0, 4, 1), (2, 6, 1), (6, 8, 1)]) == ([0, 8], [1], [], [])


def test_an_idle_stretch_lies_between_the_last_to_end_and_the_first_to_start() -> None:
    work = [(0, 9, 0), (1, 5, 0), (2, 9, 1), (20, 22, 0), (20, 21, 2)]
    assert _tiled(work) == ([0, 9, 20, 22], [0, IDLE, 0], [2], [3])


def test_work_without_length_interrupts_no_idle_stretch() -> None:
    assert _tiled([(0, 2, 0), (5, 5, 1), (8, 9, 0)]) == ([0, 2, 8, 9], [0, IDLE, 0], [0], [2])


def test_work_without_length_bounds_the_first_and_the_last_stretch() -> None:
    assert _tiled([(0, 0, 0), (5, 6, 0), (9, 9, 0)]) == ([0, 5, 6, 9], [IDLE, 0, IDLE], [0, 1], [1, 2])


def test_only_work_without_length_is_one_stretch_without_length() -> None:
    assert _tiled([(5, 5, 2), (5, 5, 1)]) == ([5, 5], [1], [], [])


def _by_sorting(work: list[tuple[int, int, int]]) -> tuple[list[int], list[int], list[int], list[int]]:
    """The same by counting what has started and what has ended at every moment at which something does."""
    start, end, kind = (np.array([one[at] for one in work], np.int64) for at in range(3))
    times = np.unique(np.r_[start, end])
    if len(times) == 1:
        return [*times.tolist() * 2], [int(kind.min())], [], []
    now = np.full(len(times) - 1, IDLE)
    for one in (2, 1, 0):
        opened = np.searchsorted(np.sort(start[kind == one]), times[:-1], side="right")
        closed = np.searchsorted(np.sort(end[kind == one]), times[:-1], side="right")
        now[opened > closed] = one
    changes = np.flatnonzero(np.r_[True, now[1:] != now[:-1]])
    cuts, states = np.r_[times[changes], times[-1]], now[changes]
    idle = states == IDLE
    by_end = np.argsort(end, kind="stable")
    before = by_end[np.searchsorted(end[by_end], cuts[:-1][idle], side="right") - 1]
    return cuts.tolist(), states.tolist(), before.tolist(), np.searchsorted(start, cuts[1:][idle]).tolist()


work = st.lists(st.tuples(st.integers(0, 30), st.integers(0, 8), st.integers(0, 2)), min_size=1, max_size=20)


@given(work)
@example([(0, 0, 0), (0, 0, 0), (3, 0, 1)])
def test_the_pass_tells_what_sorting_all_moments_tells(drawn: list[Any]) -> None:
    ordered = sorted((start, start + length, kind) for start, length, kind in drawn)
    assert _tiled(ordered) == _by_sorting(ordered)
