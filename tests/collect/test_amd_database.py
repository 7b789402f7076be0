from typing import Any

import pyarrow as pa
import pyarrow.compute as pc
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tracelode.collect.amd_database import Lookup, told, where

IDS = st.one_of(
    st.lists(st.integers(0, 9), max_size=12),
    st.integers(-5, 5).flatmap(lambda first: st.integers(0, 9).map(lambda many: list(range(first, first + many)))),
)
ASKED = st.lists(st.one_of(st.none(), st.integers(-9, 19)), max_size=12)


@given(ids=IDS, asked=ASKED, again=ASKED)
def test_a_lookup_gives_the_first_row_of_each_id(
    ids: list[int], asked: list[int | None], again: list[int | None]
) -> None:
    texts = [f"row {at}" for at in range(len(ids))]
    lookup = Lookup(pa.table({"key": pa.array([*ids, None], pa.int64()), "text": [*texts, "nobody"]}), "key")
    first: dict[int | None, str] = dict(zip(reversed(ids), reversed(texts), strict=True))
    for wanted in (asked, again):
        values = pa.array(wanted, pa.int64())
        for _ in range(2):
            assert lookup.take(values, "text").to_pylist() == [first.get(id) for id in wanted]
    assert (len(lookup), lookup.doubled) == (len(ids), len(ids) - len(set(ids)))


@pytest.mark.parametrize(
    ("values", "said"),
    [
        (["", "{}", "[]", "x"], [None, None, None, "x"]),
        (["{}", "{}"], [None, None]),
        (["x", "x"], ["x", "x"]),
        ([0, 3, None], [None, 3, None]),
    ],
)
def test_values_that_say_nothing_are_null_also_among_repeated_ones(values: list[Any], said: list[Any]) -> None:
    assert told(pa.array(values)).to_pylist() == said
    encoded = told(pa.array(values).dictionary_encode())
    assert encoded.to_pylist() == said
    assert pa.types.is_dictionary(encoded.type)


def test_single_values_stay_when_rows_are_chosen() -> None:
    rows = {"a": pa.array([1, 2]), "kind": "mark"}
    assert where(pa.array([True, True]), rows) == rows
    chosen = where(pa.array([None, True]), rows)
    assert (chosen["a"].to_pylist(), chosen["kind"]) == ([2], "mark")
    assert not len(where(pc.equal(rows["a"], 3), rows)["a"])
