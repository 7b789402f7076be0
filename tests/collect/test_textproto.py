import struct
import tracemalloc
from collections.abc import Iterable
from itertools import chain

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.collect.protobuf_messages import fixed64, message
from tracelode.collect.perfetto_schema import PERFETTO
from tracelode.collect.text_window import decoded
from tracelode.collect.textproto import Schema, TextError, TextMessages

SCHEMA = Schema(
    {
        "Item": {
            "whole": (1, "int"),
            "text": (2, "text"),
            "inner": (3, "Item"),
            "kind": (4, "Color"),
            "on": (5, "bool"),
            "wide": (6, "fixed64"),
            "real": (7, "double"),
            "[a.b/c.d]": (100, "int"),
        }
    },
    {"Color": {"RED": 0, "BLUE": 7}},
)


def items(text: str) -> tuple[list[bytes], dict[str, int]]:
    """The encoded items, and what the schema has no place for."""
    return items_in((text,))


def items_in(pieces: Iterable[str]) -> tuple[list[bytes], dict[str, int]]:
    messages = TextMessages(pieces, SCHEMA)
    return list(messages.each("item", "Item")), dict(messages.unknown)


def outcome(pieces: Iterable[str]) -> object:
    """What the pieces give, or the line and the fault."""
    try:
        return items_in(pieces)
    except TextError as error:
        return str(error)


def real(value: float) -> bytes:
    return fixed64(7, int.from_bytes(struct.pack("<d", value), "little"))


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("", b""),
        ("whole: 5", message((1, 5))),
        ("whole: -5, whole: 0x1F; whole: 017", message((1, -5), (1, 31), (1, 15))),
        ("whole: 18446744073709551615", message((1, 2**64 - 1))),
        ("whole: [1, 2, 3]", message((1, 1), (1, 2), (1, 3))),
        ("whole: []", b""),
        ("text: 'a' \"b\" # comment\n 'c'", message((2, "abc"))),
        (r"text: 'it\'s \"q\" \\ \n\t\x41\101\u00e9\U0001F600'", message((2, 'it\'s "q" \\ \n\tAAé\N{GRINNING FACE}'))),
        ("text: '# no comment'", message((2, "# no comment"))),
        ("text: '\udcff'", message((2, b"\xff"))),
        ("inner { whole: 1 } inner: < text: 'x' >", message((3, message((1, 1))), (3, message((2, "x"))))),
        ("inner: [{ whole: 1 }, { }]", message((3, message((1, 1))), (3, b""))),
        ("kind: BLUE kind: 3", message((4, 7), (4, 3))),
        ("on: true on: f on: 1", message((5, 1), (5, 0), (5, 1))),
        ("wide: 258 wide: -1", fixed64(6, 258) + fixed64(6, 2**64 - 1)),
        ("real: 1.5 real: -2 real: .5f real: 1e3", real(1.5) + real(-2.0) + real(0.5) + real(1000.0)),
        ("real: inf real: -inf", real(float("inf")) + real(float("-inf"))),
        ("[a.b/c.d]: 3", message((100, 3))),
        ("text: 'late' whole: 1", message((1, 1), (2, "late"))),
    ],
)
def test_a_message_is_encoded_by_the_numbers_of_its_fields(text: str, expected: bytes) -> None:
    assert items(f"# head\nitem {{ {text} }}\n") == ([expected], {})


def test_what_the_schema_does_not_know_is_passed_over_and_counted_once() -> None:
    text = "other { whole: 1 } item { new { deep: [1, { x: 'y' }] } whole: 1 new: 2 [q.r] { a: 1 } } version: 3"
    assert items(text) == ([message((1, 1))], {"other": 1, "new": 2, "[q.r]": 1, "version": 1})


