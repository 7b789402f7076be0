from pathlib import Path

import pytest

from tests.mining.histories import DAY_NS, STEADY, entry, nights
from tracelode.mining.recorded import decisions, put_run
from tracelode.mining.series import Accept, Entry, Pin
from tracelode.reports.checks import exit_code
from tracelode.reports.report import Report, Table
from tracelode.reports.watch_decisions import accept, pin, unpin
from tracelode.reports.watching import check, found_series, history_of
from tracelode.store import Archive, Error

NOW = 40 * DAY_NS


def archive_of(folder: Path, entries: list[Entry]) -> tuple[Archive, str]:
    archive = Archive(folder)
    for one in entries:
        put_run(archive.history(), one)
    return archive, check(archive).checks[0].series


def logged(report: Report) -> list[tuple[str, str, str]]:
    section = next(one for one in report.sections if one.key == "decisions")
    (block,) = section.blocks
    assert isinstance(block, Table)
    return [(row["day"], row["what"], row["reason"]) for row in block.rows]


def test_a_change_is_accepted_from_its_first_run_on_and_kept_with_its_reason(tmp_path: Path) -> None:
    archive, series = archive_of(tmp_path, nights([*STEADY, *[110.0] * 9]))
    assert exit_code(check(archive).checks) == 3
    said = accept(archive, found_series(archive, series[:5]), reason="new tokenizer", now_ns=NOW)
    assert said == "accepted: iteration_p50_ns since night-11 (9 runs, enough to judge by)"
    assert decisions(archive.history()) == [Accept(series, {"iteration_p50_ns": 11 * DAY_NS}, "new tokenizer", NOW)]
    assert exit_code(check(archive).checks) == 0
    assert logged(history_of(archive, series)) == [("1970-02-10 00:00", "accepted", "new tokenizer")]


def test_a_baseline_can_begin_at_any_run(tmp_path: Path) -> None:
    archive, series = archive_of(tmp_path, nights(STEADY))
    assert accept(
        archive, found_series(archive, series), reason="cleaned the heat sink", now_ns=NOW, since="night-09"
    ) == ("accepted: iteration_p50_ns since night-09 (2 of the 9 runs that are needed; until then it is inconclusive)")
    assert exit_code(check(archive).checks) == 4


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"reason": "x"}, "shows no change"),
        ({"reason": "x", "metrics": ["kernels"]}, "kernels was not collected"),
        ({"reason": "x", "metrics": ["speed"]}, "there is no metric speed"),
        ({"reason": " ", "since": "night-02"}, "a change is accepted for a reason"),
        ({"reason": "x", "since": "night-99"}, "no run night-99 counts in it"),
    ],
)
def test_what_cannot_be_accepted_is_an_error_and_leaves_nothing(
    tmp_path: Path, options: dict[str, str], message: str
) -> None:
    archive, series = archive_of(tmp_path, nights(STEADY))
    with pytest.raises(Error, match=message):
        accept(archive, found_series(archive, series), now_ns=NOW, **options)  # type: ignore[arg-type]  # a test's table of options
    assert decisions(archive.history()) == []


def test_a_pinned_baseline_sees_what_creeps_until_it_is_unpinned(tmp_path: Path) -> None:
    creeping = nights([100 * 1.002**at for at in range(40)], first=11)
    archive, series = archive_of(tmp_path, nights(STEADY))
    assert (
        pin(archive, found_series(archive, series), reason="release 1.0", now_ns=NOW)
        == "pinned: iteration_p50_ns to 9 runs"
    )
    for one in creeping:
        put_run(archive.history(), one)
    assert exit_code(check(archive).checks) == 3
    assert "pinned runs" in check(archive).checks[0].sentence
    assert unpin(archive, found_series(archive, series), reason="", now_ns=NOW + 1) == "unpinned: iteration_p50_ns"
    assert exit_code(check(archive).checks) == 0
    assert [what for _, what, _ in logged(check(archive))] == ["unpinned", "pinned"]
    with pytest.raises(Error, match=f"no baseline of series {series} is pinned") as raised:
        unpin(archive, found_series(archive, series), reason="", now_ns=NOW + 2)
    assert raised.value.hint == f"see what is: tracelode watch list --archive {tmp_path}"


def test_accepting_says_that_it_ends_a_pin(tmp_path: Path) -> None:
    archive, series = archive_of(tmp_path, nights(STEADY))
    pin(archive, found_series(archive, series), reason="", now_ns=NOW)
    assert accept(archive, found_series(archive, series), reason="new node", now_ns=NOW + 1, since="night-01") == (
        "accepted: iteration_p50_ns since night-01 (10 runs, enough to judge by); no longer pinned: iteration_p50_ns"
    )
    assert "pinned" not in accept(
        archive, found_series(archive, series), reason="again", now_ns=NOW + 2, since="night-01"
    )


def test_a_decision_without_a_reason_is_told_without_one(tmp_path: Path) -> None:
    archive, series = archive_of(tmp_path, nights(STEADY))
    pin(archive, found_series(archive, series), reason=" ", now_ns=NOW)
    section = next(one for one in check(archive).sections if one.key == "decisions")
    assert section.sentence == "1 decision; the last: pinned."


def test_too_few_runs_are_no_baseline_to_pin(tmp_path: Path) -> None:
    archive, series = archive_of(tmp_path, nights(STEADY[:8]))
    with pytest.raises(Error, match="no baseline of 8 runs to pin"):
        pin(archive, found_series(archive, series), reason="", now_ns=NOW)
    assert decisions(archive.history()) == []


def test_only_the_metrics_that_are_named_are_pinned(tmp_path: Path) -> None:
    both = [entry(at, {"iteration_p50_ns": 100e6, "kernels": 5}) for at in range(1, 11)]
    archive, series = archive_of(tmp_path, both)
    assert (
        pin(archive, found_series(archive, series), reason="", now_ns=NOW, metrics=["kernels"])
        == "pinned: kernels to 9 runs"
    )
    (told,) = decisions(archive.history())
    assert isinstance(told, Pin)
    assert list(told.runs) == ["kernels"]
