import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st

from tracelode.mining.managed_pages import FROM_DEVICE, TO_DEVICE, Before, clusters, footprint, moved_before

K, MIB = 1024, 1 << 20
Move = tuple[int, int, int]


def _before(moves: list[Move]) -> Before:
    return moved_before(*(np.array([move[at] for move in moves], np.int64) for at in range(3)))


def test_bytes_that_a_device_had_before_count_again() -> None:
    # 64 KiB to the device, 32 KiB of them back, then 96 KiB from 32 KiB on: 32 of these it had had, and still has 0 to
    # 32 KiB's rest. Moved again: the overlap of [32, 128) KiB with what ever went there, [0, 64) KiB: 32 KiB.
    found = _before([(0, 64 * K, TO_DEVICE), (32 * K, 32 * K, FROM_DEVICE), (32 * K, 96 * K, TO_DEVICE)])
    assert found.again.tolist() == [0, 0, 32 * K]
    # The way back returns 32 KiB, and so does their second way there; the other 64 KiB never moved before.
    assert found.returned.tolist() == [0, 32 * K, 32 * K]


def test_the_same_move_twice_is_again_but_no_return() -> None:
    found = _before([(0, 4 * K, TO_DEVICE), (0, 4 * K, TO_DEVICE)])
    assert (found.again.tolist(), found.returned.tolist()) == ([0, 4 * K], [0, 0])


def test_a_move_without_address_or_size_is_unknown_and_changes_nothing() -> None:
    found = _before([(0, 4 * K, TO_DEVICE), (-1, 4 * K, FROM_DEVICE), (0, 0, FROM_DEVICE), (0, 4 * K, TO_DEVICE)])
    assert found.again.tolist() == [0, -1, -1, 4 * K]
    assert found.returned.tolist() == [0, -1, -1, 0]


def test_blocks_next_to_each_other_are_one_range() -> None:
    places = np.array([5, 2 * MIB, 8 * MIB + 1, 4 * MIB - 1], np.int64)
    address, size = clusters(places, np.array([1, 1, 0, 2], np.int64))
    # Blocks 0, 1, and 2 (the last move crosses into it), then block 4.
    assert address.tolist() == [0, 8 * MIB]
    assert size.tolist() == [6 * MIB, 2 * MIB]


def test_a_footprint_has_each_address_once() -> None:
    # 4 KiB at 0, the same again, 4 KiB that overlap by 1 KiB, and 1 KiB apart.
    assert footprint([(0, 4 * K), (0, 4 * K), (3 * K, 4 * K), (64 * K, K)]) == 8 * K
    assert footprint([]) == 0


@settings(max_examples=40)
@given(
    st.lists(st.tuples(st.integers(0, 12), st.integers(1, 6), st.sampled_from([TO_DEVICE, FROM_DEVICE])), max_size=10)
)
def test_it_equals_keeping_the_state_of_every_byte(moves: list[Move]) -> None:
    last: dict[int, int] = {}
    had: set[int] = set()
    again, returned = [], []
    for address, size, way in moves:
        there = range(address, address + size)
        returned.append(sum(last.get(byte) == -way for byte in there))
        again.append(sum(byte in had for byte in there) if way == TO_DEVICE else 0)
        had |= set(there) if way == TO_DEVICE else set()
        last |= dict.fromkeys(there, way)
    found = _before(moves)
    assert (found.again.tolist(), found.returned.tolist()) == (again, returned)
