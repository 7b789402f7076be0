import tracemalloc
from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tracelode.collect.text_window import TextWindow, decoded

CONTENT = st.binary(max_size=60) | st.text(max_size=30).map(str.encode)


@pytest.mark.parametrize("errors", ["replace", "surrogateescape"])
@given(content=CONTENT, at=st.lists(st.integers(0, 60), max_size=6))
def test_blocks_are_decoded_as_the_whole_is(errors: str, content: bytes, at: list[int]) -> None:
    edges = [0, *sorted(min(place, len(content)) for place in at), len(content)]
    blocks = [content[begin:end] for begin, end in pairwise(edges)]
    assert "".join(decoded(blocks, errors=errors)) == content.decode(errors=errors)


def test_pieces_are_no_longer_than_a_window_needs() -> None:
    assert [len(piece) for piece in decoded([b"x" * 150_000])] == [65_536, 65_536, 18_928, 0]


def test_a_window_drops_what_lies_behind_and_counts_it() -> None:
    window = TextWindow(["a\nb", "", "c\n", "d"])
    assert (window.more(), window.text, window.place) == (True, "a\nb", 0)
    window.at = 2
    assert (window.more(), window.text, window.place, window.lines) == (True, "bc\n", 2, 1)
    window.at = 3
    assert (window.more(), window.text, window.place, window.lines) == (True, "d", 5, 2)
    assert (window.more(), window.text, window.place, window.lines) == (False, "d", 5, 2)


def test_a_window_takes_as_much_as_it_holds() -> None:
    window = TextWindow("x" * 100)
    held = [len(window.text) for _ in iter(window.more, False)]
    assert held == [1, 2, 4, 8, 16, 32, 64, 100]


def test_of_a_long_text_no_more_than_a_window_is_held() -> None:
    window = TextWindow(decoded(b"y" * 1_000_000 for _ in range(20)))
    tracemalloc.start()
    while window.more():
        window.at = len(window.text)
    _, most = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert window.place == 20_000_000
    assert most < 5_000_000
