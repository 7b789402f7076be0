from pathlib import Path

from tests.building import build
from tracelode.mining.mine import find
from tracelode.reports.report import Section, Table
from tracelode.reports.sections import overlap
from tracelode.store import Archive, Trace

KERNELS = [
    {"start_ns": 0, "end_ns": 50, "name": "gemm"},
    {"start_ns": 40, "end_ns": 80, "name": "ncclDevKernel_AllReduce", "stream": 20},
]


def _section(trace: Trace, archive: Archive) -> Section:
    return overlap.section(trace, lambda analysis: find(trace, archive, analysis))


def test_kinds_of_work_and_what_runs_at_once_are_tables_with_their_sql(tmp_path: Path) -> None:
    trace, archive = build(tmp_path, kernel=KERNELS)
    section = _section(trace, archive)
    assert section.sentence == "25.0 % of 40 ns of communication has compute beside it, 30 ns is exposed."
    kinds, sets = section.blocks
    assert isinstance(kinds, Table)
    assert isinstance(sets, Table)
    assert [column.key for column in kinds.columns][:2] == ["work", "time_ns"]  # one process, one device
    assert [(row["running"], row["time_ns"]) for row in sets.rows] == [
        ("compute", 40),
        ("communication", 30),
        ("compute + communication", 10),
    ]
    mined = archive.open(trace.id)
    for block in (kinds, sets):
        assert mined.sql(block.sql).to_dicts() == block.rows
        assert {column.key for column in block.columns} <= set(block.rows[0])


def test_without_device_work_it_is_said(tmp_path: Path) -> None:
    section = _section(*build(tmp_path, op=[{"start_ns": 0, "end_ns": 1}]))
    assert section.sentence.startswith("Not collected: ")
    assert section.blocks == ()
