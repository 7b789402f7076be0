import json
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


def test_a_trace_of_nothing_says_so(tmp_path: Path) -> None:
    report, _ = _report(*build(tmp_path, api=[{"start_ns": 0, "end_ns": 1}]))
    assert report.verdict.startswith("There is nothing in this trace that characterises a workload")
    assert not list(_blocks(report, (Chart, Table)))
