import tracemalloc
from decimal import Decimal
from pathlib import Path
from typing import Any

import pyarrow.parquet as pq
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from tracelode.collect.graph_nodes import Nodes, json_text, nanoseconds
from tracelode.collect.sink import Sink
from tracelode.store import Archive

Row = dict[str, Any]


def written(folder: Path, rows: list[Row]) -> tuple[list[Row], dict[str, int]]:
    """The rows of the table without their nulls, and the notes' counts."""
    with Archive(folder).stage() as staging:
        sink = Sink(staging)
        nodes = Nodes(sink, 7)
        for row in rows:
            nodes.add({"kind": "operator"} | row, {"rf_id": 1})
        nodes.finish()
        notes = {note.kind: note.count for note in sink.finish()}
        staging.finish()
        table = pq.read_table(staging.path / "node.parquet").to_pylist()
    return [{k: v for k, v in row.items() if v is not None} for row in table], notes


def test_a_circle_of_parents_is_opened_and_what_hangs_below_it_kept(tmp_path: Path) -> None:
    parents = {1: None, 2: 1, 3: 5, 4: 3, 5: 4, 6: 5, 7: 7}
    rows, notes = written(tmp_path, [{"id": n, "parent": p} for n, p in parents.items()])
    assert {row["id"]: row.get("parent") for row in rows} == {1: None, 2: 1, 3: None, 4: None, 5: None, 6: 5, 7: None}
    assert [row.get("args") for row in rows if row["id"] in (3, 4, 5)] == [
        '{"parent": 5}',
        '{"parent": 3}',
        '{"parent": 4}',
    ]
    assert notes == {"parent-circle": 3}


@settings(max_examples=40, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(st.lists(st.tuples(st.integers(0, 6), st.none() | st.integers(0, 8)), min_size=1, max_size=12))
def test_the_way_up_from_every_node_ends(tmp_path: Path, links: list[tuple[int, int | None]]) -> None:
    rows, _ = written(tmp_path, [{"id": number, "parent": parent} for number, parent in links])
    above: dict[int, set[int]] = {}
    for row in rows:
        above.setdefault(row["id"], set()).update({row["parent"]} if "parent" in row else ())
    for start in above:
        reached, steps = {start}, 0
        while reached and steps <= len(above):
            reached = {parent for one in reached for parent in above.get(one, ())}
            steps += 1
        assert not reached


def test_ids_that_repeat_or_lack_and_parents_that_are_elsewhere_are_noted(tmp_path: Path) -> None:
    rows, notes = written(tmp_path, [{"id": 1}, {"id": 1, "parent": 9}, {"id": None, "name": "no id"}])
    assert len(rows) == 3
    assert notes == {"repeated-node-id": 1, "no-node-id": 1, "orphan-node": 1}


def test_circles_and_orphans_are_found_among_numbers_that_no_column_holds(tmp_path: Path) -> None:
    far, farther = 2**64, -(2**63)
    links = [(far, farther), (farther, far), (3, far), (4, 2**70), (5, 4)]
    rows, notes = written(tmp_path, [{"id": number, "parent": parent} for number, parent in links])
    assert sorted((row.get("id", 0), row.get("parent"), row.get("args")) for row in rows) == [
        (farther, None, f'{{"parent": {far}}}'),
        (0, None, f'{{"parent": {farther}}}'),
        (3, None, None),
        (4, None, None),
        (5, 4, None),
    ]
    assert notes == {"parent-circle": 2, "orphan-node": 1, "out-of-range": 3}


def test_a_long_way_up_and_a_circle_below_it_are_told_apart(tmp_path: Path) -> None:
    parents = {number: number + 1 for number in range(5000)} | {5000: None, 6000: 6001, 6001: 6000}
    rows, notes = written(tmp_path, [{"id": number, "parent": parent} for number, parent in parents.items()])
    assert [row["id"] for row in rows if "parent" not in row] == [5000, 6000, 6001]
    assert notes == {"parent-circle": 2}


def test_nodes_wait_on_disk(tmp_path: Path) -> None:
    with Archive(tmp_path).stage() as staging:
        nodes = Nodes(Sink(staging), 7)
        held: list[int] = []
        tracemalloc.start()
        for number in range(40_960):
            nodes.add({"id": number, "kind": "operator", "inputs": f"[{number:0100}]"}, {"rf_id": 1})
            if number in (8191, 40_959):
                held.append(tracemalloc.get_traced_memory()[0])
        tracemalloc.stop()
        assert held[1] < held[0] + 200_000
        assert nodes.finish() == 40_960


def test_numbers_that_no_column_holds_become_null(tmp_path: Path) -> None:
    rows, notes = written(tmp_path, [{"id": 2**64, "name": "far"}, {"id": 2, "parent": 2**70}])
    assert [(row.get("id"), row.get("parent")) for row in rows] == [(2, None), (None, None)]
    assert notes == {"orphan-node": 1, "out-of-range": 2}


@pytest.mark.parametrize(
    ("micros", "expected"),
    [
        (5, 5000),
        (0, 0),
        (Decimal("1767225600000000.123"), 1767225600000000123),
        (Decimal("1e400"), None),
        (10**30, None),
        ("5", None),
        (True, None),
        (None, None),
    ],
)
def test_microseconds_become_nanoseconds_exactly_or_not_at_all(micros: Any, expected: int | None) -> None:
    assert nanoseconds(micros) == expected


def test_json_keeps_every_digit_and_leaves_out_what_is_too_deep(tmp_path: Path) -> None:
    deep: list[Any] = []
    for _ in range(5000):
        deep = [deep]
    with Archive(tmp_path).stage() as staging:
        sink = Sink(staging)
        assert json_text([1, "é", None], sink) == '[1, "é", null]'
        assert json_text({"a": Decimal("0.10")}, sink) == '{"a": 0.10}'
        assert json_text(deep, sink) is None
        assert [(note.kind, note.count) for note in sink.finish()] == [("too-deep", 1)]
