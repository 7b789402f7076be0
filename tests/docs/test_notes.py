from docs.notes import kinds
from tracelode.store.health import UNRELIABLE


def test_every_kind_that_makes_something_unreliable_is_made_somewhere() -> None:
    assert UNRELIABLE.keys() - kinds().keys() == set()


def test_kinds_are_words_joined_by_dashes() -> None:
    assert len(kinds()) > 80
    assert all(kind == kind.lower() and " " not in kind for kind in kinds())
