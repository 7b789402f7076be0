from decimal import Decimal
from typing import Any

import pytest

from tracelode.collect.rocprof_rows import End, arguments, copy_kind, copy_place, integer, label, nanoseconds


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
        (Decimal("1e9999999"), None),
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


CPU, OTHER_CPU, GPU, OTHER_GPU = End(0, gpu=False), End(1, gpu=False), End(4, gpu=True), End(5, gpu=True)


@pytest.mark.parametrize(
    ("kind", "source", "target", "place"),
    [
        ("HtoD", CPU, GPU, (4, None)),
        ("DtoH", GPU, CPU, (4, None)),
        ("DtoD", GPU, GPU, (4, None)),
        ("DtoD", GPU, OTHER_GPU, (5, 4)),
        ("PtoP", GPU, OTHER_GPU, (5, 4)),
        (None, GPU, CPU, (4, None)),
        (None, CPU, OTHER_CPU, (None, None)),
        ("HtoH", CPU, OTHER_CPU, (None, None)),
        ("HtoD", End(0), End(4), (4, None)),
        ("DtoH", End(4), End(0), (4, None)),
        ("DtoD", End(4), End(5), (5, 4)),
        ("HtoH", End(0), End(1), (None, None)),
        (None, End(4), End(5), (5, None)),
        ("DtoH", GPU, End(None), (4, None)),
        ("DtoD", End(4), End(None), (4, None)),
    ],
)
def test_a_copy_belongs_to_the_gpu_of_its_ends_and_else_to_the_one_it_goes_to(
    kind: str | None, source: End, target: End, place: tuple[int | None, int | None]
) -> None:
    assert copy_place(kind, source, target) == place
