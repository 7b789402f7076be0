import pytest

from tracelode.mining.kernel_changes import kernel_changes

BASE = [{"slow": 100.0 + at, "same": 50.0 + at % 2, "gone": 5.0} for at in range(5)]
NOW = [{"slow": 130.0 + at, "same": 50.0 + at % 2, "new": 9.0} for at in range(4)]


def test_only_kernels_that_differ_by_more_than_chance_are_told() -> None:
    found = kernel_changes(BASE, NOW)
    assert [(row["name"], row["changed"]) for row in found] == [
        ("slow", True), ("new", True), ("gone", True), ("same", False),
    ]  # fmt: skip
    slow = found[0]
    assert (slow["base_ns"], slow["ns"], slow["delta_ns"]) == (102.0, 131.5, 29.5)
    assert slow["change"] == pytest.approx(29.5 / 102)
    assert [row["change"] for row in found[1:3]] == [None, -1.0]


def test_one_bad_night_moves_no_side() -> None:
    bad = [*BASE[:4], {"slow": 900.0, "same": 400.0, "gone": 80.0}]
    found = {row["name"]: (row["base_ns"], row["ns"], row["delta_ns"]) for row in kernel_changes(bad, NOW)}
    assert found["slow"] == (102.0, 131.5, 29.5)
    assert found["same"] == (51.0, 50.5, -0.5)


def test_two_runs_on_a_side_are_too_few() -> None:
    assert kernel_changes(BASE, NOW[:2]) == []
    assert kernel_changes([], []) == []
