import json
import pickle
from collections.abc import Iterator
from functools import cache
from pathlib import Path
from typing import Any

import polars as pl
import pytest

from tests.building import build
from tracelode.collect.ingest import read
from tracelode.mining.finding import Finding
from tracelode.mining.mine import find
from tracelode.reports.report import Chart, Report, Section, Table, Timeline
from tracelode.reports.rows import finite
from tracelode.store import Archive, Trace
from tracelode.store.errors import NotCollected
from tracelode.store.parts import load

SAMPLES = Path(__file__).parents[3] / "data" / "samples"


def _report(trace: Trace, archive: Archive) -> tuple[Report, Trace]:
    report = load("topic", "workload").build(trace, lambda analysis: find(trace, archive, analysis))
    return report, archive.open(trace.id)


@pytest.fixture(scope="module", params=["train.json.gz", "accelprof/hotness_net_2026-02-01_12-00-00"])
def sample(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> tuple[Report, Trace]:
    archive = Archive(tmp_path_factory.mktemp("archive"))
    return _report(read(SAMPLES / request.param, archive)[0], archive)


def _blocks(report: Report, kind: Any) -> Iterator[Any]:
    return (block for section in report.sections for block in section.blocks if isinstance(block, kind))


def test_every_number_of_the_json_equals_the_sql_beside_it(sample: tuple[Report, Trace]) -> None:
    report, trace = sample
    told = json.loads(load("format", "json").render(report))
    tables = [block for section in told["sections"] for block in section["blocks"] if block["type"] == "table"]
    assert len(tables) >= 5
    ask = cache(trace.sql)
    for table in tables:
        assert table["rows"] == json.loads(json.dumps(finite(ask(table["sql"]).to_dicts()))), table["caption"]
        assert table["rows"], table["caption"]


def test_every_chart_names_sql_that_runs(sample: tuple[Report, Trace]) -> None:
    report, trace = sample
    pictures = list(_blocks(report, Chart))
    assert pictures
    assert all(len(trace.sql(block.sql)) for block in pictures)


def test_there_is_no_timeline_of_launches_that_were_serialised_to_be_measured(sample: tuple[Report, Trace]) -> None:
    report, trace = sample
    assert not list(_blocks(report, Timeline))
    if not trace.has("kernel"):
        titles = {column.title for table in _blocks(report, Table) for column in table.columns}
        assert not titles & {"Time", "Kernel time", "Share of kernel time"}


def _named(report: Report) -> dict[str, Section]:
    return {section.key: section for section in report.sections}


def test_every_section_on_memory_says_what_its_figures_rest_on(sample: tuple[Report, Trace]) -> None:
    keys = ("footprint", "working_sets", "holders", "lifetimes", "sizes", "reserve", "alive", "cold", "hotness")
    sections = _named(sample[0])
    for key in keys:
        section = sections[f"workload_{key}"]
        told = " ".join((section.sentence, *section.notes))
        assert any(
            word in told for word in ("Evidence", "Not collected", "is known to be allocated", "was released in it")
        ), key


def test_every_table_with_sizes_of_memory_says_its_evidence(sample: tuple[Report, Trace]) -> None:
    shown = 0
    for section in sample[0].sections:
        columns = {column.key for block in section.blocks if isinstance(block, Table) for column in block.columns}
        if columns & {"bytes", "peak_bytes", "allocated_bytes", "tensor_bytes", "object_bytes", "footprint_bytes"}:
            shown += 1
            assert "evidence" in " ".join((section.sentence, *section.notes)).lower(), section.key
    assert shown >= 3


def test_the_verdict_says_what_runs_and_how_often(tmp_path: Path) -> None:
    kernels = [{"start_ns": 10 * at, "end_ns": 10 * at + 8, "name": "void sgemm<1>()"} for at in range(3)]
    report, _ = _report(*build(tmp_path, kernel=kernels))
    assert report.verdict == (
        "Of 24 ns of device work in 3 kernels: gemm 100.0 %. 3 kernels of 1 name. Most called is sgemm, 3 times."
    )
    assert report.title == "Workload of made.json"
    assert _named(report)["workload_structure"].heading == "Mined structure, for want of operators"


@pytest.mark.parametrize(("lost", "shown"), [(0.4, False), (0.6, True)])
def test_mined_structure_stands_in_for_operators_only_where_these_are_few(
    tmp_path: Path, lost: float, shown: bool
) -> None:
    numbers = ("launches", "copies", "fills", "work_ns", "forward_ns", "backward_ns", "optimizer_ns", "other_ns")
    columns = dict.fromkeys((*numbers, "copied_bytes", "allocations"), 0) | {"told_by": None}
    rows = pl.DataFrame({"part": ["aten::mm", "(unattributed)"], "share": [1 - lost, lost]}).with_columns(
        pl.lit(value).alias(name) for name, value in columns.items()
    )

    def ask(name: str) -> Finding:
        if name == "by_operator":
            return Finding(name, "", rows, "")
        raise NotCollected("it", "record it")

    trace, _ = build(tmp_path, api=[{"start_ns": 0, "end_ns": 1}])
    asked = [section.key for section in load("topic", "workload").build(trace, ask).sections]
    assert ("workload_structure" in asked) == shown


def test_a_trace_without_device_work_misses_that_and_is_not_told_to_be_mined(tmp_path: Path) -> None:
    life = {"process": 1, "device": 0, "kind": "tensor", "address": 4096, "bytes": 8, "birth_ns": 0, "death_ns": 9}
    report, _ = _report(*build(tmp_path, allocation=[life]))
    assert not [s.key for s in report.sections if "mine" in " ".join((s.sentence, *s.notes)).split()]
    for key in ("workload_phases", "workload_modules", "workload_operators"):
        assert _named(report)[key].sentence == "Not collected: work of a device (kernels, copies or fills)."


@pytest.mark.parametrize(("sample", "has"), [("chakra.et", "node"), ("proton.json", "total")])
def test_a_trace_of_neither_kernels_nor_memory_says_what_it_has_and_what_to_record(
    sample: str, has: str, tmp_path: Path
) -> None:
    archive = Archive(tmp_path / "archive")
    trace, _ = read(SAMPLES / sample, archive)
    report, _ = _report(trace, archive)
    assert f"What it has: {trace.rows[has]} rows in the table {has} (" in report.verdict
    assert "record the same program with a profiler that writes kernels with their times" in report.verdict
    assert "docs/formats/README.md" in report.verdict
    (section,) = report.sections
    needs = {note.partition(" Needed for: ")[0]: note.partition(" Needed for: ")[2] for note in section.notes}
    assert needs["Not collected: work of a device (kernels, copies or fills)."] == (
        "Phases, Modules and layers, Operators, Kernel families."
    )
    assert needs[
        "Not collected: accesses to memory. To see this, record them with an access profiler such as AccelProf."
    ] == ("Hot memory.")
    assert not any("this format has one" in note for note in section.notes)


@pytest.mark.parametrize(
    ("log", "own", "hints"),
    [
        (
            "net_2026-02-01_12-00-00.log",
            "app_metric",
            {"footprint": "hot_analysis", "hotness": "hot_analysis or time_hotness_cpu"},
        ),
        ("memory_gpu.txt", "event_trace", {"working_sets": "app_analysis or app_metric", "holders": "hot_analysis"}),
        (
            "net.time_hotness_cpu.log",
            "time_hotness_cpu",
            {"footprint": "hot_analysis", "extremes": "app_analysis or app_metric"},
        ),
    ],
)
def test_a_log_of_accelprof_is_pointed_to_other_tools_of_it_alone(
    log: str, own: str, hints: dict[str, str], tmp_path: Path
) -> None:
    archive = Archive(tmp_path / "archive")
    trace, _ = read(SAMPLES / "accelprof" / log, archive)
    assert trace.facts.labels["tool"] == own
    sections = _named(_report(trace, archive)[0])
    for key, tools in hints.items():
        assert sections[f"workload_{key}"].notes == (
            f"To see this, use another tool of AccelProf: {tools} (docs/formats/accelprof.md).",
        )
    said = " ".join(" ".join((section.sentence, *section.notes)) for section in sections.values())
    assert "such as AccelProf" not in said
    assert own not in said
    assert "option" not in " ".join(sections["workload_phases"].notes)  # there is none


@pytest.mark.parametrize("log", ["net_app_analysis.log", "hotness_net_2026-02-01_12-00-00", "uvm_advisor_opt.log"])
def test_what_needs_times_is_not_asked_of_accelprof(log: str, tmp_path: Path) -> None:
    archive = Archive(tmp_path / "archive")
    sections = _named(_report(read(SAMPLES / "accelprof" / log, archive)[0], archive)[0])
    for key in ("reserve", "lifetimes"):
        assert sections[f"workload_{key}"].notes == ("To see this, profile with memory, or dump a memory snapshot.",)
    assert not any("such as AccelProf" in note for section in sections.values() for note in section.notes)


def test_a_snapshot_without_a_history_asks_for_that_and_tells_its_sizes(tmp_path: Path) -> None:
    block = {"address": 4096, "size": 1024, "requested_size": 700, "state": "active_allocated"}
    segment = {"device": 0, "address": 4096, "total_size": 2048, "stream": 0, "blocks": [block]}
    (tmp_path / "snapshot.pickle").write_bytes(pickle.dumps({"segments": [segment], "device_traces": []}))
    archive = Archive(tmp_path / "archive")
    report, _ = _report(read(tmp_path / "snapshot.pickle", archive)[0], archive)
    assert report.verdict == "1 tensor of 700 B in sum was allocated; 0.0 % stand where another one stood."
    footprint, reserve = (_named(report)[f"workload_{key}"] for key in ("footprint", "reserve"))
    assert footprint.sentence == (
        "Not collected: what is allocated on the device: the allocations of this trace have no births and no releases."
    )
    assert footprint.notes == (
        "To see this, dump a memory snapshot with its history (torch.cuda.memory._record_memory_history).",
    )
    (table,) = (block for block in reserve.blocks if isinstance(block, Table))
    assert [(row["asked_bytes"], row["block_bytes"], row["reserved_bytes"]) for row in table.rows] == [
        (700, 1024, 2048)
    ]


def test_a_trace_of_nothing_says_so(tmp_path: Path) -> None:
    report, _ = _report(*build(tmp_path, api=[{"start_ns": 0, "end_ns": 1}]))
    assert report.verdict.startswith("There is nothing in this trace that characterises a workload")
    assert not list(_blocks(report, (Chart, Table)))
