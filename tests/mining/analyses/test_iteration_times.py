from pathlib import Path

from tests.mining.programs import timed
from tracelode.mining.analyses.iteration_times import find

SHORT = [(10_000 + at, 0, "steady") for at in range(9)]
LONG = [(20_000 + at, 1, "steady") for at in range(6)]
UNLIKE = "The iterations differ too much among themselves for one to stand out."


def test_count_median_range_and_slow_iterations_are_told(tmp_path: Path) -> None:
    found = find(timed(tmp_path, [*SHORT, (15_000, 0, "steady")]))
    assert found.sentence == "10 iterations, 10 µs in the median (10 µs to 15 µs), 1 slow: 9 (communication +0 ns)."
    assert found.rows.select("iteration", "duration_ns", "median_ns", "mark").rows()[-1] == (
        9,
        15_000,
        10_004.5,
        "slow",
    )
    assert found.notes == ()


def test_the_medians_of_processes_are_those_of_all_their_iterations(tmp_path: Path) -> None:
    found = find(timed(tmp_path, [*LONG, *SHORT], SHORT))
    assert found.sentence == "2 processes: 24 iterations in all, medians from 10 µs to 10 µs, none slow."


def test_iterations_of_different_types_do_not_differ_too_much(tmp_path: Path) -> None:
    assert find(timed(tmp_path, [*LONG, *SHORT])).notes == ()


def test_iterations_that_differ_much_without_one_that_stands_out_are_noted(tmp_path: Path) -> None:
    scattered = [(10_000 + 500 * at, 0, "steady") for at in range(9)]
    assert find(timed(tmp_path / "one", scattered)).notes == (UNLIKE,)
    among = "The iterations of process 2 differ too much among themselves for one to stand out."
    assert find(timed(tmp_path / "two", SHORT, scattered)).notes == (among,)


def test_without_a_steady_iteration_there_is_no_median(tmp_path: Path) -> None:
    warm = [(10_000, 0, "warm-up"), (30_000, 0, "warm-up")]
    told = {
        "one": ([warm], "2 iterations, none of them steady (10 µs to 30 µs), none slow."),
        "some": ([warm, SHORT], "2 processes: 11 iterations in all, medians from 10 µs to 10 µs, none slow."),
        "none": ([warm, warm], "2 processes: 4 iterations in all, none of them steady, none slow."),
    }
    assert {name: find(timed(tmp_path / name, *given)).sentence for name, (given, _) in told.items()} == {
        name: sentence for name, (_, sentence) in told.items()
    }


def test_without_iterations_none_is_said_to_last(tmp_path: Path) -> None:
    assert find(timed(tmp_path)).sentence == "No iterations were found in this trace."
