from decimal import Decimal
from typing import Any

import pytest

from tracelode.collect.rocprof_rows import arguments, copy_kind, integer, label, nanoseconds


@pytest.mark.parametrize(
    ("value", "wanted"),
    [
        (7, 7),
        ("7", 7),
        ("-7", -7),
        ("0x00ff", 255),
        ("", None),
        ("7.5", None),
        ("٣", None),
        (True, None),
        (None, None),
        (7.0, None),
        ("9" * 21, None),
    ],
)
def test_whole_numbers_are_taken_from_numbers_digits_and_hexadecimal(value: Any, wanted: int | None) -> None:
    assert integer(value) == wanted


@pytest.mark.parametrize(
    ("value", "wanted"),
    [
        ("8306017670485", 8306017670485000),
        ("1712195495505582.988", 1712195495505582988),
        ("0.0019", 1),
        (5, 5000),
        (Decimal("1712195495505582.988"), 1712195495505582988),
        (Decimal("1e999999"), None),
        (Decimal("NaN"), None),
        ("1e5", None),
        ([], None),
    ],
)
def test_microseconds_become_exact_nanoseconds(value: Any, wanted: int | None) -> None:
    assert nanoseconds(value) == wanted


def test_directions_are_told_from_the_names_of_all_releases() -> None:
    names = ("CopyHostToDevice", "MEMORY_COPY_DEVICE_TO_HOST", "DEVICE_TO_DEVICE", "CopyPeerToPeer", "hcCommandMarker")
    assert [copy_kind(name) for name in names] == ["HtoD", "DtoH", "DtoD", "PtoP", None]


def test_arguments_leave_out_what_says_nothing_and_keep_fractions_exact() -> None:
    assert arguments({"a": 0, "b": "", "c": "0", "d": [], "e": None}) is None
    assert arguments({"a": 0, "b": Decimal("0.10"), "c": "\ud800"}) == '{"b": 0.10, "c": "?"}'


def test_labels_are_texts_or_json() -> None:
    assert [label("x\udc00"), label(["a", 1]), label({"a": None})] == ["x?", '["a", 1]', '{"a": null}']
