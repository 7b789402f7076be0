from pathlib import Path

from tests.building import build
from tests.mining.programs import STEP, train
from tracelode.mining.mine import find
from tracelode.reports.report import Chart, Section, Table
from tracelode.reports.sections.launches import section
from tracelode.store import Archive, Trace


def _section(trace: Trace, archive: Archive) -> Section:
    return section(trace, lambda analysis: find(trace, archive, analysis))


def test_delays_are_drawn_by_queue_and_told_by_stream(tmp_path: Path) -> None:
    found = _section(*train(tmp_path, *[STEP] * 8))
    chart, _, by_queue, by_stream = found.blocks
    assert isinstance(chart, Chart)
    assert chart.title == "Launch delay by queue"
    assert isinstance(by_queue, Table)
    assert isinstance(by_stream, Table)
    assert (by_queue.caption, by_stream.caption) == ("Delay by queue", "Launches by stream")
    assert "early" not in [column.key for column in by_stream.columns]
    assert found.sentence.startswith("From its launch to its start work waits 900 ns in the median")


def test_work_before_its_launch_has_a_column_and_a_note(tmp_path: Path) -> None:
    kernels = [{"start_ns": 50, "end_ns": 60, "name": "k", "correlation": 1}]
    found = _section(*build(tmp_path, kernel=kernels, api=[{"start_ns": 70, "end_ns": 75, "correlation": 1}]))
    (table,) = [block for block in found.blocks if isinstance(block, Table) and block.caption == "Launches by stream"]
    assert "early" in [column.key for column in table.columns]
    assert not any(isinstance(block, Chart) for block in found.blocks)
    assert found.notes[0].startswith("1 of 1 operation (100.0 %) start before the call that launched them")


def test_no_launches_are_not_collected(tmp_path: Path) -> None:
    found = _section(*build(tmp_path, kernel=[{"start_ns": 1, "end_ns": 2, "name": "k"}]))
    assert found.sentence == "Not collected: no launch of device work is known."
    assert found.notes == ("To see this, record the host's calls to the runtime together with the device work.",)
