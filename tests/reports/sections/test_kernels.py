from pathlib import Path
from typing import Any

from tests.building import build
from tests.mining.programs import STEP, train
from tracelode.mining.mine import find
from tracelode.reports.report import Chart, Section, Table, Text
from tracelode.reports.sections.kernels import section
from tracelode.store import Archive, Trace


def _section(trace: Trace, archive: Archive) -> Section:
    return section(trace, lambda analysis: find(trace, archive, analysis))


def _titles(found: Section) -> list[str]:
    return [
        block.caption if isinstance(block, Table) else block.title
        for block in found.blocks
        if not isinstance(block, Text)
    ]  # type: ignore[union-attr] # the timeline is in another section


def test_kernels_stand_by_category_and_by_name(tmp_path: Path) -> None:
    found = _section(*train(tmp_path, *[STEP] * 8))
    assert _titles(found) == [
        "Kernel time by category",
        "Kernels by category",
        "Kernels by summed time",
        "Kernels by name, the most time first",
    ]
    assert isinstance(found.blocks[0], Text)
    assert found.blocks[0].text.startswith("Most kernel time goes to gemm: 52.0 % of")
    for block in found.blocks:
        if isinstance(block, Table):
            keys = [column.key for column in block.columns]
            assert keys[-2:] == ["calls_per_iteration", "time_per_iteration_ns"]
            assert {"share", "mean_ns", "p50_ns", "p95_ns"} <= set(keys)


def test_without_iterations_nothing_is_told_of_them(tmp_path: Path) -> None:
    found = _section(*build(tmp_path, kernel=[{"start_ns": 1, "end_ns": 2, "name": "gemm"}]))
    keys = [column.key for block in found.blocks if isinstance(block, Table) for column in block.columns]
    assert "calls_per_iteration" not in keys


def test_kernels_of_no_time_have_no_picture(tmp_path: Path) -> None:
    found = _section(*build(tmp_path, kernel=[{"start_ns": 1, "end_ns": 1, "name": "gemm"}]))
    assert not any(isinstance(block, Chart) for block in found.blocks)
    assert found.blocks[0] == Text("All kernels last 0 ns: the trace's clock is too coarse.")


def test_no_kernels_are_not_collected(tmp_path: Path) -> None:
    trace: Any = build(tmp_path, copy=[{"start_ns": 1, "end_ns": 2}])
    found = _section(*trace)
    assert found.sentence == "Not collected: kernels."
    assert found.notes == (
        "To see this, let the profiler record it too: the remarks on data quality at the head name the option, where "
        "this format has one.",
    )
    assert found.blocks == ()
