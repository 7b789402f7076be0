"""The report on managed memory: of a made run, of an access log, and of a trace that has nothing of it."""

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.building import build
from tests.mining.managed_made import run
from tracelode.collect.ingest import read
from tracelode.mining.mine import find
from tracelode.reports.charts.style import MOST_MARKS
from tracelode.reports.report import Chart, Report, Table, Text, Timeline
from tracelode.reports.rows import finite
from tracelode.store import Archive, Trace
from tracelode.store.parts import load, names

LOGS = Path(__file__).parents[3] / "data" / "samples" / "accelprof"
HOTNESS = "hotness_net_2026-02-01_12-00-00"


def _report(trace: Trace, archive: Archive) -> tuple[Report, Trace]:
    report = load("topic", "uvm").build(trace, lambda analysis: find(trace, archive, analysis))
    return report, archive.open(trace.id)


@pytest.fixture(scope="module")
def made(tmp_path_factory: pytest.TempPathFactory) -> tuple[Report, Trace]:
    return _report(*run(tmp_path_factory.mktemp("archive")))


@pytest.fixture(scope="module")
def log(tmp_path_factory: pytest.TempPathFactory) -> tuple[Report, Trace]:
    archive = Archive(tmp_path_factory.mktemp("archive"))
    return _report(read(LOGS / HOTNESS, archive)[0], archive)


@pytest.fixture(scope="module", params=["made", "log"])
def sample(request: pytest.FixtureRequest) -> tuple[Report, Trace]:
    return request.getfixturevalue(request.param)


def _blocks(report: Report) -> Iterator[Any]:
    return (block for section in report.sections for block in section.blocks)


def _section(report: Report, key: str) -> Any:
    return next(section for section in report.sections if section.key == key)


def test_every_number_of_the_json_equals_the_sql_beside_it(sample: tuple[Report, Trace]) -> None:
    report, trace = sample
    told = json.loads(load("format", "json").render(report))
    tables = [block for section in told["sections"] for block in section["blocks"] if block["type"] == "table"]
    assert len(tables) >= 3
    for table in tables:
        assert table["rows"] == json.loads(json.dumps(finite(trace.sql(table["sql"]).to_dicts()))), table["caption"]
        assert table["rows"], table["caption"]


def test_every_chart_is_small_and_names_sql_that_runs(sample: tuple[Report, Trace]) -> None:
    report, trace = sample
    pictures = [block for block in _blocks(report) if isinstance(block, Chart | Timeline)]
    assert len(pictures) >= 2
    assert all(len(trace.sql(block.sql)) for block in pictures)
    marks = [len(block.specification["data"]["values"]) for block in pictures if isinstance(block, Chart)]
    assert max(marks) <= MOST_MARKS


def test_every_format_shows_it(log: tuple[Report, Trace]) -> None:
    report, _ = log
    of_checks = {"github", "junit", "openmetrics"}  # it has none
    for name in set(names("format")) - of_checks - {"html"}:  # that is opened in a browser
        text = load("format", name).render(report)
        assert (report.sections[0].heading if name != "csv" else "dense hot") in text


def test_the_verdict_says_what_kernels_wait_what_moves_and_what_to_do(made: tuple[Report, Trace]) -> None:
    report, _ = made
    # Object A: 80 ns of stall in a, 20 in b. At the two large moves' 128 KiB in 30 ns its 1 MiB would take 240 ns.
    assert report.verdict == (
        "Page faults hold kernels up for at most 130 ns, 43.3 % of the time in which a kernel runs; servicing them "
        "takes 240 ns added up. 3 moves of 160 KiB to devices in 50 ns; 1 move of 64 KiB to the "
        "host in 10 ns; 32 KiB move to a device that had had them. 2 ranges to act on; first prefetch "
        "managed of 1.0 MiB at 0x4000000 before a: saves 0 ns to 100 ns (estimated)."
    )


def test_measured_and_simulated_share_no_section_and_no_sentence(sample: tuple[Report, Trace]) -> None:
    report, _ = sample
    keys = [section.key for section in report.sections]
    guessed = {"uvm_simulation", "uvm_plan"}
    assert guessed <= set(keys)
    for section in report.sections:
        tables = [block.sql for block in section.blocks if isinstance(block, Table)]
        simulated = [sql for sql in tables if "uvm_simulation" in sql or "uvm_plan" in sql]
        assert simulated == (tables if section.key in guessed else [])
        assert section.heading.startswith("Simulated: ") == (section.key in guessed)
        assert section.key in guessed or "imulated" not in section.sentence
    assert "imulated" not in report.verdict


def test_advice_comes_with_its_rule_its_evidence_and_the_lines_to_paste(made: tuple[Report, Trace]) -> None:
    report, _ = made
    section = _section(report, "uvm_advice")
    told = [block.text for block in section.blocks if isinstance(block, Text)]
    assert any(
        "CUDA: cudaMemPrefetchAsync(p, 1048576, 0, stream);" in text
        and "HIP: hipMemPrefetchAsync(p, 1048576, 0, stream);" in text
        and "Why: 1 move unasked, 3 fault groups" in text
        for text in told
    )
    assert [block.caption for block in section.blocks if isinstance(block, Table)] == [
        "Advice on each range, estimated; the most that could be saved first",
        "What it rests on",
    ]
    assert "Estimates from one run, not measured" in section.notes[1]


