import json
from decimal import Decimal
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tracelode.collect import jsonscan
from tracelode.collect.jsonscan import BAD, FULL, MORE, PADDING, Strings

patient = settings(deadline=None, max_examples=200)
"""The first example may have to wait for the compiler."""


def _buffer(text: bytes) -> Any:
    buf = np.full(len(text) + PADDING, ord('"'), np.uint8)
    buf[: len(text)] = np.frombuffer(text, np.uint8)
    return buf


def _strings(room: int = 64, arena: int = 1024) -> Strings:
    return Strings(
        slots=np.zeros(128, np.int32),
        hashes=np.empty(room, np.int64),
        starts=np.zeros(room + 1, np.int64),
        marks=np.empty(room, np.uint8),
        arena=np.empty(arena, np.uint8),
        used=np.zeros(2, np.int64),
    )


def _intern(strings: Strings, text: bytes) -> int:
    buf = _buffer(text + b'"')
    end, h, marks = jsonscan.read_string(buf, 0)
    return jsonscan.intern(strings, buf, 0, end, h, marks)


@patient
@given(st.text(max_size=60))
def test_a_string_ends_at_its_quote_and_says_what_it_holds(text: str) -> None:
    raw = json.dumps(text, ensure_ascii=False).encode("utf-8", "surrogatepass")
    end, _, marks = jsonscan.read_string(_buffer(raw), 1)
    assert end == len(raw) - 1
    assert marks == (jsonscan.ESCAPED if b"\\" in raw else 0) | (jsonscan.BEYOND_ASCII if not raw.isascii() else 0)


@patient
@given(st.binary(max_size=40).filter(lambda raw: b'"' not in raw and b"\\" not in raw), st.integers(0, 9))
def test_the_hash_of_a_string_does_not_depend_on_where_it_stands(raw: bytes, shift: int) -> None:
    here = jsonscan.read_string(_buffer(raw), 0)
    there = jsonscan.read_string(_buffer(b"x" * shift + raw + b'", more'), shift)
    assert there == (here[0] + shift, here[1], here[2])


@pytest.mark.parametrize("raw", [b"a\x01b", b"a\nb", b"\\q", b"\\u12g4", b"C:\\Users"])
def test_strings_that_json_does_not_allow_are_marked(raw: bytes) -> None:
    end, _, marks = jsonscan.read_string(_buffer(raw), 0)
    assert end == len(raw)
    assert marks & jsonscan.UNUSUAL_BYTES


@patient
@given(st.lists(st.binary(max_size=20).map(lambda raw: raw.replace(b'"', b"").replace(b"\\", b"")), max_size=30))
def test_equal_strings_have_one_id_and_different_ones_different_ids(texts: list[bytes]) -> None:
    strings = _strings()
    ids = [_intern(strings, text) for text in texts]
    assert dict(zip(texts, ids, strict=True)) == {text: ids[texts.index(text)] for text in texts}
    assert len(set(ids)) == len(set(texts)) == strings.used[0]
    held = [bytes(strings.arena[strings.starts[i] : strings.starts[i + 1]]) for i in ids]
    assert held == texts


def test_strings_with_equal_hashes_are_told_apart_by_their_bytes() -> None:
    strings = _strings()
    buf = _buffer(b"onetwo")
    assert [jsonscan.intern(strings, buf, begin, begin + 3, 5, 0) for begin in (0, 3, 0)] == [0, 1, 0]


def test_a_full_table_says_so_and_stays_as_it_is() -> None:
    strings = _strings(room=3, arena=64)
    assert [_intern(strings, text) for text in (b"a", b"b", b"c", b"a")] == [0, 1, FULL, 0]
    assert _intern(_strings(arena=16), b"x" * 10) == FULL


@patient
@given(st.integers(-(10**22), 10**22))
def test_integers_of_up_to_18_digits_are_read(number: int) -> None:
    text = str(number)
    end, value, ok = jsonscan.read_integer(_buffer(text.encode() + b","), 0)
    assert ok == (abs(number) < 10**18)
    if ok:
        assert (end, value) == (len(text), number)


@pytest.mark.parametrize("text", [b"1.0", b"1e3", b"007", b"-", b"x", b'"1"', b""])
def test_what_is_no_integer_is_not_read_as_one(text: bytes) -> None:
    assert not jsonscan.read_integer(_buffer(text + b","), 0)[2]


@patient
@given(st.decimals(-(10**15), 10**15, allow_nan=False, places=3), st.integers(0, 3))
def test_times_are_read_to_the_nanosecond(number: Decimal, places: int) -> None:
    text = f"{number:.{places}f}"
    end, value, ok = jsonscan.read_time(_buffer(text.encode() + b","), 0)
    assert (end, value, ok) == (len(text), int(Decimal(text) * 1000), True)


@pytest.mark.parametrize("text", [b"1.", b"1.0001", b"1e3", b"1.5E2", b".5", b"NaN", b"99999999999999999", b'"1"'])
def test_times_that_take_more_than_digits_are_left(text: bytes) -> None:
    assert not jsonscan.read_time(_buffer(text + b","), 0)[2]


VALUES = st.recursive(
    st.one_of(st.none(), st.booleans(), st.integers(), st.floats(allow_nan=False, allow_infinity=False), st.text()),
    lambda inner: st.one_of(st.lists(inner), st.dictionaries(st.text(), inner)),
    max_leaves=12,
)


@patient
@given(VALUES, st.sampled_from([None, 1]), st.booleans())
def test_a_value_ends_where_json_says(value: Any, indent: int | None, ascii_only: bool) -> None:
    text = json.dumps(value, indent=indent, ensure_ascii=ascii_only).encode("utf-8", "surrogatepass")
    assert jsonscan.skip_value(_buffer(text + b" ,"), 0, len(text) + 2) == (len(text), 0)


@patient
@given(VALUES, st.data())
def test_a_value_cut_short_asks_for_more(value: Any, data: st.DataObject) -> None:
    text = json.dumps([value]).encode()
    cut = data.draw(st.integers(0, len(text) - 1))
    assert jsonscan.skip_value(_buffer(text[:cut]), 0, cut)[0] == MORE


@patient
@given(st.text(alphabet='{}[]",:\\ 01e.-tfnaul\n', max_size=24))
def test_what_is_skipped_without_remark_is_json(text: str) -> None:
    """The other way round: whatever the scanner calls a good value, the decoder can read."""
    end, odd = jsonscan.skip_value(_buffer(text.encode() + b","), 0, len(text) + 1)
    if end >= 0 and not odd:
        json.loads(text[:end])


@pytest.mark.parametrize("text", [b"{]", b'{"a" 1}', b'{"a": 1,}', b"[1 2]", b"{1: 2}", b"[,]", b'"a" "b"'])
def test_what_is_not_json_has_no_end(text: bytes) -> None:
    content = b"[" + text + b"],"
    assert jsonscan.skip_value(_buffer(content), 0, len(content))[0] == BAD


@pytest.mark.parametrize("text", [b"NaN", b"-Infinity", b"inf", b"007", b"1.", b"+1", b"1e", b"foo"])
def test_numbers_and_names_json_does_not_know_are_odd_but_whole(text: bytes) -> None:
    assert jsonscan.skip_value(_buffer(text + b","), 0, len(text) + 1) == (len(text), 1)
