import pytest

from tracelode.mining.words import percent


@pytest.mark.parametrize(
    ("part", "said"),
    [(0, "0.0 %"), (1, "<0.1 %"), (50, "0.1 %"), (99_949, "99.9 %"), (99_950, ">99.9 %"), (100_000, "100.0 %")],
)
def test_a_percentage_is_never_a_false_0_or_100(part: int, said: str) -> None:
    assert percent(part, 100_000) == said


def test_a_part_of_nothing_is_none() -> None:
    assert percent(0, 0) == "none"
