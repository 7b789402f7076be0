"""Objects, lives and addresses small enough to see; the defects are those of PASTA's tools."""

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st

from tracelode.mining.owners import NOBODY, owners

Life = tuple[int, int, int, int]


def _owners(lives: list[Life], asked: list[tuple[int, int]]) -> list[int]:
    """Lives as (address, bytes, birth, death), questions as (address, moment)."""
    columns = [np.array([life[at] for life in lives], np.int64) for at in range(4)]
    questions = [np.array([one[at] for one in asked], np.int64) for at in range(2)]
    return owners(*columns, *questions).tolist()


def test_an_address_that_is_used_again_belongs_to_the_object_that_lives_then() -> None:
    lives = [(100, 50, 0, 10), (100, 20, 15, 99)]
    asked = [(100, 5), (149, 9), (100, 10), (100, 12), (100, 15), (119, 50), (120, 50)]
    # At 10 the first is gone; between 10 and 15 there is nobody; the second is only 20 bytes long.
    assert _owners(lives, asked) == [0, 0, NOBODY, NOBODY, 1, 1, NOBODY]


def test_an_address_behind_an_object_is_not_charged_to_its_lower_neighbour() -> None:
    assert _owners([(100, 10, 0, 99), (200, 10, 0, 99)], [(110, 1), (199, 1), (209, 1), (210, 1), (99, 1)]) == [
        NOBODY,
        NOBODY,
        1,
        NOBODY,
        NOBODY,
    ]


def test_an_address_in_an_object_around_a_smaller_one_finds_the_one_around() -> None:
    # A pool of 100 bytes holds a block of 10: behind the block the address is the pool's.
    assert _owners([(100, 100, 0, 99), (120, 10, 0, 99)], [(125, 1), (130, 1), (199, 1)]) == [1, 0, 0]
    assert _owners([(100, 100, 0, 99), (100, 10, 0, 99)], [(109, 1), (199, 1), (200, 1)]) == [1, 0, NOBODY]


def test_more_objects_than_any_table_of_a_device_holds_are_all_kept() -> None:
    lives = [(10 * at, 10, 0, 99) for at in range(20_000)]
    assert _owners(lives, [(199_999, 1), (200_000, 1), (170_001, 1)]) == [19_999, NOBODY, 17_000]


@settings(max_examples=40)
@given(
    st.lists(st.tuples(st.integers(0, 20), st.integers(1, 8), st.integers(0, 6), st.integers(0, 8)), max_size=8),
    st.lists(st.tuples(st.integers(0, 30), st.integers(0, 8)), max_size=8),
)
def test_it_equals_looking_at_every_object(lives: list[Life], asked: list[tuple[int, int]]) -> None:
    expected: list[int] = []
    for address, moment in asked:
        held = [
            (start, at)
            for at, (start, size, birth, death) in enumerate(lives)
            if start <= address < start + size and birth <= moment < death
        ]
        expected.append(max(held)[1] if held else NOBODY)
    assert _owners(lives, asked) == expected
