import os
import shutil
from pathlib import Path

import duckdb
import pytest

from tests.made_runs import add, operations
from tests.mining.histories import STEADY, entry, nights
from tracelode.collect.ingest import read
from tracelode.mining.recorded import put_run
from tracelode.mining.series import Entry
from tracelode.reports.checks import exit_code
from tracelode.reports.rank_group import Unread
from tracelode.reports.report import Chart, Report, Table
from tracelode.reports.watching import check, found_series, history_of, known_series, record, record_run
from tracelode.store import Archive, ArchiveError, Error, Facts
from tracelode.store.history import Damage

SAMPLES = Path(__file__).parents[2] / "data" / "samples"
SPACE = "\u202f"


def archive_of(folder: Path, entries: list[Entry]) -> Archive:
    archive = Archive(folder)
    for one in entries:
        put_run(archive.history(), one)
    return archive


def table(report: Report, caption: str) -> Table:
    blocks = [block for section in report.sections for block in section.blocks]
    return next(block for block in blocks if isinstance(block, Table) and block.caption.startswith(caption))


def test_new_runs_are_measured_once(tmp_path: Path) -> None:
    archive = Archive(tmp_path)
    for night in (1, 2):
        add(archive, f"night-{night}", operations(12), facts=Facts("kineto", base_unix_ns=night * 10**18))
    found = record(archive)
    assert (found.measured, found.failed) == (("night-1", "night-2"), ())
    assert record(archive).measured == ()
    report = check(archive)
    assert report.checks
    assert {one.verdict for one in report.checks} == {"inconclusive"}
    assert exit_code(report.checks) == 4
    shutil.rmtree(tmp_path / "history")
    assert record(archive, ["night-2"]).measured == ("night-2",)


def test_a_run_is_measured_from_what_the_archive_remembers_of_it(tmp_path: Path) -> None:
    archive = Archive(tmp_path)
    add(archive, "night-1", operations(12))
    members = archive.memberships()
    assert record_run(archive, "night-1", members)
    assert not record_run(archive, "night-1", members)
    report = check(archive)
    (series,) = {one.series for one in report.checks}
    assert f"order not sure: 1 run of series {series} stand where their files' times put them" in report.health


def test_a_trace_that_belongs_to_no_run_is_one(tmp_path: Path) -> None:
    archive = Archive(tmp_path)
    read(SAMPLES / "history" / "night-01.json.gz", archive)
    assert record(archive).measured == ("night-01.json.gz",)


def test_a_run_that_was_written_over_counts_once_with_its_newest_content(tmp_path: Path) -> None:
    archive, file = Archive(tmp_path / "archive"), tmp_path / "last.json.gz"
    for night in ("01", "02"):
        shutil.copy(SAMPLES / "history" / f"night-{night}.json.gz", file)
        os.utime(file, (int(night), int(night)))
        read(file, archive, run="last")
        assert record(archive).measured == ("last",)
    (series,) = known_series(archive, damage={})
    assert [set(entry.run.traces) for entry in series.entries] == [{one.trace_id for one in archive.memberships()}]


def test_a_run_that_cannot_be_measured_stops_no_other_and_is_told(tmp_path: Path) -> None:
    archive = Archive(tmp_path)
    bad = add(archive, "night-1", operations(12))
    add(archive, "night-2", operations(12))
    (tmp_path / "traces" / bad.id / "kernel.parquet").unlink()
    found = record(archive)
    assert found.measured == ("night-2",)
    assert [one.name for one in found.failed] == ["night-1"]
    assert [
        line for line in check(archive, unmeasured=found.failed).health if line.startswith("not measured: night-1: ")
    ]


def test_nothing_to_check_is_no_pass(tmp_path: Path) -> None:
    report = check(Archive(tmp_path))
    (one,) = report.checks
    assert (one.series, one.metric, one.value, one.verdict, exit_code(report.checks)) == (
        "none", "runs", 0, "inconclusive", 4,
    )  # fmt: skip
    assert one.sentence == "Inconclusive: nothing was checked, the archive has no run."
    assert report.title == "Check of 0 metrics of 0 series"
    short = entry(1, {}, excluded="3 steady iterations, fewer than 5")
    report = check(archive_of(tmp_path, [short]))
    assert exit_code(report.checks) == 4
    assert "does not count: night-01: 3 steady iterations, fewer than 5" in report.health
    assert [(one.metric, one.value) for one in report.checks] == [("runs", 0)]
    assert report.checks[0].sentence == (
        "Inconclusive: no run of this series counts; the last, night-01: 3 steady iterations, fewer than 5."
    )


