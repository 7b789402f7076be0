import struct
from typing import Any

import pytest

from tests.collect.protobuf_messages import fixed64, message, varint
from tracelode.collect.chakra_messages import attribute, list_text
from tracelode.collect.protobuf import MalformedError


def fixed32(number: int, value: int) -> bytes:
    return varint(number << 3 | 5) + value.to_bytes(4, "little")


def bits(form: str, value: float) -> int:
    return int.from_bytes(struct.pack(form, value), "little")


NAMED = message((1, "a"))


@pytest.mark.parametrize(
    ("content", "value"),
    [
        (NAMED, None),
        (NAMED + fixed64(3, bits("<d", 0.25)), 0.25),
        (NAMED + fixed64(3, bits("<d", float("nan"))), "nan"),
        (NAMED + fixed32(5, bits("<f", -1.5)), -1.5),
        (NAMED + message((7, -3)), -3),
        (NAMED + message((9, -(2**63))), -(2**63)),
        (NAMED + message((13, 2**64 - 1)), 2**64 - 1),
        (NAMED + message((17, 5)), -3),
        (NAMED + fixed32(19, 2**32 - 1), 2**32 - 1),
        (NAMED + fixed32(23, 2**32 - 1), -1),
        (NAMED + fixed64(25, 2**64 - 2), -2),
        (NAMED + message((27, 1)), True),
        (NAMED + message((29, "text")), "text"),
        (NAMED + message((31, b"\xff\x00")), "ff00"),
        (NAMED + message((31, b"\xff" * 65)), "65 bytes"),
        (NAMED + message((10, message((1, 4), (1, -1)))), [4, -1]),
        (NAMED + message((10, message((1, varint(4) + varint(300))))), [4, 300]),
        (NAMED + message((4, message((1, struct.pack("<dd", 0.5, 2.0))))), [0.5, 2.0]),
        (NAMED + message((28, message((1, b"\x01\x00")))), [True, False]),
        (NAMED + message((30, message((1, "x"), (1, "y")))), ["x", "y"]),
        (NAMED + message((30, b"")), []),
    ],
)
def test_an_attribute_of_any_type_has_its_value(content: bytes, value: Any) -> None:
    assert attribute(content) == ("a", value)


def test_a_list_that_is_no_whole_number_of_values_is_malformed() -> None:
    with pytest.raises(MalformedError):
        attribute(NAMED + message((4, message((1, b"\x00" * 9)))))


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("[]", "[]"),
        ("[[1, 2, 'cpu'], None, True]", '[[1, 2, "cpu"], null, true]'),
        ("['it\\'s', 'say \"hi\"', \"it's\"]", '["it\'s", "say \\"hi\\"", "it\'s"]'),
        ("['\\x41\\n']", '["A\\n"]'),
        ("[nan, -inf, 0.1000, 1e400]", '["nan", "-inf", 0.1000, 1E+400]'),
        ("['\\ud800']", '["\N{REPLACEMENT CHARACTER}"]'),
        ("[1, 2", '"[1, 2"'),
        ("<None>", '"<None>"'),
        ("__import__('os')", "\"__import__('os')\""),
    ],
)
def test_lists_as_python_shows_them_become_json(text: str, expected: str) -> None:
    assert list_text(text) == expected


def test_a_list_that_is_too_deep_or_too_long_stays_text() -> None:
    for text in ("[" * 5000 + "]" * 5000, "[" + "9" * 5000 + "]", "[1e" + "9" * 20 + "]"):
        assert list_text(text) == f'"{text}"'
