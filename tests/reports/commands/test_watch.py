import json
import subprocess
import sys
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner, Result

from tests.made_runs import add, operations
from tests.mining.histories import STEADY, entry, nights
from tracelode.mining.recorded import put_run
from tracelode.mining.series import Entry
from tracelode.reports.cli import tracelode
from tracelode.store import Archive, Facts

SLOW = [*STEADY, 110, 111, 109]


def archive_of(folder: Path, entries: list[Entry]) -> Path:
    archive = Archive(folder)
    for one in entries:
        put_run(archive.history(), one)
    (folder / "archive.toml").write_text("format = 2\n")
    return folder


def run(*words: object) -> Result:
    return CliRunner().invoke(tracelode, ["watch", *map(str, words)])


def checked(archive: Path, *words: object, code: int) -> dict[str, Any]:
    result = run("check", "--archive", archive, "--format", "json", *words)
    if result.exception and not isinstance(result.exception, SystemExit):
        raise result.exception
    assert result.exit_code == code, result.output
    return json.loads(result.stdout)


@pytest.mark.parametrize(
    ("values", "code"), [(STEADY, 0), (SLOW, 3), (SLOW[:-1], 4), (STEADY[:4], 4), ([*STEADY, 90, 90, 90], 0)]
)
def test_the_exit_code_says_what_became_of_the_series(tmp_path: Path, values: list[float], code: int) -> None:
    assert checked(archive_of(tmp_path, nights(values)), code=code)["checks"][0]["metric"] == "iteration_p50_ns"


def test_the_exit_code_reaches_the_shell_and_the_report_is_written_on_failure_too(tmp_path: Path) -> None:
    archive, output = archive_of(tmp_path / "archive", nights(SLOW)), tmp_path / "check.html"
    words = [sys.executable, "-m", "tracelode", "watch", "check", "--archive", str(archive), "-o", str(output)]
    done = subprocess.run(words, capture_output=True, text=True, check=False)
    assert (done.returncode, done.stdout) == (3, "")
    assert done.stderr.startswith("Regression in 1 of 1 check: Median iteration (+10.0")
    assert json.loads(output.with_suffix(".json").read_text())["checks"][0]["verdict"] == "regression"
    assert "<!doctype html>" in output.read_text().lower()


def test_new_runs_are_measured_and_nothing_is_a_pass_without_them(tmp_path: Path) -> None:
    archive = Archive(tmp_path)
    add(archive, "night-1", operations(12), facts=Facts("kineto", base_unix_ns=10**18))
    told = checked(tmp_path, code=4)
    assert {check["verdict"] for check in told["checks"]} == {"inconclusive"}
    assert checked(tmp_path, code=4) == told  # the same again
    assert len(list((tmp_path / "history" / "runs").glob("*/*.json"))) == 1


def test_an_archive_that_is_not_there_or_holds_nothing_is_no_pass(tmp_path: Path) -> None:
    assert run("check", "--archive", tmp_path / "none").exit_code != 0
    archive = archive_of(tmp_path, [])
    assert checked(archive, code=4)["verdict"] == "Inconclusive: 1 of 1 check undecided: Runs to judge."
    for suffix, said in (("xml", 'skipped="1"'), ("prom", "tracelode_metric_value{"), ("annotations", "::warning ")):
        output = tmp_path / f"check.{suffix}"
        assert run("check", "--archive", archive, "-o", output).exit_code == 4
        assert said in output.read_text()


def test_a_run_that_cannot_be_measured_is_told_of_after_the_report(tmp_path: Path) -> None:
    archive = Archive(tmp_path)
    bad = add(archive, "night-1", operations(12))
    (tmp_path / "traces" / bad.id / "kernel.parquet").unlink()
    result = run("check", "--archive", tmp_path, "-o", tmp_path / "check.json")
    assert result.exception is not None
    assert getattr(result.exception, "exit_code", None) == 6
    assert "error: night-1: " in result.stderr
    told = json.loads((tmp_path / "check.json").read_text())
    assert told["health"][0].startswith("not measured: night-1: ")
    run("check", "--archive", tmp_path, "-o", tmp_path / "check.xml")
    assert (
        '<testsuites name="tracelode watch" tests="2" failures="0" errors="1" skipped="1">'
        in (tmp_path / "check.xml").read_text()
    )


def test_a_damaged_history_is_told_of_after_the_report(tmp_path: Path) -> None:
    archive = archive_of(tmp_path / "archive", nights(SLOW))
    damaged = min((archive / "history" / "runs").glob("*/*.json"))
    damaged.write_text("{")
    for words in (["check"], ["report", damaged.parent.name]):
        output = tmp_path / f"{words[0]}.xml"
        result = run(*words, "--archive", archive, "-o", output)
        assert getattr(result.exception, "exit_code", None) == 6
        assert str(result.exception) == "1 file of the history could not be read"
        assert f"error: {damaged}: is damaged" in result.stderr
        assert f"tracelode fsck --archive {archive}" in result.stderr
        assert 'errors="1"' in output.read_text()


