from collections import Counter
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tracelode.reports.levels import FACTOR, FULL, Grid, grid_of, levels

OPERATIONS = st.lists(
    st.tuples(st.integers(0, 300), st.integers(0, 80), st.integers(0, 2)), min_size=1, max_size=25
).map(sorted)


def columns(operations: list[tuple[int, int, int]]) -> Any:
    return tuple(np.array(column, dtype=np.int64) for column in zip(*operations, strict=True))


def seen(operations: list[tuple[int, int, int]]) -> dict[int, int]:
    """Which name each nanosecond counts to: the operation that began first of those that run."""
    counted: dict[int, int] = {}
    for start, duration, name in operations:
        for time in range(start, start + duration):
            counted.setdefault(time, name)
    return counted


@given(OPERATIONS, st.integers(1, 30))
def test_busy_shares_and_counts_are_those_of_each_bin(operations: list[tuple[int, int, int]], width: int) -> None:
    grid = Grid(0, width, 380 // width + 1)
    found = levels(*columns(operations), grid)
    times = seen(operations)
    busy = np.bincount([time // width for time in times], minlength=grid.count) if times else np.zeros(grid.count)
    sums = np.cumsum(found.busy, dtype=np.int64) / FULL * width
    assert np.abs(sums - np.cumsum(busy)).max() <= 0.51 * width / FULL
    assert found.count.tolist() == [sum(start // width == at for start, _, _ in operations) for at in range(grid.count)]


@given(OPERATIONS)
def test_the_name_of_a_bin_is_that_with_most_time_on_every_level(operations: list[tuple[int, int, int]]) -> None:
    grid = Grid(0, 1, 5000)
    found = levels(*columns(operations), grid)
    assert [name.size for name in found.name] == [5000, 1250, 313]
    times = seen(operations)
    for level, names in enumerate(found.name):
        width = FACTOR**level
        for bin_, name in enumerate(names.tolist()):
            spent = Counter(times[time] for time in range(bin_ * width, bin_ * width + width) if time in times)
            if spent:
                most = max(spent.values())
                assert name - 1 == min(which for which, time in spent.items() if time == most)


def test_an_operation_without_length_is_there_but_not_busy() -> None:
    found = levels(*columns([(5, 0, 2)]), Grid(0, 10, 1))
    assert (found.busy.tolist(), found.count.tolist(), found.name[0].tolist()) == ([0], [1], [3])


def test_an_operation_without_length_at_the_very_end_is_in_the_last_bin() -> None:
    found = levels(*columns([(0, 10, 0), (20, 0, 1)]), grid_of(0, 20, 1))
    assert (found.count.tolist(), found.name[0].tolist()) == ([1, *[0] * 18, 1], [*[1] * 10, *[0] * 9, 2])


def test_a_bin_that_is_always_busy_is_full_and_one_without_operations_has_no_name() -> None:
    found = levels(*columns([(0, 20, 0), (30, 5, 1)]), Grid(0, 10, 4))
    assert found.busy.tolist() == [FULL, FULL, 0, 128]
    assert found.name[0].tolist() == [1, 1, 0, 2]


@pytest.mark.parametrize(
    ("first", "last", "lanes", "grid"),
    [
        (0, 10**9, 1, Grid(0, 15_259, 65_536)),
        (7, 10**9 + 7, 4, Grid(7, 15_259, 65_536)),
        (0, 10**9, 5, Grid(0, 61_036, 16_384)),
        (0, 10**9, 10_000, Grid(0, 976_563, 1024)),
        (3, 3, 0, Grid(3, 1, 1)),
        (0, 100, 1, Grid(0, 1, 100)),
    ],
)
def test_the_more_lanes_the_wider_the_bins(first: int, last: int, lanes: int, grid: Grid) -> None:
    assert grid_of(first, last, lanes) == grid
    assert grid.first_ns + grid.width_ns * grid.count >= last
