"""Loads JSON text exactly, and mends what profilers write that is not JSON.

Exactly: numbers with a fraction or an exponent become `Decimal`, integers keep all digits, and `text_of` writes them
back as they were. Mended are (seen in traces of PyTorch, Kineto and their users): control characters and raw line
breaks in strings, quotes and backslashes that are not escaped, bare `inf` and `nan`, invalid UTF-8, a bracket or a
comma too few or too many. A key given twice keeps both values.
"""

import json
import re
from bisect import bisect_left
from collections.abc import Iterable
from decimal import Decimal, InvalidOperation
from typing import Any

__all__ = ["FAULTS", "load", "loads", "text_of", "with_repeated"]

FAULTS = {
    "invalid-utf8": "bytes that are not UTF-8: each read as the replacement character",
    "control-character": "control characters or line breaks inside strings: kept",
    "non-finite": "numbers that are infinite or not a number: kept as text",
    "duplicate-key": "keys given twice in one object: the later value counts, the earlier is kept under `key (2)`",
    "mended": "JSON that is not well formed (a quote, backslash, bracket, comma or byte too few or too many): mended",
}
"""What `load` finds, and what it does about it."""

DEEPEST = 200
"""Values nested deeper than that are not read: reading and writing them takes a call each level."""

LONGEST_INTEGER = 4000
"""Digits of a whole number that becomes an integer: Python makes none of many more."""

LONGEST_MENDED = 1 << 20
"""Texts longer than that are not mended: so much damage holds more than one event."""

_KEY_FOLLOWS = r'\s*"(?:[^"\\]|\\.)*+"\s*:'
_ENDS_KEY = re.compile(r"\s*:")
_ENDS_MEMBER = re.compile(rf"\s*(?:,{_KEY_FOLLOWS}|\}}\s*(?:[,}}\]]|$)|,?\s*$)")
_ENDS_ITEM = re.compile(r'\s*(?:\]|,\s*["\d\-\[{tfnNI]|$)')
_NEXT_EVENT_MEMBER = re.compile(r'\s*,\s*"(?:ph|cat|name|pid|tid|ts|dur|id|args|bp|s)"\s*:')
_ESCAPE = re.compile(r'\\(["\\/bfnrt]|u[0-9a-fA-F]{4}|)')
_STRING_OR_NON_FINITE = re.compile(r'"(?:[^"\\]|\\.)*+"|-?\b(?:inf|nan)\b', re.IGNORECASE | re.DOTALL)
_STRING_OR_BRACKET = re.compile(r'"(?:[^"\\]|\\.)*+"|[\[\]{}]', re.DOTALL)
_BARE = re.compile(r"[A-Za-z0-9+\-.]+")
_NON_FINITE = {"inf": "Infinity", "infinity": "Infinity", "nan": "NaN"}
_CLOSER = {"{": "}", "[": "]"}
_ENCODER = json.JSONEncoder(ensure_ascii=False)


def load(raw: bytes) -> tuple[Any, set[str]]:
    """The value of JSON text and the faults it had; `ValueError` when it is beyond mending.

    Surrogates that are half of a character become the replacement character, so that every string can be written.
    """
    faults: set[str] = set()
    try:
        text = raw.decode()
    except UnicodeDecodeError:
        text = raw.decode(errors="replace")
        faults.add("invalid-utf8")
    if "\\ud" in text.lower():
        text = _whole_characters(text)
    if text.count("[") + text.count("{") > DEEPEST and _depth(text) > DEEPEST:
        raise ValueError("nested too deeply")
    for strict, finite in ((True, False), (True, True), (False, True)):
        try:
            value = _decode(_finite(text) if finite else text, faults, strict=strict)
        except RecursionError as error:  # brackets that seemed to stand in a string
            raise ValueError("nested too deeply") from error
        except ValueError:
            continue
        return value, faults if strict else faults | {"control-character"}
    try:
        value = _decode_mended(text, faults)
    except RecursionError as error:
        raise ValueError("nested too deeply") from error
    if _too_deep(value):  # brackets that seemed to stand in a string, until its missing quote was mended
        raise ValueError("nested too deeply")
    return value, faults | {"mended"}


def _too_deep(value: Any) -> bool:
    level: list[Any] = [value]
    for _ in range(DEEPEST):
        level = [inner for one in level if isinstance(one, dict | list) for inner in _members(one)]
    return bool(level)


def _members(value: dict[str, Any] | list[Any]) -> Iterable[Any]:
    return value.values() if isinstance(value, dict) else value


def with_repeated(members: list[tuple[str, Any]]) -> dict[str, Any]:
    """The object of those members, some of whose keys come again: of each the last value, the others as `key (2)`."""
    value, seen = dict(members), dict[str, int]()
    for key, item in reversed(members):
        seen[key] = seen.get(key, 0) + 1
        value.setdefault(key if seen[key] == 1 else f"{key} ({seen[key]})", item)
    return value


def loads(text: str) -> Any:
    """The value of JSON text that was written by `text_of`, or found to be well formed."""
    return _decode(text, set(), strict=False)


def text_of(value: Any) -> str:
    """The JSON text of a loaded value, its numbers as they were."""
    if isinstance(value, dict):
        return "{" + ", ".join(f"{_quoted(str(k))}: {text_of(v)}" for k, v in value.items()) + "}"
    if isinstance(value, list):
        return "[" + ", ".join(text_of(v) for v in value) + "]"
    return str(value) if isinstance(value, Decimal) else _quoted(value)


def _quoted(value: Any) -> str:
    return _ENCODER.encode(value)


