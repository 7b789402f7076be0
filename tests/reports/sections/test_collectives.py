from pathlib import Path
from typing import Any

from tests.building import build
from tracelode.mining.mine import find
from tracelode.reports.report import Section, Table, Text
from tracelode.reports.sections import collectives

NAME = "ncclDevKernel_AllReduce_Sum_f16_RING_LL"


def _section(folder: Path, **tables: list[dict[str, Any]]) -> Section:
    trace, archive = build(folder, **tables)
    section = collectives.section(trace, lambda analysis: find(trace, archive, analysis))
    for block in section.blocks:
        if isinstance(block, Table):
            assert trace.sql(block.sql).to_dicts() == block.rows
            assert {column.key for column in block.columns} <= set(block.rows[0])
    return section


def _call(process: int, start: int) -> dict[str, Any]:
    place = {"process": process, "device": 0, "stream": 20, "name": NAME, "start_ns": start, "end_ns": 100}
    told = {"kind": "allreduce", "input_elements": 8, "output_elements": 8, "type": "Half", "group": "0"}
    return {**place, **told, "group_size": 2, "ranks": "[0, 1]"}


def test_collectives_of_several_processes_are_told_with_their_skew(tmp_path: Path) -> None:
    calls = [_call(1, 0), _call(2, 40)]
    kernels = [{key: call[key] for key in ("process", "stream", "name", "start_ns", "end_ns")} for call in calls]
    ranks = [{"process": 1, "pid": 1, "rank": 0}, {"process": 2, "pid": 2, "rank": 1}]
    section = _section(tmp_path, kernel=kernels, collective=calls, process=ranks)
    table, text, skew = section.blocks
    assert isinstance(table, Table)
    assert [(row["operation"], row["bytes"], row["calls"]) for row in table.rows] == [("all-reduce", 16, 2)]
    assert isinstance(text, Text)
    assert text.text.startswith("1 collective on several processes")
    assert isinstance(skew, Table)
    assert [(row["p50_spread_ns"], row["late_rank"]) for row in skew.rows] == [(40, 1)]


def test_collectives_known_by_their_kernels_alone_are_told_without_sizes(tmp_path: Path) -> None:
    section = _section(tmp_path, kernel=[{"start_ns": 0, "end_ns": 10, "name": NAME}])
    assert len(section.blocks) == 1
    assert section.notes == ("The size of calls is not recorded, so there is no bandwidth.",)


def test_without_communication_the_sentence_stands_alone(tmp_path: Path) -> None:
    section = _section(tmp_path, kernel=[{"start_ns": 0, "end_ns": 10, "name": "gemm"}])
    assert (section.sentence, section.blocks) == ("No kernel communicates.", ())


def test_without_kernels_it_is_said(tmp_path: Path) -> None:
    section = _section(tmp_path, copy=[{"start_ns": 0, "end_ns": 10}])
    assert section.sentence.startswith("Not collected: ")
