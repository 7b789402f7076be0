"""`report uvm` with a second run, and with a plan to write."""

import json
from pathlib import Path

import pytest
from click.testing import CliRunner, Result

from tests.mining.managed_made import run
from tracelode.mining.plan import read_plan
from tracelode.reports.cli import tracelode
from tracelode.reports.report import Report, Section
from tracelode.reports.uvm_runs import planned, with_effect
from tracelode.store import NotCollected

LOG = str(Path(__file__).parents[2] / "data" / "samples" / "accelprof" / "uvm_advisor_opt.log")


def _call(*words: str) -> Result:
    return CliRunner().invoke(tracelode, ["report", *words])


def test_a_plan_is_written_beside_the_report(tmp_path: Path) -> None:
    path = tmp_path / "plan.json"
    result = _call("uvm", LOG, "--format", "md", "--plan", str(path))
    assert result.exit_code == 0
    said, written = result.stderr.splitlines()[-2:]
    assert said.startswith(
        "A plan of prefetches asks for 7 MiB by object in 1 step; simulated: 0 faults of 64 KiB against 112 without it."
        " No step asks for more than "
    )
    assert written == f"written: {path}"
    assert read_plan(path.read_bytes()).bytes == 7 << 20
    assert json.loads(path.read_text())["format"] == "tracelode.uvm-plan"


def test_a_plan_without_steps_says_why_and_what_to_record(tmp_path: Path) -> None:
    folder = Path(LOG).with_name("hotness_net_2026-02-01_12-00-00")  # its kernels have no names
    result = _call("uvm", str(folder), "--format", "md", "--plan", str(tmp_path / "plan.json"))
    said = (
        "nothing names its steps to another run: 7 MiB are needed by kernels whose names were not recorded. To have a "
        "plan, record the names of kernels"
    )
    assert f"A plan of prefetches is empty, since {said}. No step asks for more than " in result.stderr
    assert " Left out: 7 MiB that no name tells to another run.\nwritten: " in result.stderr
    assert read_plan((tmp_path / "plan.json").read_bytes()).why_empty == said


def test_only_the_report_on_managed_memory_takes_them(tmp_path: Path) -> None:
    result = _call("perf", LOG, "--plan", str(tmp_path / "plan.json"))
    assert result.exit_code == 2
    assert not (tmp_path / "plan.json").exists()


def test_a_plan_that_cannot_be_written_leaves_no_report_either(tmp_path: Path) -> None:
    result = _call("uvm", LOG, "-o", str(tmp_path / "report.html"), "--plan", str(tmp_path / "none" / "plan.json"))
    assert result.exit_code == 2
    assert "there is no folder" in result.output
    assert not list(tmp_path.iterdir())


def test_a_trace_that_says_nothing_of_touches_gives_no_plan(tmp_path: Path) -> None:
    trace, archive = run(tmp_path, fault=None, copy=None)
    with pytest.raises(NotCollected, match="what kernels touch"):
        planned(trace, archive)


def test_what_a_second_run_changed_comes_first(tmp_path: Path) -> None:
    trace, archive = run(tmp_path)
    report = Report("uvm", "Managed memory", "The verdict.", trace.id, (), (), (Section("first", "First", "Said."),))
    both = with_effect(report, trace, archive, trace.id, archive.path)
    assert [section.key for section in both.sections] == ["uvm_effect", "first"]
    assert both.verdict.startswith(
        "Stall 130 ns before, 130 ns after (+0.0 %), one value each; the time of an iteration "
    )
    assert both.verdict.endswith("Before: The verdict.")
    captions = [block.caption for block in both.sections[0].blocks]
    assert captions == ["Times before and after", "Bytes before and after", "Counts before and after"]
    for block in both.sections[0].blocks:
        assert archive.open(trace.id).sql(block.sql).to_dicts() == block.rows
