"""JSON text gone through in a window gives what the json module gives for the whole."""

import json
import random
from collections.abc import Iterator
from contextlib import suppress
from decimal import Decimal
from typing import Any

import pytest

from tracelode.collect.json_walk import CutShortError, NotJsonError, Walk

TEXT = (
    '{"a": [1, -2.50, 1e3, true, null, "q\\"\\\\", "\\u00e9\\ud83d\\ude00 é\U0001f600"], "\\u0062" : {"c": [[], {}], '
    '"d": "]}"},\n\t"e": [], "f": {}, "g": [{"h": [{"i": "x\ty"}]}, 12], "j": NaN, '
    '"k": [0.1000,\r\n 18446744073709551616]}\n'
)
VALUE = json.loads(TEXT, strict=False, parse_float=Decimal, parse_constant=str)


def value_of(walk: Walk) -> Any:
    """The next value, put together from what is gone through."""
    if walk.opens(b"{"):
        return {name: value_of(walk) for name in walk.names()}
    if walk.opens(b"["):
        return [value for batch in walk.batches() for value in batch]
    return walk.take()


def whole(blocks: Iterator[bytes]) -> Any:
    walk = Walk(blocks)
    value = value_of(walk)
    walk.finish()
    return value


def test_a_text_cut_anywhere_into_blocks_gives_the_same_value() -> None:
    raw = TEXT.encode()
    assert whole(iter([raw])) == VALUE
    for cut in range(len(raw) + 1):
        assert whole(iter([raw[:cut], raw[cut:]])) == VALUE, cut
    for size in (1, 2, 3, 7):
        assert whole(iter([raw[at : at + size] for at in range(0, len(raw), size)])) == VALUE, size


def begins(part: Any, value: Any) -> bool:
    """Whether the part is what comes first in the value."""
    if isinstance(value, dict):
        names = [*value][: len(part)]
        open_ones = names[-1:]
        return [*part] == names and all(
            begins(part[name], value[name]) if name in open_ones else part[name] == value[name] for name in names
        )
    return part == (value[: len(part)] if isinstance(value, list) else value)


@pytest.mark.parametrize("size", [3, 1000])
def test_a_text_cut_short_gives_what_is_whole_where_that_may_be(size: int) -> None:
    raw, most = TEXT.encode(), 0
    for cut in range(1, len(raw.rstrip())):
        walk = Walk((raw[at : min(at + size, cut)] for at in range(0, cut, size)), mends=True)
        assert walk.opens(b"{")
        found: dict[str, Any] = {}
        with suppress(CutShortError):
            for name in walk.names():
                found[name] = value_of(walk)
        assert (walk.cut, walk.place) == (True, cut)
        walk.finish()
        assert begins(found, VALUE), cut
        most = max(most, len(found))
        with pytest.raises(NotJsonError) as fault:
            whole(iter([raw[:cut]]))
        assert not isinstance(fault.value, CutShortError)
    assert most == len(VALUE)


@pytest.mark.parametrize("text", ['[{"a": 1}, {"b": [2, 3]}, "c", []]', '{"a": [], "b": "c", "d": {}}'])
def test_a_missing_comma_is_put_in_where_that_may_be(text: str) -> None:
    commas = [at for at in range(len(text)) if text.startswith(", ", at) and text[at + 2] in '["{']
    assert len(commas) > 1
    for at in commas:
        changed = f"{text[:at]} {text[at + 1 :]}".encode()
        walk = Walk(iter([changed]), mends=True)
        assert value_of(walk) == json.loads(text)
        assert (walk.mended, walk.first_mended, walk.cut) == (1, at + 2, False)
        with pytest.raises(NotJsonError):
            whole(iter([changed]))
    with pytest.raises(NotJsonError):
        value_of(Walk(iter([b"[1 2]"]), mends=True))


def test_elements_come_as_they_stand_in_the_text() -> None:
    walk = Walk(iter([b'[ {"a": 1},{"b": "\\u0061"} ,', b"NaN, [2 ]]"]))
    assert walk.opens(b"[")
    found = [(run.text[a:b], odd) for run in walk.runs() for a, b, odd in run.spans.tolist()]
    assert found == [(b'{"a": 1}', 0), (b'{"b": "\\u0061"}', 0), (b"NaN", 1), (b"[2 ]", 0)]
    walk.finish()


def test_the_window_holds_no_more_than_a_few_blocks() -> None:
    block, held = 1 << 12, 0
    listed = b'{"list": [' + b",".join(b'{"number": %d}' % number for number in range(100_000)) + b"]}"
    walk = Walk(listed[at : at + block] for at in range(0, len(listed), block))
    assert walk.opens(b"{")
    count = 0
    for _ in walk.names():
        assert walk.opens(b"[")
        for batch in walk.batches():
            assert batch[0] == {"number": count}
            count, held = count + len(batch), max(held, walk.held)
    walk.finish()
    assert count == 100_000
    assert held <= 3 * block


@pytest.mark.parametrize("checks", [False, True])
def test_what_is_passed_over_is_behind(checks: bool) -> None:
    walk = Walk(iter([TEXT.encode()]), checks=checks)
    assert walk.opens(b"{")
    names: list[str] = []
    for name in walk.names():
        names.append(name)
        walk.pass_over()
    walk.finish()
    assert names == ["a", "b", "e", "f", "g", "j", "k"]


def test_a_fault_is_at_the_byte_where_the_json_module_sees_it() -> None:
    text = TEXT.encode().decode("ascii", errors="ignore")  # so that a character is a byte
    numbers = random.Random(5)
    cuts = [text[:cut] for cut in range(len(text.rstrip()))]
    flips = [text[:at] + numbers.choice('",:[]{}x1\\ ') + text[at + numbers.randrange(2) :] for at in range(len(text))]
    refused = 0
    for broken in cuts + flips:
        for size in (5, 1000):
            blocks = [broken[at : at + size].encode() for at in range(0, len(broken), size)]
            try:
                expected: Any = json.loads(broken, strict=False, parse_float=Decimal, parse_constant=str)
            except json.JSONDecodeError as error:
                refused += 1
                with pytest.raises(NotJsonError) as found:
                    whole(iter(blocks))
                assert found.value.offset == error.pos, (broken, size)
            else:
                assert whole(iter(blocks)) == expected
    assert refused > len(text)


def test_a_fault_behind_bytes_that_are_no_text_is_at_its_byte() -> None:
    walk = Walk(iter([b'["\xff\xe2\x82", x]']))
    with pytest.raises(NotJsonError) as found:
        value_of(walk)
    assert found.value.offset == 8


def test_bytes_that_are_no_text_are_the_replacement_character_and_told() -> None:
    walk = Walk(iter([b'["a\xff", "\xef\xbf\xbd"]']))
    assert value_of(walk) == ["a\ufffd", "\ufffd"]
    assert walk.invalid


def test_a_value_may_be_deeper_than_compiled_code_sees() -> None:
    deep = b"[" * 200 + b"1" + b"]" * 200
    walk = Walk(iter([b'{"a": [' + deep[:100], deep[100:] + b', 2], "b": ' + deep + b"}"]))
    assert value_of(walk) == {"a": [json.loads(deep), 2], "b": json.loads(deep)}


@pytest.mark.parametrize("value", ["[" * 100_000, "1" * 5000, "1e99999999999999999999"])
def test_what_python_cannot_read_is_refused_without_a_place(value: str) -> None:
    with pytest.raises(NotJsonError) as found:
        Walk(iter([f'{{"a": {value}}}'.encode()]), checks=True).pass_over()
    assert found.value.offset is None
