from dataclasses import replace
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest
from click.testing import CliRunner

from tests.building import DEFAULTS, build
from tracelode.collect.ingest import read
from tracelode.collect.sink import Sink
from tracelode.mining.mine import find
from tracelode.mining.rank_run import Member
from tracelode.reports.cli import tracelode
from tracelode.reports.rank_group import Group
from tracelode.reports.report import Chart, Report, Table, Text
from tracelode.reports.workload_group import build as build_group
from tracelode.store import TABLES, Archive, Facts, Source, Trace

SAMPLES = Path(__file__).parents[2] / "data" / "samples"


def _rank(archive: Archive, rank: int, sizes: list[int], **tables: list[dict[str, Any]]) -> Trace:
    """A rank that allocates those sizes one after the other and then releases them in that order."""
    life = {"process": 1, "device": 0, "kind": "tensor"}
    lives = [
        life | {"address": at, "bytes": size, "birth_ns": at, "death_ns": 100 + at} for at, size in enumerate(sizes)
    ]
    with archive.stage() as staging:
        sink = Sink(staging)
        for name, rows in ({"allocation": lives} | tables).items():
            full = [DEFAULTS.get(name, {}) | row for row in rows]
            table = pa.Table.from_pylist(full, schema=TABLES[name].schema)
            columns: dict[str, Any] = {name: table[name] for name in table.column_names}
            sink.write(name, columns)
        source = Source(f"/data/rank{rank}.json", 1, 1, "kineto", 1)
        notes = sink.finish()
        return archive.commit(staging, id=f"{rank}" * 64, source=source, facts=Facts("kineto"), notes=notes)


def _group(folder: Path, *ranks: list[int], of_run: bool = True, **tables: list[dict[str, Any]]) -> Report:
    archive = Archive(folder / "archive")
    members = [
        Member(_rank(archive, at, sizes, **tables), at, "file" if of_run else "order") for at, sizes in enumerate(ranks)
    ]
    return build_group(Group("run", members, archive), lambda trace, name: find(trace, archive, name))


def _said(report: Report) -> dict[str, str]:
    return {section.key: section.sentence for section in report.sections}


def test_ranks_that_allocate_alike_do_not_differ(tmp_path: Path) -> None:
    said = _said(_group(tmp_path, [100, 50], [100, 50]))
    assert said["workload_symmetry"] == (
        "The ranks use memory alike, by their curves of tensors. Parallelism, by a heuristic: undetermined (curves "
        "differ by up to 0.0 % of the peak, and no reductions are known)."
    )
    assert said["workload_curves"] == (
        "rank1.json against rank0.json: The peak of tensors equals that of the base (150 B), with 4 changes against 4."
    )


def test_reductions_are_told_by_the_phase_of_their_kernels(tmp_path: Path) -> None:
    kernel = {"start_ns": 50, "end_ns": 60, "name": "ncclKernel_AllReduce", "correlation": 1}
    said = _said(
        _group(
            tmp_path,
            [100, 50],
            [100, 50],
            op=[{"id": 0, "name": "allreduce", "start_ns": 10, "end_ns": 20, "phase": "backward"}],
            api=[{"start_ns": 12, "end_ns": 13, "correlation": 1}],
            kernel=[kernel],
            collective=[
                {"process": 1, "device": 0, "stream": 7, "start_ns": 50, "end_ns": 60, "name": "k", "kind": "allreduce"}
            ],
        )
    )
    assert said["workload_symmetry"] == (
        "The ranks use memory alike, by their curves of tensors. Parallelism, by a heuristic: data (curves differ by "
        "up to 0.0 % of the peak, and ranks reduce outside the forward pass only)."
    )


def test_a_rank_with_more_is_seen_and_stays_apart_from_the_other(tmp_path: Path) -> None:
    report = _group(tmp_path, [100, 50], [100, 80])
    assert _said(report)["workload_symmetry"].startswith("The ranks use memory not alike, by their curves of tensors.")
    tables = {
        block.caption: block for section in report.sections for block in section.blocks if isinstance(block, Table)
    }
    rows = tables["Kernels and memory of each trace"].rows
    assert [(row["name"], row["peak_bytes"]) for row in rows] == [("rank0.json", 150), ("rank1.json", 180)]
    for section in report.sections[:3]:  # side by side, curves, symmetry: all on memory
        assert "Evidence C: lifetimes of allocations only." in section.notes, section.key
    drawn = [block.title for section in report.sections for block in section.blocks if isinstance(block, Chart)]
    assert drawn == [
        "Memory of tensors in both, by number of the change",
        "Difference in memory of tensors, by number of the change",
        "Memory of tensors in both, by share of the changes",
        "Difference in memory of tensors, by share of the changes",
    ]


def test_traces_that_are_no_ranks_of_one_run_have_no_symmetry(tmp_path: Path) -> None:
    said = _said(_group(tmp_path, [100], [100], of_run=False))
    assert said["workload_symmetry"] == "Not told: these are not known to be ranks of one run."


