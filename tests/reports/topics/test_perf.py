import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pytest

from tests.building import build
from tracelode.collect.ingest import read
from tracelode.mining.mine import find
from tracelode.reports.report import Chart, Report, Table, Timeline
from tracelode.reports.rows import finite
from tracelode.store import Archive, Trace
from tracelode.store.parts import load

SAMPLES = Path(__file__).parents[3] / "data" / "samples"


def _report(trace: Trace, archive: Archive) -> tuple[Report, Trace]:
    report = load("topic", "perf").build(trace, lambda analysis: find(trace, archive, analysis))
    return report, archive.open(trace.id)


@pytest.fixture(scope="module", params=["train.json.gz", "train.sqlite", "two-ranks/rank1.json.gz"])
def sample(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> tuple[Report, Trace]:
    archive = Archive(tmp_path_factory.mktemp("archive"))
    return _report(read(SAMPLES / request.param, archive)[0], archive)


def _blocks(report: Report) -> Iterator[Any]:
    return (block for section in report.sections for block in section.blocks)


def test_every_number_of_the_json_equals_the_sql_beside_it(sample: tuple[Report, Trace]) -> None:
    report, trace = sample
    told = json.loads(load("format", "json").render(report))
    tables = [block for section in told["sections"] for block in section["blocks"] if block["type"] == "table"]
    assert len(tables) >= 8
    for table in tables:
        assert table["rows"] == json.loads(json.dumps(finite(trace.sql(table["sql"]).to_dicts()))), table["caption"]
        assert table["rows"], table["caption"]


def test_every_chart_and_timeline_names_sql_that_runs(sample: tuple[Report, Trace]) -> None:
    report, trace = sample
    pictures = [block for block in _blocks(report) if isinstance(block, Chart | Timeline)]
    assert len(pictures) >= 5
    assert all(len(trace.sql(block.sql)) for block in pictures)


def test_the_timeline_holds_every_operation(sample: tuple[Report, Trace]) -> None:
    report, trace = sample
    (timeline,) = [block for block in _blocks(report) if isinstance(block, Timeline)]
    shown = sum(len(lane.start_ns) for lane in timeline.lanes)
    assert shown == sum(trace.rows[name] for name in ("kernel", "copy", "fill") if name in trace.rows)
    assert timeline.left_out == 0
    assert f"iterations of process {trace.process.collect()['process'][0]}" in [
        overlay.label for overlay in timeline.overlays
    ]


def _rows(report: Report, caption: str) -> pl.DataFrame:
    (table,) = [b for b in _blocks(report) if isinstance(b, Table) and b.caption.startswith(caption)]
    return pl.DataFrame(table.rows)


def test_time_by_state_adds_up_and_equals_an_independent_union(sample: tuple[Report, Trace]) -> None:
    report, trace = sample
    rows = _rows(report, "Time by state")
    works = [trace.table(name).select("start_ns", "end_ns").collect() for name in ("kernel", "copy", "fill")]
    work = pl.concat(works).sort("start_ns")
    start, end = work["start_ns"].to_numpy(), work["end_ns"].to_numpy()
    latest = np.maximum.accumulate(end)
    idle = int(np.maximum(0, start[1:] - latest[:-1]).sum())
    assert rows.filter(pl.col("state") == "idle")["time_ns"].to_list() == [idle]
    assert rows["time_ns"].sum() == end.max() - start.min() == rows["span_ns"][0]
    assert rows["share"].sum() == pytest.approx(1, rel=1e-9)


def test_the_parts_of_every_iteration_add_up_to_it(sample: tuple[Report, Trace]) -> None:
    report, _ = sample
    rows = _rows(report, "Time of each iteration")
    sums = rows.group_by("iteration").agg(pl.col("time_ns").sum(), pl.col("iteration_ns").first())
    assert sums["time_ns"].to_list() == sums["iteration_ns"].to_list()


def test_causes_of_idle_time_add_up_to_the_idle_time(sample: tuple[Report, Trace]) -> None:
    report, _ = sample
    states = _rows(report, "Time by state")
    idle = states.filter(pl.col("state") == "idle")["time_ns"].sum()
    assert _rows(report, "Idle time by cause")["time_ns"].sum() == idle


def test_planted_faults_are_the_iterations_that_stand_out(tmp_path: Path) -> None:
    truth = json.loads((SAMPLES / "train.truth.json").read_text())
    archive = Archive(tmp_path)
    report, _ = _report(read(SAMPLES / "train.json.gz", archive)[0], archive)
    rows = _rows(report, "Iterations")
    slow = rows.filter(pl.col("mark") == "slow")["iteration"].to_list()
    planted = {
        truth["stall"]["iteration"],
        truth["outlier"]["iteration"],
        *(late["iteration"] for late in truth["late"]),
    }
    assert set(slow) == planted
    reasons = dict(rows.filter(pl.col("mark") == "slow").select("iteration", "more_of").rows())
    assert reasons == {3: "idle", 5: "copy", 8: "compute", 10: "idle"}
    assert rows.filter(pl.col("mark") == "warm-up")["iteration"].to_list() == truth["warm_up"]


def test_a_trace_without_device_work_says_so_and_shows_no_zero(tmp_path: Path) -> None:
    report, _ = _report(*build(tmp_path, op=[{"start_ns": 0, "end_ns": 9, "name": "aten::add"}]))
    assert report.verdict == "There is no kernel, copy or fill in this trace: nothing to report about a device."
    assert report.sections == ()
    load("format", "html").render(report)


def test_work_that_never_repeats_still_gives_a_report(tmp_path: Path) -> None:
    kernels = [{"start_ns": i * 10, "end_ns": i * 10 + i + 1, "name": f"kernel_{i}"} for i in range(5)]
    report, _ = _report(*build(tmp_path, kernel=kernels))
    sentences = {section.key: section.sentence for section in report.sections}
    assert sentences["iterations"] == "No iterations were found in this trace."
    assert sentences["patterns"] == "No sequence of operations shorter than half an iteration repeats."
    assert report.verdict.startswith("The device is busy 33.3 % of 45 ns: 33.3 % compute.")
    for name in ("html", "terminal", "json"):
        load("format", name).render(report)


def test_the_same_trace_gives_the_same_bytes(sample: tuple[Report, Trace], tmp_path: Path) -> None:
    report, trace = sample
    archive = Archive(tmp_path)
    again, _ = _report(read(Path(trace.source), archive)[0], archive)
    for name in ("html", "terminal", "json"):
        assert load("format", name).render(again) == load("format", name).render(report)


def test_copies_without_launches_give_a_report_without_iterations(tmp_path: Path) -> None:
    report, _ = _report(*build(tmp_path, copy=[{"start_ns": 0, "end_ns": 10}, {"start_ns": 20, "end_ns": 30}]))
    sentences = {section.key: section.sentence for section in report.sections}
    assert sentences["iterations"] == "No iterations were found in this trace."
    assert sentences["kernels"].startswith("Not collected: ")
    assert report.verdict.startswith("The device is busy 66.7 % of 30 ns: 66.7 % copy.")
    for name in ("html", "terminal", "json"):
        load("format", name).render(report)


def test_work_without_trusted_times_is_no_base_for_a_report(tmp_path: Path) -> None:
    report, _ = _report(*build(tmp_path, kernel=[{"start_ns": 9, "end_ns": 5, "name": "a"}]))
    assert (
        report.verdict
        == "There is no device work with times to be trusted in this trace: nothing to report about a device."
    )
    assert "in no sum: 1 kernel: negative duration" in report.health
    load("format", "html").render(report)