def _decode(text: str, faults: set[str], *, strict: bool) -> Any:
    def pairs(members: list[tuple[str, Any]]) -> dict[str, Any]:
        value = dict(members)
        if len(value) < len(members):
            faults.add("duplicate-key")
            value = with_repeated(members)
        return value

    def constant(name: str) -> str:
        faults.add("non-finite")
        return name

    def fraction(digits: str) -> Decimal | str:
        try:
            return Decimal(digits)
        except InvalidOperation:  # an exponent beyond any decimal
            return constant(digits)

    decoder = json.JSONDecoder(
        strict=strict, parse_int=_integer, parse_float=fraction, parse_constant=constant, object_pairs_hook=pairs
    )
    return decoder.decode(text)


def _integer(digits: str) -> int | Decimal:
    return int(digits) if len(digits) <= LONGEST_INTEGER else Decimal(digits)


def _depth(text: str) -> int:
    depth = deepest = 0
    for c in _STRING_OR_BRACKET.findall(text):
        depth += (c in "[{") - (c in "]}")
        deepest = max(depth, deepest)
    return deepest


def _decode_mended(text: str, faults: set[str]) -> Any:
    """The value under the reading that gives no key twice: with a quote missing before an event's own key, or not."""
    if len(text) > LONGEST_MENDED:
        raise ValueError("too long to mend")
    for cut in (True, False):
        found: set[str] = set()
        try:
            value = _decode(_mend(text, cut=cut), found, strict=False)
        except ValueError:
            if not cut:
                raise
            continue
        if not cut or "duplicate-key" not in found:
            faults |= found
            return value
    raise AssertionError("unreachable: the second reading returns or raises")


def _whole_characters(text: str) -> str:
    """Replaces escaped surrogates that have no other half."""
    pair = re.compile(r"\\u(d[89ab][0-9a-f]{2})\\u(d[c-f][0-9a-f]{2})|(?<!\\)((?:\\\\)*)\\ud[89a-f][0-9a-f]{2}", re.I)
    return pair.sub(lambda found: found[0] if found[1] else f"{found[3] or ''}\\ufffd", text)


def _finite(text: str) -> str:
    """Spells `inf` and `nan` outside strings as the decoder knows them."""
    return _STRING_OR_NON_FINITE.sub(lambda found: found[0] if found[0][0] == '"' else _number(found[0]), text)


def _mend(text: str, *, cut: bool) -> str:
    """The text made well formed; `ValueError` when it holds more than one value. `cut`: see `_closing_quote`."""
    out: list[str] = []
    stack: list[str] = []
    cuts = [found.start() for found in _NEXT_EVENT_MEMBER.finditer(text)] if cut else []
    at = 0
    while at < len(text):
        c = text[at]
        if c == '"':
            begin, (end, at) = at + 1, _closing_quote(text, at + 1, stack, _last(out), cuts)
            out.append(f'"{_escaped(text[begin:end])}"')
            continue
        bare = _BARE.match(text, at)
        if bare:
            out.append(_number(bare[0]))
            at = bare.end()
            continue
        at += 1
        if c in _CLOSER:
            stack.append(c)
        elif c in "}]":
            _close(out, stack, c)
            if not stack:
                break
            continue
        out.append(c)
    if text[at:].strip(" \t\r\n,"):
        raise ValueError("more than one value")
    while stack:
        _drop_comma(out)
        out.append(_CLOSER[stack.pop()])
    return "".join(out)


def _close(out: list[str], stack: list[str], closer: str) -> None:
    if closer not in (_CLOSER[opener] for opener in stack):
        raise ValueError(f"{closer} closes nothing")
    _drop_comma(out)
    while stack:
        out.append(_CLOSER[stack.pop()])
        if out[-1] == closer:
            return


def _closing_quote(text: str, begin: int, stack: list[str], last: str, cuts: list[int]) -> tuple[int, int]:
    """Where the string ends and where the text goes on: the first quote after which it goes on as after a string.

    If no quote ends it earlier, it ends at the next of the `cuts`, before a comma and one of an event's own keys.
    """
    in_object = bool(stack) and stack[-1] == "{"
    ends = (_ENDS_KEY if last in ("{", ",") else _ENDS_MEMBER) if in_object else _ENDS_ITEM
    following = bisect_left(cuts, begin) if in_object else len(cuts)
    limit = cuts[following] if following < len(cuts) else len(text)
    at = text.find('"', begin, limit)
    while at >= 0:
        slashes = at
        while slashes > begin and text[slashes - 1] == "\\":
            slashes -= 1
        escaped = (at - slashes) % 2
        # A Windows path may end in a backslash: then the quote after it closes, if an event's own key follows.
        if (_NEXT_EVENT_MEMBER if escaped else ends).match(text, at + 1):
            return at, at + 1
        at = text.find('"', at + 1, limit)
    if limit == len(text):
        raise ValueError("a string does not end")
    return limit, limit


def _escaped(body: str) -> str:
    """The string with its quotes escaped; with one wrong escape in it, no backslash was meant as one."""
    if any(not found[1] for found in _ESCAPE.finditer(body)):
        body = _ESCAPE.sub(lambda found: found[0] if found[0] in ('\\"', "\\\\") else "\\" + found[0], body)
    return re.sub(r'(?<!\\)((?:\\\\)*)"', r'\1\\"', body)


def _number(bare: str) -> str:
    sign, name = ("-", bare[1:]) if bare[0] == "-" else ("", bare)
    name = _NON_FINITE.get(name.lower(), name)
    return "NaN" if name == "NaN" else sign + name


def _last(out: list[str]) -> str:
    return next((piece for piece in reversed(out) if not piece.isspace()), "")


def _drop_comma(out: list[str]) -> None:
    while out and (out[-1].isspace() or out[-1] == ","):
        out.pop()
