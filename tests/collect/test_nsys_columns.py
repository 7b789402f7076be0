import json
from typing import Any

import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tracelode.collect import nsys_columns
from tracelode.collect.nsys_columns import arguments, combinations, is_uniform, nonzero, plus, translated


def test_each_row_has_one_object_of_what_it_says() -> None:
    found = arguments(
        {
            "size": pa.array([1, None, 1, None]),
            "name": pa.array(["a", "b", "a", None]).dictionary_encode(),
            "share": pa.array([0.5, None, 0.5, None]),
            "data": pa.array([b"\x00\xff", b"0a", b"\x00\xff", None]),
            "silent": pa.nulls(4, pa.int64()),
        }
    )
    assert found is not None
    assert found.to_pylist() == [
        '{"size": 1, "name": "a", "share": 0.5, "data": "00ff"}',
        '{"name": "b", "data": "0a"}',
        '{"size": 1, "name": "a", "share": 0.5, "data": "00ff"}',
        None,
    ]
    assert len(found.dictionary) == 2


def test_rows_that_say_nothing_have_no_objects() -> None:
    assert arguments({"a": pa.nulls(3, pa.int64())}) is None
    assert arguments({}) is None


def test_a_number_that_json_cannot_write_is_a_text() -> None:
    found = arguments({"a": pa.array([float("inf"), 1.0])})
    assert found is not None
    assert [json.loads(text) for text in found.to_pylist()] == [{"a": "inf"}, {"a": 1.0}]


VALUES = st.one_of(st.none(), st.integers(-3, 3))


@given(rows=st.lists(st.tuples(VALUES, VALUES, VALUES), min_size=1, max_size=20), most=st.sampled_from([2**62, 4]))
def test_combinations_give_every_row_back(rows: list[tuple[Any, ...]], most: int) -> None:
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(nsys_columns, "MANY", most)
        indices, found = combinations([pa.array(column, pa.int64()) for column in zip(*rows, strict=True)])
    assert [found[at] for at in indices.to_pylist()] == rows


def test_combinations_of_numbers_far_apart_are_told_apart() -> None:
    columns = [
        pa.array([2**63 - 1, -(2**63), 0]),
        pa.array([2**62, 0, 0]),
        pa.array([-(2**31), 2**31 - 1, 0], pa.int32()),
    ]
    indices, found = combinations(columns)
    assert [found[at] for at in indices.to_pylist()] == list(zip(*(c.to_pylist() for c in columns), strict=True))
    assert combinations([pa.array([], pa.int64())])[1] == []


def test_texts_by_value_have_no_null_among_their_words() -> None:
    found = translated(pa.array([1, 2, 1, None, 3]), {1: "one", 3: "three"}.get)
    assert found.to_pylist() == ["one", None, "one", None, "three"]
    assert found.dictionary.to_pylist() == ["one", "three"]


def test_a_sum_with_a_missing_part_is_the_other_part() -> None:
    assert plus(pa.array([1, None, 3, None]), pa.array([10, 20, None, None])).to_pylist() == [11, 20, 3, None]


def test_zeros_and_empty_texts_say_nothing() -> None:
    assert nonzero(pa.array([0, 1, None])).to_pylist() == [None, 1, None]
    assert nonzero(pa.array(["", "a"])).to_pylist() == [None, "a"]
    assert nonzero(pa.array([0.0, 0.5])).to_pylist() == [None, 0.5]
    assert nonzero(pa.array([b"", b"x"])).to_pylist() == [b"", b"x"]
    assert nonzero(pa.array([0, 0])).to_pylist() == [None, None]
    assert nonzero(pa.array([0, 7, -1])).to_pylist() == [None, 7, -1]
    assert nonzero(pa.array([9, 0, 7, 0]).slice(1)).to_pylist() == [None, 7, None]
    assert nonzero(pa.array(["[]", "[]"])).to_pylist() == ["[]", "[]"]
    assert nonzero(pa.array(["", ""])).to_pylist() == [None, None]


TEXTS = st.lists(st.one_of(st.none(), st.sampled_from(["", "a", "b", "aa"])), max_size=6)
NUMBERS = st.lists(st.one_of(st.none(), st.integers(0, 2)), max_size=6)


@given(rows=st.one_of(TEXTS, NUMBERS), first=st.integers(0, 3))
def test_values_are_uniform_when_all_are_one_and_none_is_null(rows: list[Any], first: int) -> None:
    seen = rows[first:]
    for values in (pa.array(rows), pa.array(rows).dictionary_encode()):
        if not pa.types.is_null(values.type) and len(set(map(type, seen))) < 2:
            assert is_uniform(values.slice(first)) == (len(set(seen)) == 1 and seen[0] is not None)
