from pathlib import Path

import pytest

from tests.building import build
from tracelode.mining.mine import find
from tracelode.store.errors import NotCollected

CALL = {"name": "hipGraphLaunch"}


def test_work_of_a_graph_launch_is_replayed(tmp_path: Path) -> None:
    kernels = [{"start_ns": at, "end_ns": at + 10, "name": "k", "correlation": 1} for at in (50, 60, 80)]
    kernels += [{"start_ns": at, "end_ns": at + 10, "name": "k", "correlation": 3} for at in (250, 270)]
    kernels.append({"start_ns": 400, "end_ns": 450, "name": "k", "correlation": 2})
    copies = [{"start_ns": 90, "end_ns": 110, "correlation": 1}]
    calls = [
        {"start_ns": 0, "end_ns": 20, "correlation": 1} | CALL,
        {"start_ns": 30, "end_ns": 32, "correlation": 2},
        {"start_ns": 200, "end_ns": 210, "correlation": 3} | CALL,
    ]
    trace, archive = build(tmp_path, kernel=kernels, copy=copies, api=calls)
    found = find(trace, archive, "graph_replay")
    assert found.rows.to_dicts() == [
        {
            "process": 1,
            "device": 0,
            "graph": None,
            "evidence": "call",
            "launches": 2,
            "operations": 6,
            "operations_per_launch": 3.0,
            "time_ns": 70,
            "share": 70 / 120,
            "p50_span_ns": (60 + 30) / 2,
            "p50_call_ns": 15.0,
        }
    ]
    assert found.sentence == (
        "58.3 % of the summed device time (6 of 7 operations) is replayed from graphs, 3 a launch on average."
    )
    assert found.notes == ()
    assert trace.sql(found.sql).equals(found.rows)


def test_graphs_that_the_recording_names_are_told_apart_and_none_has_the_number_0(tmp_path: Path) -> None:
    kernels = [
        {"start_ns": 10 * at, "end_ns": 10 * at + 5, "name": "k", "graph": graph}
        for at, graph in enumerate((4, 4, 9, 0))
    ]
    found = find(*build(tmp_path, kernel=kernels), "graph_replay")
    assert found.rows.select("graph", "evidence", "launches", "operations", "operations_per_launch").rows() == [
        (4, "graph", 0, 2, None),
        (9, "graph", 0, 1, None),
    ]
    assert found.sentence == "75.0 % of the summed device time (3 of 4 operations) is replayed from graphs."


def test_kernels_of_one_call_count_as_replayed_and_that_is_said(tmp_path: Path) -> None:
    kernels = [{"start_ns": at, "end_ns": at + 10, "name": "k", "correlation": 1} for at in (50, 60)]
    found = find(*build(tmp_path, kernel=kernels, api=[{"start_ns": 0, "end_ns": 9, "correlation": 1}]), "graph_replay")
    assert found.rows["evidence"].to_list() == ["shared"]
    assert found.notes == (
        "2 operations of 20 ns count as replayed only since one call launched several kernels; nothing names a graph.",
    )


def test_rows_for_whole_graphs_are_said_to_be_unreliable_not_idle(tmp_path: Path) -> None:
    kernels = [
        {"start_ns": 100, "end_ns": 9800, "name": "hipGraphLaunch", "correlation": 1},
        {"start_ns": 9900, "end_ns": 10_200, "name": "k", "correlation": 2},
    ]
    calls = [{"start_ns": 0, "end_ns": 9, "correlation": 1} | CALL, {"start_ns": 20, "end_ns": 29, "correlation": 2}]
    found = find(*build(tmp_path, kernel=kernels, api=calls), "graph_replay")
    assert found.rows.select("evidence", "launches", "operations", "time_ns", "share").rows() == [
        ("whole", 1, 1, 9700, 0.97)
    ]
    assert found.sentence == (
        "97.0 % of the summed device time lies in 1 row that stands for a whole graph: what ran in it, and whether "
        "the device was busy, is not recorded."
    )
    assert "unreliable" in found.notes[0]


def test_whole_graphs_that_a_format_tells_from_kernels_count_as_well(tmp_path: Path) -> None:
    kernels = [{"start_ns": 0, "end_ns": 100, "name": "k", "correlation": 2}]
    spans = [
        {"start_ns": at, "end_ns": at + 150, "name": "graph 3", "kind": "graph", "id": 3, "device": 0, "stream": 7}
        for at in (200, 400)
    ]
    found = find(*build(tmp_path, kernel=kernels, range=spans), "graph_replay")
    assert found.rows.select("graph", "evidence", "launches", "operations", "time_ns", "share").rows() == [
        (3, "whole", 2, 2, 300, 0.75)
    ]
    assert found.sentence.startswith(
        "75.0 % of the summed device time lies in 2 rows that stand for a whole graph each"
    )


def test_no_graphs_is_an_answer_only_where_launches_are_known(tmp_path: Path) -> None:
    kernel = {"start_ns": 50, "end_ns": 60, "name": "k", "correlation": 1}
    known = build(tmp_path / "1", kernel=[kernel], api=[{"start_ns": 0, "end_ns": 9, "correlation": 1}])
    assert find(*known, "graph_replay").sentence == "No device work is replayed from a graph."
    with pytest.raises(NotCollected, match="neither graphs nor launches were recorded"):
        find(*build(tmp_path / "2", kernel=[kernel]), "graph_replay")
    with pytest.raises(NotCollected, match="no device work"):
        find(*build(tmp_path / "3", api=[{"start_ns": 0, "end_ns": 9}]), "graph_replay")