@pytest.mark.parametrize(
    "field",
    [
        "whole: 'x'", "whole: 1.5", "whole: 99999999999999999999", "whole: 8e1", "whole: 09", "whole { }",
        "whole: BLUE", "text: 5", "text: word", "kind: GREEN", "on: 2", "on: maybe", "inner: 5", "real: word",
        "wide: 1.5",
    ],
)  # fmt: skip
def test_a_value_that_its_field_cannot_have_is_counted(field: str) -> None:
    name = field.split(":")[0].split(" ")[0]
    assert items(f"item {{ {field} whole: 1 }}") == ([message((1, 1))], {f"{name} with a value it cannot have": 1})


@pytest.mark.parametrize(
    ("text", "line"),
    [
        ("item {\n whole: 1\n", 3),
        ("item {\n whole: }\n}", 2),
        ("item { text: 'a\n' }", 1),
        ("item {\n\n : 1 }", 3),
        ("item { whole: 1 ] }", 1),
        ("item { inner { whole: 1 > }", 1),
        ("item 5", 1),
        ("item { whole: 12abc }", 1),
        ("item { [a b]: 1 }", 1),
        ("item { " + "inner { " * 70, 1),
        ("}", 1),
        ("item { whole: --- }", 1),
        ("item { whole: @ }", 1),
    ],
)
def test_damage_is_told_with_its_line(text: str, line: int) -> None:
    with pytest.raises(TextError) as error:
        items(text)
    assert error.value.line == line


def test_minus_signs_without_end_are_an_error_and_no_overflow() -> None:
    with pytest.raises(TextError):
        items("item { whole: " + "-" * 100_000 + " }")


@settings(max_examples=200)
@given(st.text(alphabet="item {}<>[]:;,-#'\"\\ \n019.xabwholeinner", max_size=60))
def test_any_text_is_read_or_refused(text: str) -> None:
    try:
        items("item { " + text)
    except TextError as error:
        assert error.line <= text.count("\n") + 1


def test_the_schema_of_perfetto_knows_every_type_it_names() -> None:
    known = {"int", "bool", "fixed64", "double", "text", *PERFETTO.messages, *PERFETTO.enums}
    for fields in PERFETTO.messages.values():
        assert {kind for _, kind in fields.values()} <= known
        assert len({number for number, _ in fields.values()}) == len(fields)


SPLIT = """# é head {
item { whole: -12 wide: 0x1F real: -1.5e-3f text: 'a\\'é€' # why
  "b\\n" kind: BLUE [a.b/c.d] : 3 inner < new: [{ x: "#" }, 5] on: true >; } # end
item: { real: .5 }, other { y: 1 }"""


def test_a_text_split_at_any_byte_is_the_same_text() -> None:
    content = SPLIT.encode()
    expected, unknown = items(SPLIT)
    assert (len(expected), unknown) == (2, {"new": 1, "other": 1})
    for at in range(len(content) + 1):
        assert items_in(decoded((content[:at], content[at:]))) == (expected, unknown), at


@given(
    st.integers(0, len(SPLIT)),
    st.sampled_from(["", "}", "{", "[", '"', "'", "@", "1e", "12abc", "-", "\n", "\\", "#", "a b"]),
    st.integers(0, 9),
    st.integers(1, 20),
)
def test_a_damaged_text_in_pieces_is_told_as_in_one(at: int, junk: str, lost: int, length: int) -> None:
    text = SPLIT[:at] + junk + SPLIT[at + lost :]
    assert outcome(text[begin : begin + length] for begin in range(0, len(text), length)) == outcome((text,))


@pytest.mark.parametrize(("last", "line"), [("item { whole: 1 }", None), ("item { @ }", 301), ("item { '", 301)])
def test_of_a_long_text_no_more_than_a_message_is_held(last: str, line: int | None) -> None:
    lines = (f"item {{ text: '{'x' * 1000}' }} " * 10 + "\n" for _ in range(300))
    messages = TextMessages(chain(lines, (last,)), SCHEMA)
    taken, found = 0, None
    tracemalloc.start()
    try:
        for _ in messages.each("item", "Item"):
            taken += 1
    except TextError as error:
        found = error.line
    _, most = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert (taken, found) == (3000 + (line is None), line)
    assert most < 500_000
