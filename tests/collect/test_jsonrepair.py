import json
from decimal import Decimal
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tracelode.collect.jsonrepair import FAULTS, load, loads, text_of

VALUES = st.recursive(
    st.one_of(
        st.none(),
        st.booleans(),
        st.integers(-(10**30), 10**30),
        st.decimals(allow_nan=False, allow_infinity=False),
        st.text(st.characters(codec="utf-8")),
    ),
    lambda inner: st.one_of(st.lists(inner, max_size=4), st.dictionaries(st.text(st.characters(codec="utf-8")), inner)),
    max_leaves=10,
)


@given(VALUES)
def test_what_is_written_is_read_back_number_by_number(value: Any) -> None:
    again, faults = load(text_of(value).encode())
    assert (again, faults) == (value, set())
    assert text_of(again) == text_of(value)


def test_numbers_keep_their_digits() -> None:
    text = "[1712195495505582.988, 0.10, 12345678901234567890123, 1E+2, -0.0]"
    value, _ = load(text.encode())
    assert text_of(value) == text
    assert value[0] == Decimal("1712195495505582.988")


def test_numbers_longer_than_python_reads_keep_their_digits() -> None:
    text = f'{{"a": {"9" * 5000}, "b": -1{"0" * 4300}}}'
    value, faults = load(text.encode())
    assert (text_of(value), faults) == (text, set())
    assert text_of(loads(text)) == text


@pytest.mark.parametrize(
    ("raw", "value", "fault"),
    [
        (b'{"a": "x\ny\x01"}', {"a": "x\ny\x01"}, "control-character"),
        (b'{"a": "caf\xe9"}', {"a": "caf\ufffd"}, "invalid-utf8"),
        (b'{"a": inf, "b": -Infinity, "c": nan}', {"a": "Infinity", "b": "-Infinity", "c": "NaN"}, "non-finite"),
        (b"[1e99999999999999999999]", ["1e99999999999999999999"], "non-finite"),
        (b'{"a": 1, "a": 2, "a": 3}', {"a": 3, "a (2)": 2, "a (3)": 1}, "duplicate-key"),
        (b'{"name": "say "hi" now", "ph": "X"}', {"name": 'say "hi" now', "ph": "X"}, "mended"),
        (b'{"name": "f("a", "b")", "ph": "X"}', {"name": 'f("a", "b")', "ph": "X"}, "mended"),
        (rb'{"name": "C:\Users\new", "ph": "X"}', {"name": r"C:\Users\new", "ph": "X"}, "mended"),
        (rb'{"name": "C:\dir\", "ph": "X"}', {"name": "C:\\dir\\", "ph": "X"}, "mended"),
        (b'{"pid": "CPU functions, "id": 3, "cat": "x"}', {"pid": "CPU functions", "id": 3, "cat": "x"}, "mended"),
        (b'{"name": "{"a": 1, "name": 2}", "ph": "X"}', {"name": '{"a": 1, "name": 2}', "ph": "X"}, "mended"),
        (b'{"ph": "X", "args": {"a": [1, 2},', {"ph": "X", "args": {"a": [1, 2]}}, "mended"),
        (b'{"a": [1, 2,], }', {"a": [1, 2]}, "mended"),
        (rb'{"a": "\ud800 \ud83d\ude00 \\ud800"}', {"a": "\ufffd \U0001f600 \\ud800"}, None),
    ],
)
def test_what_profilers_write_wrong_is_mended(raw: bytes, value: Any, fault: str | None) -> None:
    assert load(raw) == (value, {fault} if fault else set())
    assert fault is None or fault in FAULTS


@pytest.mark.parametrize(
    "raw",
    [b"", b"{", b'{"a" 1}', b"{]", b'{"a": 1} {"b": 2}', b'"a', b"[" * 200_000, b'{"a": b}'],
)
def test_what_is_beyond_mending_is_an_error(raw: bytes) -> None:
    if raw == b"{":
        assert load(raw) == ({}, {"mended"})
        return
    with pytest.raises(ValueError):
        load(raw)


def test_values_are_read_up_to_a_depth() -> None:
    assert load(b"[" * 200 + b"]" * 200)[1] == set()
    for raw in (b"[" * 201 + b"]" * 201, b'{"a":' * 5000 + b"1" + b"}" * 5000):
        with pytest.raises(ValueError, match="nested too deeply"):
            load(raw)


@given(st.binary(max_size=60))
def test_any_bytes_give_a_value_that_can_be_written_or_an_error(raw: bytes) -> None:
    try:
        value, _ = load(raw)
    except ValueError:
        return
    json.loads(text_of(value).encode())


@given(st.text(alphabet='{}[]",:\\ 01.eE-nftabcpu\n', max_size=40))
def test_text_that_is_almost_json_gives_a_value_or_an_error(text: str) -> None:
    try:
        value, _ = load(text.encode())
    except ValueError:
        return
    json.loads(text_of(value))
