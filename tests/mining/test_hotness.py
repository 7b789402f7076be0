"""P53: the matrix of 2 MiB blocks and windows loses nothing."""

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st

from tracelode.mining.hotness import NO_BLOCK, Hotness, access_clock, hotness

MIB = 1 << 20


def _hotness(rows: list[tuple[int, int, int]], length: int) -> Hotness:
    return hotness(*(np.array([row[at] for row in rows], np.int64) for at in range(3)), length=length)


def test_accesses_to_every_mib_are_in_the_matrix() -> None:
    # One access to each of 8 MiB: with blocks of 2 MiB and a shift of 20 bits only the 4 even ones would be left.
    found = _hotness([(at * MIB, 0, 1) for at in range(8)], 1_000_000)
    assert found.block.tolist() == [0, 1, 2, 3]
    assert found.accesses.tolist() == [2, 2, 2, 2]


def test_the_last_window_is_kept_however_little_of_it_there_is() -> None:
    # Windows of 1,000,000 accesses: the accesses numbered 0 and 999,999 are in the first, 1,000,000 and on in the last.
    found = _hotness([(0, 0, 1), (0, 999_999, 1), (0, 1_000_000, 1)], 1_000_000)
    assert (found.window.tolist(), found.accesses.tolist()) == ([0, 1], [2, 1])


def test_windows_of_time_are_made_the_same_way() -> None:
    found = _hotness([(0, 0, 5), (3 * MIB, 99, 7), (3 * MIB, 100, 1)], 100)
    assert list(zip(found.block.tolist(), found.window.tolist(), found.accesses.tolist(), strict=True)) == [
        (0, 0, 5),
        (1, 0, 7),
        (1, 1, 1),
    ]


def test_accesses_without_an_address_are_in_no_block_and_not_lost() -> None:
    found = _hotness([(-1, 0, 3), (0, 0, 1)], 1)
    assert (found.block.tolist(), found.accesses.tolist()) == ([NO_BLOCK, 0], [3, 1])


def test_the_access_clock_counts_what_earlier_launches_accessed() -> None:
    launch, accesses = np.array([2, 0, 0, 1]), np.array([5, 10, 20, 40])
    assert access_clock(launch, accesses).tolist() == [70, 0, 0, 30]


@settings(max_examples=40)
@given(
    st.lists(st.tuples(st.integers(0, 1 << 40), st.integers(0, 10**9), st.integers(1, 1000)), max_size=20),
    st.integers(1, 10**6),
)
def test_the_matrix_adds_up_to_all_accesses(rows: list[tuple[int, int, int]], length: int) -> None:
    found = _hotness(rows, length)
    assert int(found.accesses.sum()) == sum(count for _, _, count in rows)
    cells = {(address // (2 * MIB), moment // length) for address, moment, _ in rows}
    assert set(zip(found.block.tolist(), found.window.tolist(), strict=True)) == cells
