from hypothesis import given
from hypothesis import strategies as st

from tracelode.mining.matching import Branch, Pair, matched

KEYS = st.lists(st.sampled_from("abcd"), max_size=8)


def _list(keys: str, first: int = 0) -> list[Branch]:
    return [Branch(first + at, key) for at, key in enumerate(keys)]


def _told(pairs: list[Pair]) -> list[tuple[int | None, int | None]]:
    return [(pair.one, pair.other) for pair in pairs]


def test_siblings_match_in_order() -> None:
    assert _told(matched(_list("abac"), _list("abac"))) == [(0, 0), (1, 1), (2, 2), (3, 3)]


def test_what_only_one_side_has_stands_where_it_was() -> None:
    assert _told(matched(_list("axbc"), _list("abyc"))) == [(0, 0), (1, None), (2, 1), (None, 2), (3, 3)]


def test_siblings_that_changed_places_match_still() -> None:
    assert sorted(_told(matched(_list("abcd"), _list("dabc")))) == [(0, 1), (1, 2), (2, 3), (3, 0)]


def test_what_is_in_a_pair_matches_and_points_to_it() -> None:
    one = [Branch(0, "loop", _list("ab", 1)), Branch(3, "end")]
    other = [Branch(0, "loop", _list("b", 1)), Branch(2, "end")]
    assert matched(one, other) == [
        Pair(-1, 0, 0),
        Pair(0, 1, None),
        Pair(0, 2, 1),
        Pair(-1, 3, 2),
    ]


def test_a_renamed_node_matches_by_what_is_in_it() -> None:
    one = [Branch(0, "layer of a", _list("abcd", 1))]
    other = [Branch(0, "layer of b", _list("abcx", 1))]
    assert _told(matched(one, other))[0] == (0, 0)
    unlike = [Branch(0, "layer of b", _list("axyz", 1))]
    assert (0, None) in _told(matched(one, unlike))


def test_a_side_without_nodes_leaves_the_other_alone() -> None:
    assert _told(matched([], _list("ab"))) == [(None, 0), (None, 1)]
    assert _told(matched(_list("ab"), [])) == [(0, None), (1, None)]


@given(KEYS, KEYS)
def test_every_node_is_in_one_pair_and_equals_meet(one: list[str], other: list[str]) -> None:
    pairs = matched(_list("".join(one)), _list("".join(other)))
    assert sorted(pair.one for pair in pairs if pair.one is not None) == list(range(len(one)))
    assert [pair.other for pair in pairs if pair.other is not None] == list(range(len(other)))
    both = [pair for pair in pairs if pair.one is not None and pair.other is not None]
    assert all(one[pair.one or 0] == other[pair.other or 0] for pair in both)
    assert len(both) == sum(min(one.count(key), other.count(key)) for key in "abcd")
