import doctest
import unicodedata

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tracelode.reports import text
from tracelode.reports.text import clean, shorten


def test_the_examples_in_its_docstrings_run() -> None:
    assert doctest.testmod(text).failed == 0


@pytest.mark.parametrize(
    ("given", "shown"),
    [
        ("plain", "plain"),
        ("\x00\x1b\n\t\x7f", "␀␛␊␉␡"),
        ("\x85\x9b", "\\x85\\x9b"),
        ("a\u202eb\u2066c\u200f", "a\\u202eb\\u2066c\\u200f"),
        ("\u2028\u2029\ufeff\u200b\u00ad", "\\u2028\\u2029\\ufeff\\u200b\\xad"),
        ("\ud800x\udfff", "\\ud800x\\udfff"),
        ("\U000e0041", "\\U000e0041"),
        ("👨\u200d👩 نمی\u200cخواهم é", "👨\u200d👩 نمی\u200cخواهم é"),
        ("a\u00a0b\u3000c", "a\u00a0b\u3000c"),
        ("", ""),
    ],
)
def test_what_would_hide_or_reorder_text_is_made_visible(given: str, shown: str) -> None:
    assert clean(given) == shown


def test_characters_to_keep_stay() -> None:
    assert clean("a\nb\tc\x1b", keep="\n\t") == "a\nb\tc␛"


@given(st.text(st.characters(), max_size=40))
def test_clean_text_can_be_encoded_and_holds_no_control(given: str) -> None:
    shown = clean(given)
    shown.encode()
    assert not [c for c in shown if unicodedata.category(c) in {"Cc", "Cs", "Zl", "Zp"}]
    assert clean(shown) == shown


@given(st.text(max_size=30), st.integers(0, 30))
def test_shortened_text_keeps_its_ends_and_fits(given: str, length: int) -> None:
    short = shorten(given, length)
    assert len(short) == min(len(given), length)
    assert short == given or not short or (given.startswith(short.split("…")[0]) and "…" in short)
