from pathlib import Path

from tests.building import build
from tracelode.mining.mine import find
from tracelode.reports.report import Section, Table, Text
from tracelode.reports.sections.graph_replay import section
from tracelode.store import Archive, Trace


def _section(trace: Trace, archive: Archive) -> Section:
    return section(trace, lambda analysis: find(trace, archive, analysis))


def test_replayed_work_is_told_with_how_it_is_known(tmp_path: Path) -> None:
    kernels = [{"start_ns": at, "end_ns": at + 10, "name": "k", "correlation": 1} for at in (50, 60)]
    calls = [{"start_ns": 0, "end_ns": 9, "correlation": 1, "name": "cudaGraphLaunch"}]
    found = _section(*build(tmp_path, kernel=kernels, api=calls))
    table, text = found.blocks
    assert isinstance(table, Table)
    assert "graph" not in [column.key for column in table.columns]
    assert text == Text("Known by call: the host call that launched it launches graphs.")


def test_without_graphs_there_is_a_sentence_alone(tmp_path: Path) -> None:
    kernels = [{"start_ns": 50, "end_ns": 60, "name": "k", "correlation": 1}]
    found = _section(*build(tmp_path, kernel=kernels, api=[{"start_ns": 0, "end_ns": 9, "correlation": 1}]))
    assert (found.sentence, found.blocks) == ("No device work is replayed from a graph.", ())
