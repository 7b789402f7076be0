from collections import Counter
from typing import Any

import pyarrow as pa
import pytest

from tracelode.collect.nsys_values import declared, fitted

INT, REAL, TEXT, BINARY = pa.int64(), pa.float64(), pa.string(), pa.binary()


def read(array: pa.Array, kind: pa.DataType) -> tuple[list[Any], dict[str, int]]:
    counted: Counter[str] = Counter()

    def count(what: str, number: int) -> None:
        counted[what] += number

    found = fitted(array, kind, count)
    assert found.type == kind
    found.validate(full=True)
    return found.to_pylist(), dict(counted)


@pytest.mark.parametrize(
    ("array", "kind", "values", "counted"),
    [
        (pa.array([1, None, 255], pa.uint8()), INT, [1, None, 255], {}),
        (pa.array([1, 2**64 - 1], pa.uint64()), INT, [1, -1], {}),
        (pa.array([True, False]), INT, [1, 0], {}),
        (pa.array([2.0, 0.5, float("nan"), 1e300, None]), INT, [2, None, None, None, None], {"ill-typed": 3}),
        (pa.array(["7", "x", "9" * 30, None]), INT, [7, None, None, None], {"ill-typed": 2}),
        (pa.array([b"7", b"\xff"]), INT, [7, None], {"ill-typed": 1}),
        (pa.nulls(2), INT, [None, None], {}),
        (pa.array([1.5, float("inf")], pa.float32()), REAL, [1.5, None], {}),
        (pa.array([3, None]), REAL, [3.0, None], {}),
        (pa.array(["0.5", "x", "inf"]), REAL, [0.5, None, None], {"ill-typed": 2}),
        (pa.array(["a", None], pa.large_string()), TEXT, ["a", None], {}),
        (pa.array(["a", None], pa.string_view()), TEXT, ["a", None], {}),
        (pa.array(["a", "b", "a"]).dictionary_encode(), TEXT, ["a", "b", "a"], {}),
        (pa.array([b"a\xffb", b"c"]).view(pa.string()), TEXT, ["a\N{REPLACEMENT CHARACTER}b", "c"], {"bad-text": 1}),
        (pa.array([5, None]), TEXT, ["5", None], {}),
        (pa.array(["a"]), BINARY, [b"a"], {}),
        (pa.array([b"abcd"], pa.binary(4)), BINARY, [b"abcd"], {}),
    ],
)
def test_a_column_is_read_as_what_is_asked_for(
    array: pa.Array, kind: pa.DataType, values: list[Any], counted: dict[str, int]
) -> None:
    assert read(array, kind) == (values, counted)


def test_what_no_export_holds_has_no_type() -> None:
    others = (pa.list_(INT), pa.struct({"a": INT}), pa.timestamp("ns"), pa.decimal128(5), pa.map_(TEXT, INT))
    assert [declared(kind) for kind in others] == [None] * 5
    assert declared(pa.dictionary(pa.int8(), pa.large_string())) == TEXT