def _captions(report: Report, key: str) -> list[str]:
    return [block.caption for block in _section(report, key).blocks if isinstance(block, Table)]


def test_captions_name_a_stall_and_accesses_only_where_there_are_some(
    made: tuple[Report, Trace], log: tuple[Report, Trace], tmp_path: Path
) -> None:
    without, _ = _report(*run(tmp_path, fault=None))
    assert _captions(made[0], "uvm_stall")[:2] == [
        "Stall by device: unions, each moment once",
        "By kernel, the longest stall first",
    ]
    assert _captions(without, "uvm_stall")[:2] == [
        "Faults and moves by device: unions, each moment once",
        "By kernel, the most bytes to the device first",
    ]
    come = ["Faults, and moves of 64 KiB", "Of these a byte"]
    for report, titles in ((log[0], ["Accesses", "Accesses a byte"]), (without, come)):
        table = next(block for block in _section(report, "uvm_use").blocks if isinstance(block, Table))
        assert [one.title for one in table.columns if one.key in ("accesses", "density")] == titles


def test_advice_to_leave_all_as_it_is_has_no_empty_table_of_evidence(tmp_path: Path) -> None:
    kernels = [{"start_ns": 0, "end_ns": 1_000_000, "name": "a"}]
    report, _ = _report(*run(tmp_path, kernel=kernels))
    assert _section(report, "uvm_advice").sentence == "No range costs kernels enough to advise anything."
    assert _captions(report, "uvm_advice") == ["Advice on each range, estimated; the most that could be saved first"]


def test_what_was_not_collected_stands_at_the_end_with_how_to_record_it(tmp_path: Path) -> None:
    report, _ = _report(*run(tmp_path, fault=None, kernel=None))
    lost = report.sections[-1]
    assert lost.heading == "Not collected"
    assert any(note.startswith("Page faults: Not collected: page faults of devices") for note in lost.notes)
    assert any("--cuda-um-gpu-page-faults=true --cuda-um-cpu-page-faults=true" in note for note in lost.notes)
    assert any("tracelode record --uvm" in note for note in lost.notes)
    assert "uvm_faults" not in [section.key for section in report.sections]
    shown = next(block for block in _section(report, "uvm_stall").blocks if isinstance(block, Table))
    assert "stall_ns" not in [column.key for column in shown.columns]  # no column of what nobody knows


def test_a_trace_without_managed_memory_says_so_and_shows_nothing(tmp_path: Path) -> None:
    report, _ = _report(*build(tmp_path, kernel=[{"start_ns": 1, "end_ns": 2, "name": "a"}]))
    assert report.verdict.startswith("Nothing of managed memory was recorded in this trace: the program uses none, or")
    assert report.sections == ()
    load("format", "html").render(report)


def test_a_summary_of_nvprof_is_told_from_nothing(tmp_path: Path) -> None:
    path = tmp_path / "summary.csv"
    path.write_text(
        "==7== NVPROF is profiling process 7, command: ./cfd\n==7== Unified Memory profiling result:\n"
        '"Device","Count","Avg Size","Min Size","Max Size","Total Size","Total Time","Name"\n'
        '"TITAN Xp (0)",149,43.328125KB,4.000000KB,576.000000KB,6.304688MB,718.000000us,"Host To Device"\n'
    )
    archive = Archive(tmp_path / "archive")
    report, _ = _report(read(path, archive)[0], archive)
    assert report.verdict.startswith(
        "Of managed memory nvprof's summary alone was recorded: 1 row of totals, in the table other as they stand."
    )


def test_a_template_is_said_to_be_one_and_its_lines_stand_by_themselves(tmp_path: Path) -> None:
    report, _ = _report(*run(tmp_path, allocation=None))
    (text,) = [block.text for block in _section(report, "uvm_advice").blocks if isinstance(block, Text)]
    said, cuda, hip = text.split("\n\n")
    assert said.endswith(
        "The allocations behind these addresses are not recorded: the line is a template for each of them."
    )
    within = "/* each allocation within 0x4000000 to 0x41fffff */"
    assert cuda == f"CUDA: {within} cudaMemPrefetchAsync(<allocation>, <its bytes>, 0, stream);"
    assert hip == f"HIP: {within} hipMemPrefetchAsync(<allocation>, <its bytes>, 0, stream);"
    assert _section(report, "uvm_plan").sentence.startswith(
        "A plan of prefetches is empty, since nothing names its steps"
    )


def test_the_time_axis_of_places_begins_at_the_first_event(made: tuple[Report, Trace]) -> None:
    charts = [block for block in _section(made[0], "uvm_places").blocks if isinstance(block, Chart)]
    # The first fault is at 110, the first move at 120: in the second of 60 bins of 401 ns, which begins at 6.
    first = {chart.title: min(value["left"] for value in chart.specification["data"]["values"]) for chart in charts}
    assert first == {"Faults by address and time": 0, "Bytes moved by address and time": 6}
