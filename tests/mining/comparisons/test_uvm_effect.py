"""P59: a run before and one after; nothing is claimed without both."""

from pathlib import Path
from typing import Any

from tests.building import build
from tests.mining.managed_made import BASE, fault
from tracelode.mining.mine import compare
from tracelode.store import Archive, Trace


def _run(folder: Path, *, stall: int, gap: int, swing: int = 1, faults: bool = True) -> tuple[Trace, Archive]:
    """Iterations of two kernels of 100 ns; a fault from before the first on is serviced for `stall` ns of it."""
    step, times = 300 + gap, 12
    kernels: list[dict[str, Any]] = []
    found: list[dict[str, Any]] = []
    for at in range(times):
        for place, name in enumerate("ab"):
            start = 1000 + step * at + 150 * place
            kernels.append({"start_ns": start, "end_ns": start + 100, "name": name, "correlation": 2 * at + place})
        found.append(fault(999 + step * at, 1000 + step * at + stall + swing * (at % 2), BASE))
    calls = [{"start_ns": at, "end_ns": at + 1, "correlation": at} for at in range(2 * times)]
    folder.mkdir()
    return build(folder, kernel=kernels, api=calls, **({"fault": found} if faults else {}))


def _effect(before: tuple[Trace, Archive], after: tuple[Trace, Archive]) -> Any:
    return compare(before, after, "uvm_effect")


def test_what_lies_beyond_the_spread_of_both_runs_is_less(tmp_path: Path) -> None:
    before, after = _run(tmp_path / "a", stall=80, gap=100), _run(tmp_path / "b", stall=20, gap=0)
    found = _effect(before, after)
    told = {row["metric"]: row for row in found.rows.to_dicts()}
    stall = told["stall"]
    # 12 iterations of 80 or 81 ns, then of 20 or 21.
    assert (stall["before"], stall["after"], stall["delta"]) == (12 * 80 + 6, 12 * 20 + 6, -12 * 60)
    assert (stall["before_values"], stall["after_values"], stall["verdict"]) == (1, 1, "one value each")
    each = told["stall of an iteration"]
    assert (each["before"], each["after"], each["verdict"]) == (80.5, 20.5, "less")
    assert each["before_values"] >= 10
    assert (each["before_low"], each["before_high"]) == (80, 81)
    step = told["time of an iteration"]
    assert (step["delta"], step["verdict"]) == (-100, "less")
    assert found.sentence.startswith(
        "Stall 966 ns before, 246 ns after (-74.5 %), one value each; time of an iteration "
    )


def test_without_faults_in_one_of_the_runs_nothing_is_claimed_of_the_stall(tmp_path: Path) -> None:
    before, after = _run(tmp_path / "a", stall=80, gap=100), _run(tmp_path / "b", stall=20, gap=0, faults=False)
    found = _effect(before, after)
    told = {row["metric"]: row for row in found.rows.to_dicts()}
    for name in ("stall", "stall of an iteration", "fault groups of devices"):
        assert (told[name]["delta"], told[name]["verdict"]) == (None, "not collected")
    assert "the stall was not collected in both runs, so nothing is claimed of it" in found.sentence.lower()
    assert told["moved to devices"]["verdict"] == "not collected"


def test_two_runs_alike_lie_within_the_spread_and_the_sql_gives_the_rows(tmp_path: Path) -> None:
    before = _run(tmp_path / "a", stall=80, gap=100)
    found = _effect(before, before)
    told = {row["metric"]: row for row in found.rows.to_dicts()}
    assert told["stall of an iteration"]["verdict"] == "within the spread"
    assert told["time of an iteration"]["delta"] == 0
    assert before[1].open(before[0].id).sql(found.sql).equals(found.rows)


def test_a_lower_median_within_the_spread_is_no_claim(tmp_path: Path) -> None:
    # 80 or 81 ns before; 20 or 81 after: the median falls by 30 ns, but every other iteration is as before.
    before, after = _run(tmp_path / "a", stall=80, gap=100), _run(tmp_path / "b", stall=20, gap=100, swing=61)
    told = {row["metric"]: row for row in _effect(before, after).rows.to_dicts()}
    assert (told["stall of an iteration"]["delta"], told["stall of an iteration"]["verdict"]) == (
        -30,
        "within the spread",
    )
