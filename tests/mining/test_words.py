import pytest

from tracelode.mining.words import percent, size


@pytest.mark.parametrize(
    ("part", "said"),
    [(0, "0.0 %"), (1, "<0.1 %"), (50, "0.1 %"), (99_949, "99.9 %"), (99_950, ">99.9 %"), (100_000, "100.0 %")],
)
def test_a_percentage_is_never_a_false_0_or_100(part: int, said: str) -> None:
    assert percent(part, 100_000) == said


def test_a_part_of_nothing_is_none() -> None:
    assert percent(0, 0) == "none"


@pytest.mark.parametrize(
    ("bytes_", "text"),
    [
        (0, "0 B"),
        (1023, "1023 B"),
        (1024, "1 KiB"),
        (1536, "1.5 KiB"),
        (1023 * 2**20, "1\u202f023 MiB"),
        (2**30, "1 GiB"),
        (-(2**31), "-2 GiB"),
    ],
)
def test_sizes_are_in_the_unit_that_reads_best(bytes_: int, text: str) -> None:
    assert size(bytes_) == text
