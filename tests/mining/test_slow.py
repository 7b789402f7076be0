from pathlib import Path

from tests.mining.programs import timed
from tracelode.mining.slow import JUDGED
from tracelode.store import Trace


def _slow(trace: Trace) -> list[int]:
    return trace.sql(f"with {JUDGED} select iteration from judged where slow order by iteration")["iteration"].to_list()


def test_five_robust_deviations_and_five_percent_make_an_iteration_slow(tmp_path: Path) -> None:
    times = [1000, 1001, 1002, 1000, 1001, 1002, 1040, 1060]
    assert _slow(timed(tmp_path, [(time, 0, "steady") for time in times])) == [7]
    scattered = [900, 950, 1000, 1050, 1100, 1000, 1040, 1300]
    assert _slow(timed(tmp_path / "scattered", [(time, 0, "steady") for time in scattered])) == []


def test_an_iteration_is_compared_with_those_of_its_type(tmp_path: Path) -> None:
    short, long = [(1000, 0, "steady")] * 6, [(2000, 1, "steady")] * 6
    assert _slow(timed(tmp_path, [*short, *long, (1500, 0, "steady"), (2050, 1, "steady")])) == [12]


def test_types_with_few_iterations_are_compared_with_all(tmp_path: Path) -> None:
    usual = [(1000, 0, "steady")] * 8
    assert _slow(timed(tmp_path, [*usual, (1500, 1, "steady"), (1500, 1, "steady")])) == [8, 9]


def test_a_type_without_steady_iterations_is_judged_by_its_own(tmp_path: Path) -> None:
    other = [(3000, 1, "deviating")] * 6
    assert _slow(timed(tmp_path, [*[(1000, 0, "steady")] * 8, *other, (3500, 1, "deviating")])) == [14]


def test_only_steady_iterations_say_what_is_usual(tmp_path: Path) -> None:
    warm = [(3000, 0, "warm-up")] * 9
    assert _slow(timed(tmp_path, [*warm, *[(1000, 0, "steady")] * 6])) == list(range(9))


def test_without_a_steady_iteration_none_is_slow(tmp_path: Path) -> None:
    assert _slow(timed(tmp_path, [(1000, 0, "deviating"), (9000, 0, "deviating")])) == []
