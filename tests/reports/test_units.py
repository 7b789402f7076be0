import doctest
from decimal import Decimal
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tracelode.reports import units
from tracelode.reports.report import Unit
from tracelode.reports.units import column, plain, scale, show


def spaced(text: str) -> str:
    """The text with the narrow spaces between digits and before units."""
    return text.replace("_", "\u202f")


def test_the_examples_in_its_docstrings_run() -> None:
    assert doctest.testmod(units).failed == 0


@pytest.mark.parametrize(
    ("value", "unit", "shown"),
    [
        (0, "ns", "0_ns"),
        (999, "ns", "999_ns"),
        (999.4, "ns", "999_ns"),
        (999.6, "ns", "1.00_µs"),
        (1_000, "ns", "1.00_µs"),
        (12_345, "ns", "12.3_µs"),
        (123_456, "ns", "123_µs"),
        (999_400, "ns", "999_µs"),
        (999_600, "ns", "1.00_ms"),
        (99_960_000, "ns", "100_ms"),
        (3_725_000_000_000, "ns", "3_725_s"),
        (-1_500_000, "ns", "−1.50_ms"),
        (0.25, "ns", "0.250_ns"),
        (0, "bytes", "0_B"),
        (1024, "bytes", "1.00_KiB"),
        (1000, "bytes", "1_000_B"),
        (1536, "bytes", "1.50_KiB"),
        (80 * 2**30, "bytes", "80.0_GiB"),
        (5 * 2**50, "bytes", "5_120_TiB"),
        (1_234_567, "count", "1_234_567"),
        (2**63, "count", "9_223_372_036_854_775_808"),
        (12.345, "count", "12.3"),
        (1234.5, "count", "1_234"),
        (0, "share", "0.0_%"),
        (0.0004, "share", "<0.1_%"),
        (-0.0004, "share", ">−0.1_%"),
        (0.0005, "share", "0.1_%"),
        (0.1234, "share", "12.3_%"),
        (0.9999, "share", ">99.9_%"),
        (1, "share", "100.0_%"),
        (1.5, "share", "150.0_%"),
        (1.234, "ratio", "1.23"),
        (0.000123, "ratio", "0.000123"),
        (-0.0, "ratio", "0"),
        (1_234_567, "id", "1234567"),
        ("gemm", "text", "gemm"),
        ("gemm", "ns", "gemm"),
        (True, "count", "yes"),
        (False, "text", "no"),
        (None, "ns", "–"),
        (None, "text", "–"),
        (float("nan"), "share", "–"),
        (float("inf"), "ns", "∞"),
        (float("-inf"), "ratio", "−∞"),
        (np.int64(1500), "ns", "1.50_µs"),
        (np.float64("nan"), "ratio", "–"),
        (Decimal("1500"), "ns", "1.50_µs"),
    ],
)
def test_a_value_is_shown_in_the_unit_that_reads_best(value: Any, unit: Unit, shown: str) -> None:
    assert show(value, unit) == spaced(shown)


@pytest.mark.parametrize(
    ("values", "unit", "shared", "texts"),
    [
        ([1_500_000, 12_000_000, None], "ns", "ms", ["1.50", "12.00", "–"]),
        ([500, 1], "ns", "ns", ["500", "1"]),
        ([0, 2_000], "ns", "µs", ["0.00", "2.00"]),
        ([10_000, 5_000_000_000], "ns", "", ["10.0_µs", "5.00_s"]),
        ([2**20, 3 * 2**29], "bytes", "", ["1.00_MiB", "1.50_GiB"]),
        ([2**30, 3 * 2**29], "bytes", "GiB", ["1.00", "1.50"]),
        ([7, 1_000_000], "count", "", ["7", "1_000_000"]),
        ([0.5, 12.25], "count", "", ["0.500", "12.250"]),
        ([0.001, 0.5], "ratio", "", ["0.00100", "0.500"]),
        ([0.5, 0.00001, 1.0, float("inf")], "share", "%", ["50.0", "<0.1", "100.0", "∞"]),
        ([None, None], "ns", "", ["–", "–"]),
        ([0, 0], "ns", "", ["0_ns", "0_ns"]),
        ([], "ns", "", []),
        (["a", None], "text", "", ["a", "–"]),
        ([10_000, "?"], "ns", "µs", ["10.0", "?"]),
    ],
)
def test_a_column_shares_a_unit_and_its_decimals(values: list[Any], unit: Unit, shared: str, texts: list[str]) -> None:
    shown = column(values, unit)
    assert (shown.unit, list(shown.texts)) == (shared, [spaced(text) for text in texts])


def test_a_scale_fits_the_largest_value() -> None:
    assert [scale(largest, "ns")[1] for largest in (0, 1, 999, 1_000, 10**6, 10**9, 10**12)] == [
        "ns", "ns", "ns", "µs", "ms", "s", "s",
    ]  # fmt: skip
    assert scale(2**31, "bytes") == (2**30, "GiB")


def test_numbers_of_other_libraries_become_plain_and_stay_exact() -> None:
    assert [plain(v) for v in (np.int64(2**53 + 1), Decimal(2**70), Decimal("0.5"), np.float32(0.5), "x", None)] == [
        2**53 + 1, 2**70, 0.5, 0.5, "x", None,
    ]  # fmt: skip
    assert type(plain(np.int64(1))) is int


@given(st.integers(-(2**63), 2**63), st.sampled_from(["ns", "bytes"]))
def test_a_shown_value_is_within_half_a_percent_of_the_true_one(value: int, unit: Unit) -> None:
    number, suffix = show(value, unit).replace("−", "-").rsplit("\u202f", 1)
    factors = {
        "ns": 1,
        "µs": 10**3,
        "ms": 10**6,
        "s": 10**9,
        "B": 1,
        "KiB": 2**10,
        "MiB": 2**20,
        "GiB": 2**30,
        "TiB": 2**40,
    }
    read = float(number.replace("\u202f", "")) * factors[suffix]
    assert abs(read - value) <= abs(value) * 0.00501


@given(st.lists(st.one_of(st.none(), st.integers(-(10**15), 10**15)), max_size=8))
def test_a_column_says_as_many_texts_as_it_has_values_and_never_zero_for_something(values: list[int | None]) -> None:
    shown = column(values, "ns")
    assert len(shown.texts) == len(values)
    for value, text in zip(values, shown.texts, strict=True):
        assert not value or text.strip("−0.\u202fnsµm")
