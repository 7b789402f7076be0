from pathlib import Path

import pytest

from tests.building import build
from tests.mining.programs import STEP, train
from tracelode.mining.mine import find
from tracelode.reports.report import Chart, Section, Table, Text
from tracelode.reports.sections.graph import section
from tracelode.store import Archive, Trace


def _section(trace: Trace, archive: Archive) -> Section:
    return section(trace, lambda analysis: find(trace, archive, analysis))


def test_the_graph_is_an_icicle_a_flow_and_their_tables(tmp_path: Path) -> None:
    found = _section(*train(tmp_path, *[STEP] * 12))
    assert [type(block) for block in found.blocks] == [Chart, Table, Text, Chart, Table]
    titles = [block.title for block in found.blocks if isinstance(block, Chart)]
    assert titles == ["What the busy time consists of", "A typical iteration"]
    assert found.sentence.startswith("100.0 % of the 180 µs that device 0 is busy are in iterations")


def test_each_of_the_first_devices_has_its_pictures(tmp_path: Path) -> None:
    kernels = [
        {"name": f"k{at}", "start_ns": 100 * at, "end_ns": 100 * at + 50, "device": device}
        for device in range(6)
        for at in range(3)
    ]
    found = _section(*build(tmp_path, kernel=kernels))
    titles = [block.title for block in found.blocks if isinstance(block, Chart)]
    assert titles == [f"What the busy time of process 1, device {device} consists of" for device in range(4)]


def test_without_iterations_there_is_no_flow(tmp_path: Path) -> None:
    found = _section(*train(tmp_path, [f"kernel_{number}" for number in range(30)]))
    assert [type(block) for block in found.blocks] == [Chart, Table]


def test_every_table_and_picture_has_sql_that_gives_it(tmp_path: Path) -> None:
    trace, archive = train(tmp_path, *[STEP] * 12)
    found = _section(trace, archive)
    trace = archive.open(trace.id)
    for block in found.blocks:
        if isinstance(block, Table):
            assert trace.sql(block.sql).to_dicts() == block.rows
        elif isinstance(block, Chart):
            assert len(trace.sql(block.sql))


def test_work_without_duration_is_said(tmp_path: Path) -> None:
    found = _section(*build(tmp_path, kernel=[{"start_ns": 5, "end_ns": 5, "name": "k"}]))
    assert found.sentence == "No device work takes any time in this trace."
    assert not found.blocks


def test_what_was_not_collected_is_said(tmp_path: Path) -> None:
    found = _section(*build(tmp_path, api=[{"start_ns": 0, "end_ns": 1}]))
    assert found.sentence.startswith("Not collected: ")


@pytest.mark.parametrize("name", ["'; drop table kernel; --", "{braces}", "\x00\x1b[31m", "名前"])
def test_names_of_any_kind_are_taken(tmp_path: Path, name: str) -> None:
    kernels = [{"name": name, "start_ns": 100 * at, "end_ns": 100 * at + 50} for at in range(4)]
    found = _section(*build(tmp_path, kernel=kernels))
    assert len(found.blocks) >= 2