def test_what_ran_on_no_device_is_nothing_to_watch(tmp_path: Path) -> None:
    snapshot = entry(20, {}, excluded="no steady iterations were found", ranks="0", gpu="not recorded")
    report = check(archive_of(tmp_path, [*nights(STEADY), snapshot]))
    assert exit_code(report.checks) == 0
    assert "not checked: nothing ran on a device in 1 run" in report.health
    alone = check(archive_of(tmp_path / "alone", [snapshot]))
    assert [one.sentence for one in alone.checks] == [
        "Inconclusive: nothing was checked, of its runs none did anything on a device."
    ]


def test_a_series_of_which_no_run_counts_is_no_pass_and_replaces_none(tmp_path: Path) -> None:
    broken = [entry(20 + at, {}, excluded="events are missing: lost-events", driver="2") for at in range(4)]
    report = check(archive_of(tmp_path, [*nights(STEADY, driver="1"), *broken]))
    assert sorted(one.verdict for one in report.checks) == ["inconclusive", "neutral"]


def test_a_confirmed_regression_says_since_when_and_what_to_do(tmp_path: Path) -> None:
    archive = archive_of(tmp_path, nights([*STEADY, 110, 111, 109]))
    report = check(archive)
    (one,) = report.checks
    assert one.verdict == "regression"
    assert one.sentence == (
        f"In 3 runs since night-11 (1970-01-12): 110{SPACE}ms against 100{SPACE}ms (+10.0{SPACE}%), "
        f"the median of 10 runs; limits 97.0{SPACE}ms to 103{SPACE}ms. "
        f"If it is meant to be so: tracelode watch accept {one.series} --archive {tmp_path} --reason WHY."
    )
    assert (one.value, one.baseline, one.low, one.high) == (110e6, 100e6, 97e6, 103e6)
    assert exit_code(report.checks) == 3


@pytest.mark.parametrize(
    ("last", "said"),
    [
        ([110.0], "Inconclusive: seen in 1 run, to be confirmed. "),
        ([110.0, 110], "Inconclusive: seen in 2 runs, to be confirmed. "),
        ([110.0, 110, 110, 100], "Inconclusive: after 3 runs beyond the limits, the last ones are within. "),
    ],
)
def test_an_undecided_change_says_what_to_run(tmp_path: Path, last: list[float], said: str) -> None:
    report = check(archive_of(tmp_path, nights([*STEADY, *last])))
    needed = {1: "2 more runs", 2: "1 more run", 4: "2 more runs"}[len(last)]
    assert report.checks[0].sentence.startswith(said)
    assert report.checks[0].sentence.endswith(f"Make {needed}, then tracelode watch check --archive {tmp_path}.")
    assert report.verdict.endswith(f"To decide: {needed.replace(' more', '')} of series {report.checks[0].series}.")


def test_too_few_runs_say_how_many_are_needed(tmp_path: Path) -> None:
    report = check(archive_of(tmp_path, nights(STEADY[:3])))
    assert report.checks[0].sentence == (
        "Inconclusive: 3 of the 9 runs that are needed. Make 6 more runs of this series (what it runs on: "
        f"tracelode watch list --archive {tmp_path})."
    )


def test_a_replaced_series_is_told_of_and_checked_when_it_is_named(tmp_path: Path) -> None:
    old, new = nights([*STEADY, 110], driver="1"), nights(STEADY, first=20, driver="2")
    archive = archive_of(tmp_path, [*old, *new])
    report = check(archive)
    assert exit_code(report.checks) == 0
    left = next(line for line in report.health if line.startswith("not checked"))
    assert left.endswith("(driver 1 → 2); it was left inconclusive")
    before = left.split()[3].rstrip(",")
    assert exit_code(check(archive, series=before[:6]).checks) == 4


def test_a_series_that_is_not_there_is_an_error(tmp_path: Path) -> None:
    archive = archive_of(tmp_path, nights(STEADY))
    with pytest.raises(Error, match="no series begins with zz") as raised:
        check(archive, series="zz")
    assert raised.value.hint.startswith("there are: ")
    with pytest.raises(Error, match="2 series begin with"):
        found_series(archive_of(tmp_path, nights(STEADY, first=20, driver="2")), "")


def test_kernels_explain_a_change(tmp_path: Path) -> None:
    entries = [
        entry(
            night,
            {"iteration_p50_ns": value * 1e6},
            kernels={"gemm": value * 0.6e6 + night * 100, "steady": 4e6 + night % 3},
        )
        for night, value in enumerate([*STEADY, 120, 121, 119], start=1)
    ]
    report = check(archive_of(tmp_path, entries))
    shown = table(report, "Time of kernels")
    assert [row["name"] for row in shown.rows] == ["gemm"]
    section = next(one for one in report.sections if shown in one.blocks)
    assert section.sentence == (
        "1 of 2 kernels differ by more than chance between 10 runs before and 3 since; the most: gemm."
    )