def test_what_is_sound_of_a_damaged_history_is_listed_and_decided_upon(tmp_path: Path) -> None:
    archive = archive_of(tmp_path, nights([*STEADY, *[110.0] * 10]))
    damaged = min((archive / "history" / "runs").glob("*/*.json"))
    damaged.write_text("{")
    series = damaged.parent.name
    for words, said in (
        (["list"], ""),
        (["accept", series, "--reason", "meant"], "accepted: iteration_p50_ns since night-11"),
        (["baseline", "pin", series], "pinned: iteration_p50_ns to 9 runs"),
        (["baseline", "unpin", series], "unpinned: iteration_p50_ns"),
    ):
        result = run(*words, "--archive", archive)
        assert getattr(result.exception, "exit_code", None) == 6
        assert str(result.exception) == "1 file of the history could not be read"
        assert result.stderr.startswith(said)
        assert f"error: {damaged}: is damaged" in result.stderr
        assert (series in result.stdout) == (words == ["list"])
    missing = run("report", "zz", "--archive", archive)
    assert "no series begins with zz" in str(missing.exception)
    assert f"error: {damaged}: is damaged" in missing.stderr


def test_the_list_has_the_smallest_change_of_each_metric(tmp_path: Path) -> None:
    archive = archive_of(tmp_path, [*nights(SLOW, driver="1"), *nights(STEADY, first=20, driver="2", model="m")])
    result = run("list", "--archive", archive, "--format", "json")
    rows = json.loads(result.stdout)
    assert [(row["verdict"], row["runs"], row["last_run"]) for row in rows] == [
        ("neutral", 10, "night-29"), ("regression", 13, "night-13"),
    ]  # fmt: skip
    assert rows[1]["detectable"] == pytest.approx(0.03 + 1.6 * 0.014826)
    assert [row["runs_on"] for row in rows] == ["m, 1, 1 × Made GPU, 2", "1, 1 × Made GPU, 1"]
    shown = run("list", "--archive", archive).stdout.splitlines()
    assert shown[0].split() == [
        "series", "metric", "verdict", "pinned", "runs", "smallest_change", "last_run", "last_day", "runs_on",
    ]  # fmt: skip
    assert " 5.4 % " in shown[2]


def test_an_empty_history_lists_nothing(tmp_path: Path) -> None:
    assert json.loads(run("list", "--archive", archive_of(tmp_path, []), "--format", "json").stdout) == []


def test_the_history_of_a_series_is_a_report_in_every_format(tmp_path: Path) -> None:
    archive = archive_of(tmp_path / "archive", nights(SLOW))
    series = json.loads(run("list", "--archive", archive, "--format", "json").stdout)[0]["series"]
    for suffix in ("html", "json", "md", "xml", "prom"):
        result = run("report", series[:6], "--archive", archive, "-o", tmp_path / f"history.{suffix}")
        assert result.exit_code == 0, result.output
        assert "written: " in result.stderr
    assert f"History of series {series}" in (tmp_path / "history.html").read_text()
    assert "History of series" in run("report", series, "--archive", archive).stdout


def test_a_change_is_accepted_and_a_baseline_pinned_and_unpinned(tmp_path: Path) -> None:
    archive = archive_of(tmp_path, nights([*STEADY, *[110.0] * 10]))
    (series,) = {one["series"] for one in checked(archive, code=3)["checks"]}
    result = run("accept", series, "--archive", archive)
    assert (result.exit_code, "--reason" in result.output) == (2, True)
    result = run("accept", series, "--reason", "new tokenizer", "--archive", archive)
    assert result.stderr.startswith("accepted: iteration_p50_ns since night-11")
    told = checked(archive, code=0)
    assert "new tokenizer" in json.dumps(told)
    assert run("baseline", "pin", series, "--archive", archive).stderr == "pinned: iteration_p50_ns to 9 runs\n"
    (row,) = json.loads(run("list", "--archive", archive, "--format", "json").stdout)
    assert row["pinned"] is True
    assert run("baseline", "unpin", series, "--archive", archive).stderr == "unpinned: iteration_p50_ns\n"
    assert run("baseline", "unpin", series, "--archive", archive).exception is not None


def test_names_of_runs_are_shown_not_obeyed(tmp_path: Path) -> None:
    entries = [entry(at, {"iteration_p50_ns": 100e6}) for at in range(1, 4)]
    hostile = entry(4, {"iteration_p50_ns": 100e6}, excluded="\x1b[2J\x01")
    archive = archive_of(tmp_path, [*entries, hostile])
    for format in ("terminal", "md", "junit", "github"):
        result = run("check", "--archive", archive, "--format", format)
        assert result.exit_code == 4
        assert not {"\x1b", "\x01"} & set(result.output)
    slow = [replace(one, run=replace(one.run, name=f"\x1b[2J{one.run.name}")) for one in nights(SLOW)]
    archive = archive_of(tmp_path / "slow", slow)
    (series,) = {one["series"] for one in checked(archive, code=3)["checks"]}
    result = run("accept", series, "--reason", "meant", "--archive", archive)
    assert result.stderr.startswith("accepted: iteration_p50_ns since ␛[2Jnight-11")