def test_one_trace_without_memory_leaves_nothing_to_compare(tmp_path: Path) -> None:
    archive = Archive(tmp_path / "archive")
    with_memory = _rank(archive, 1, [10])
    (tmp_path / "two").mkdir()
    other, _ = build(tmp_path, kernel=[{"start_ns": 0, "end_ns": 4, "name": "sgemm"}])
    group = Group("two", [Member(with_memory), Member(other)], archive)
    report = build_group(group, lambda trace, name: find(trace, archive, name))
    (curves,) = (section for section in report.sections if section.key == "workload_curves")
    assert curves.sentence == "Not collected: allocated memory in two of the traces."
    assert curves.notes == ("To see this, profile with memory, or dump a memory snapshot, in made.json.",)
    assert report.verdict == (
        "2 traces: 1 kernel (in 1 of them), 4 ns of kernel time (in 1 of them), peaks of 10 B of tensors (in 1 of "
        "them)."
    )


def test_what_to_record_is_told_by_what_each_trace_is(tmp_path: Path) -> None:
    archive = Archive(tmp_path / "archive")
    names = ("net.time_hotness_cpu.log", "net_2026-02-01_12-00-00.log")
    logs = [read(SAMPLES / "accelprof" / name, archive)[0] for name in names]
    report = build_group(
        Group("logs", [Member(log) for log in logs], archive), lambda trace, name: find(trace, archive, name)
    )
    (curves,) = (section for section in report.sections if section.key == "workload_curves")
    assert curves.notes == (
        "To see this, use another tool of AccelProf: hot_analysis (docs/formats/accelprof.md), in each of them.",
    )
    assert [block.text for block in report.sections[-1].blocks if isinstance(block, Text)] == [
        "net.time_hotness_cpu.log: Of 2\u202f000\u202f000 accesses, 50.0 % are to the block at 0x7f2000200000 of "
        "1 MiB.",
        "net_2026-02-01_12-00-00.log: 4 kernels of 3 names. Most called is gemm_tile_kernel, 2 times.",
    ]


def test_traces_that_are_no_ranks_stand_in_the_order_of_their_names(tmp_path: Path) -> None:
    archive = Archive(tmp_path / "archive")
    traces = [_rank(archive, rank, [10]) for rank in (2, 10, 1)]
    members = [Member(trace, at, "order") for at, trace in enumerate(traces)]
    report = build_group(Group("run", members, archive), lambda trace, name: find(trace, archive, name))
    (table,) = (block for block in report.sections[0].blocks if isinstance(block, Table))
    assert [row["name"] for row in table.rows] == ["rank1.json", "rank2.json", "rank10.json"]


@pytest.mark.parametrize(
    ("paths", "names"),
    [
        (("/a/one/x.json", "/a/two/x.json"), ["one/x.json", "two/x.json"]),
        (("/a/one/x.json", "/b/one/x.json"), ["x.json (1)", "x.json (2)"]),
        (("/a/one/x.json", "/a/two/y.json"), ["x.json", "y.json"]),
    ],
)
def test_like_names_are_told_apart_by_their_folders_else_by_numbers(
    tmp_path: Path, paths: tuple[str, str], names: list[str]
) -> None:
    archive = Archive(tmp_path / "archive")
    members = [
        Member(replace(_rank(archive, at, [10]), source=path), at, "order") for at, path in enumerate(paths, start=1)
    ]
    report = build_group(Group("run", members, archive), lambda trace, name: find(trace, archive, name))
    (table,) = (block for block in report.sections[0].blocks if isinstance(block, Table))
    assert [row["name"] for row in table.rows] == names


def test_ranks_of_which_one_tells_objects_alone_are_compared_by_these(tmp_path: Path) -> None:
    archive = Archive(tmp_path / "archive")
    pool = {"process": 1, "device": 0, "kind": "pool", "address": 64, "bytes": 500, "birth_ns": 0, "death_ns": 900}
    tensor = pool | {"kind": "tensor", "bytes": 80}
    traces = [_rank(archive, 1, [], allocation=[pool, tensor]), _rank(archive, 2, [], allocation=[pool])]
    members = [Member(trace, at, "file") for at, trace in enumerate(traces)]
    said = _said(build_group(Group("run", members, archive), lambda trace, name: find(trace, archive, name)))
    assert said["workload_symmetry"].startswith("The ranks use memory alike, by their curves of objects.")
    assert "The peak of objects equals that of the base (500 B)" in said["workload_curves"]


def test_the_command_takes_a_folder_of_logs(tmp_path: Path) -> None:
    logs = tmp_path / "logs"
    logs.mkdir()
    for name in ("net_app_analysis.log", "uvm_advisor_opt.log"):
        (logs / name).write_text((SAMPLES / "accelprof" / name).read_text())
    result = CliRunner().invoke(tracelode, ["report", "workload", str(logs), "--format", "md"])
    assert result.exit_code == 0, result.output
    assert "2 traces: 3 to 4 kernels, peaks of 6 MiB of tensors (in 1 of them)." in result.output