def test_the_history_shows_where_it_changed_and_its_sql_gives_the_values(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    values = [*STEADY, *[value + 10 for value in STEADY]]
    archive = archive_of(tmp_path, nights(values))
    report = history_of(archive, check(archive).checks[0].series)
    shown = table(report, "Changes of the history")
    assert [(row["run"], row["before"], row["after"]) for row in shown.rows] == [("night-11", 100e6, 110e6)]
    monkeypatch.chdir(tmp_path)
    assert [row[2] for row in duckdb.sql(shown.sql).fetchall()] == [value * 1e6 for value in values]
    assert ("gpu", "1 × Made GPU") in report.identity


def test_the_sql_of_kernels_gives_their_times(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    entries = [
        entry(night, {"iteration_p50_ns": value * 1e6}, kernels={"a'b": value, "other kernel": 1.5})
        for night, value in enumerate([*STEADY, 120, 121, 119], start=1)
    ]
    shown = table(check(archive_of(tmp_path, entries)), "Time of kernels")
    monkeypatch.chdir(tmp_path)
    rows = duckdb.sql(shown.sql).fetchall()
    assert sorted(row[3] for row in rows if row[2] == "a'b") == sorted([*STEADY, 120, 121, 119])
    assert {row[2] for row in rows} == {"a'b", "other kernel"}


def test_the_same_history_gives_the_same_report(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    entries = nights([*STEADY, 110, 111, 109])
    reports: list[Report] = []
    for name, those in (("a", entries), ("b", entries[::-1])):
        (tmp_path / name).mkdir()
        monkeypatch.chdir(tmp_path / name)
        reports.append(check(archive_of(Path("traces"), those)))
    assert reports[0] == reports[1]
    series = reports[0].checks[0].series
    assert reports[0].checks[0].sentence.endswith(f"tracelode watch accept {series} --reason WHY.")  # the default


def test_runs_that_could_not_be_measured_are_in_the_report(tmp_path: Path) -> None:
    failed = [Unread("night-9", Error("no kernels", "record them"))]
    report = check(archive_of(tmp_path, nights(STEADY)), unmeasured=failed)
    assert report.health == ("not measured: night-9: no kernels",)
    assert [(one.series, one.metric, one.verdict) for one in report.checks[1:]] == [
        ("night-9", "measurement", "inconclusive")
    ]
    assert report.checks[1].sentence == ("Inconclusive: the run night-9 was not measured: no kernels. Record them.")
    assert exit_code(report.checks) == 4


def test_what_is_sound_of_a_damaged_history_is_judged_and_the_damage_is_told(tmp_path: Path) -> None:
    archive = archive_of(tmp_path, nights([*STEADY, 110, 111, 109, 110]))
    series = check(archive).checks[0].series
    first = min((tmp_path / "history" / "runs" / series).iterdir())
    first.write_text(first.read_text().replace("100", "999", 1)[:-9])
    damage: Damage = {}
    report = check(archive, damage=damage)
    assert list(damage) == [first]
    judged, told = report.checks
    assert (judged.verdict, told.series, told.metric, told.verdict) == (
        "regression", f"history/runs/{series}/{first.name}", "history_file", "inconclusive",
    )  # fmt: skip
    assert report.health == (f"not judged: {first}: is damaged",)
    assert history_of(archive, series, damage={}).checks == report.checks
    with pytest.raises(ArchiveError, match="is damaged"):
        check(archive)


def test_no_limit_is_below_nothing_or_above_the_whole(tmp_path: Path) -> None:
    busy, idle = (0.99, 0.7, 0.95, 0.6, 0.98, 0.8, 0.9, 0.99, 0.9), (1.0, 60, 5, 80, 2, 40, 3, 70, 20)
    entries = [
        entry(at, {"busy_share": one, "idle_ns": other * 1e6})
        for at, (one, other) in enumerate(zip(busy, idle, strict=True), start=1)
    ]
    report = check(archive_of(tmp_path, entries))
    share, idle_time = report.checks
    assert (share.high, idle_time.low) == (1.0, 0.0)
    assert share.sentence.endswith(f"to 100.0{SPACE}%.")
    assert f"limits 0{SPACE}ns to " in idle_time.sentence


def test_a_metric_without_a_baseline_has_no_change_at_a_glance(tmp_path: Path) -> None:
    report = check(archive_of(tmp_path, nights(STEADY[:3])))
    (chart,) = [block for section in report.sections for block in section.blocks if isinstance(block, Chart)]
    assert chart.specification["usermeta"]["terminal"]["values"] == []
