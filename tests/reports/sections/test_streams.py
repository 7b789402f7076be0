from pathlib import Path
from typing import Any

from tests.building import build
from tracelode.mining.mine import find
from tracelode.reports.report import Chart, Section, Table, Text
from tracelode.reports.sections import streams


def _section(folder: Path, kernels: list[dict[str, Any]]) -> Section:
    trace, archive = build(folder, kernel=kernels)
    section = streams.section(trace, lambda analysis: find(trace, archive, analysis))
    mined = archive.open(trace.id)
    for block in section.blocks:
        if isinstance(block, Table | Chart):
            assert len(mined.sql(block.sql))
    return section


def _kernel(start: int, end: int, stream: int, **more: Any) -> dict[str, Any]:
    return {"start_ns": start, "end_ns": end, "name": "gemm", "stream": stream, **more}


def test_streams_are_a_picture_a_sentence_and_a_table(tmp_path: Path) -> None:
    section = _section(tmp_path, [_kernel(0, 10, 7), _kernel(5, 20, 8)])
    picture, text, table = section.blocks
    assert isinstance(picture, Chart)
    assert picture.title == "Streams busy at once"
    assert text == Text("Two streams or more are busy for 25.0 % of the time, at most 2 streams at once.")
    assert isinstance(table, Table)
    assert [(row["stream"], row["busy_ns"], row["share"]) for row in table.rows] == [(8, 15, 0.75), (7, 10, 0.5)]
    assert {column.key for column in table.columns} <= set(table.rows[0])


def test_each_process_has_its_picture(tmp_path: Path) -> None:
    kernels = [_kernel(0, 10, stream, process=process) for stream in (7, 8) for process in (1, 2)]
    titles = [block.title for block in _section(tmp_path, kernels).blocks if isinstance(block, Chart)]
    assert titles == ["Streams busy at once of process 1", "Streams busy at once of process 2"]


def test_streams_that_take_turns_need_no_picture(tmp_path: Path) -> None:
    blocks = _section(tmp_path, [_kernel(0, 10, 7), _kernel(10, 20, 8)]).blocks
    assert [type(block) for block in blocks] == [Text, Table]
