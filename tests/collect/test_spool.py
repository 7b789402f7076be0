from pathlib import Path

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from tracelode.collect import spool as spool_module
from tracelode.collect.ordering import Lanes, in_order
from tracelode.collect.spool import NOTHING, REPEATED, Spool, compact, joined

PIECES = [
    {"start_ns": [5, 1], "name": ["a", None]},
    {"start_ns": [4], "bytes": [7]},
    {"start_ns": [3, 9, 2], "name": ["b", "a", "c"]},
]
ROWS = [
    {"start_ns": 5, "name": "a", "bytes": None},
    {"start_ns": 1, "name": None, "bytes": None},
    {"start_ns": 4, "name": None, "bytes": 7},
    {"start_ns": 3, "name": "b", "bytes": None},
    {"start_ns": 9, "name": "a", "bytes": None},
    {"start_ns": 2, "name": "c", "bytes": None},
]


@pytest.fixture(params=[1, 2, 4, 100])
def spool(request: pytest.FixtureRequest, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Spool:
    monkeypatch.setattr(spool_module, "RUN_ROWS", request.param)
    monkeypatch.setattr(spool_module, "CHUNK_ROWS", 4)
    spool = Spool(tmp_path / "rows")
    for piece in PIECES:
        spool.append(pa.table(piece))
    return spool


def test_rows_come_back_in_any_order_wherever_they_waited(spool: Spool) -> None:
    assert len(spool) == 6
    assert spool.columns == ("start_ns", "name", "bytes")
    assert [row for piece in spool.pieces() for row in piece.to_pylist()] == ROWS
    order = np.array([1, 5, 3, 2, 0, 4])
    pieces = list(spool.ordered(order))
    assert [part for part, _ in pieces] == [slice(0, 4), slice(4, 6)]
    assert [row for _, piece in pieces for row in piece.to_pylist()] == [ROWS[i] for i in order]
    names = [piece.to_pydict() for piece in spool.pieces(["name", "gone"])]
    assert [name for piece in names for name in piece["name"]] == [row["name"] for row in ROWS]
    assert {key for piece in names for key in piece} == {"name"}


def test_whole_columns_come_as_numbers(spool: Spool) -> None:
    assert spool.numbers("start_ns").tolist() == [5, 1, 4, 3, 9, 2]
    assert spool.numbers("bytes").tolist() == [NOTHING, NOTHING, 7, NOTHING, NOTHING, NOTHING]
    assert spool.numbers("gone").tolist() == [NOTHING] * 6


def test_only_many_rows_lie_on_disk_and_closing_removes_them(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(spool_module, "RUN_ROWS", 3)
    spool = Spool(tmp_path / "rows")
    spool.append(pa.table({"x": [1, 2]}))
    assert list(tmp_path.iterdir()) == []
    spool.append(pa.table({"x": [3]}))
    assert [path.name for path in tmp_path.iterdir()] == ["rows"]
    assert spool.numbers("x").tolist() == [1, 2, 3]
    spool.close()
    assert list(tmp_path.iterdir()) == []


def test_a_few_rows_do_not_keep_the_others_in_memory(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(spool_module, "RUN_ROWS", 10_000)
    spool = Spool(tmp_path / "rows")
    words = pa.DictionaryArray.from_arrays(pa.array([0] * 10_000, pa.int32()), pa.array(["word"]))
    spool.append(pa.table({"x": range(10_000), "name": words}))
    few = spool.rows(np.arange(20, 30))
    assert few.to_pylist() == [{"x": x, "name": "word"} for x in range(20, 30)]
    assert few.get_total_buffer_size() < 1_000
    spool.close()


def test_a_dictionary_keeps_only_what_is_used_when_it_holds_much_else() -> None:
    words = pa.array([f"word {i}" for i in range(200)])
    column = pa.DictionaryArray.from_arrays(pa.array([199, None, 3, 199], pa.int32()), words)
    small = compact(column)
    assert small.to_pylist() == ["word 199", None, "word 3", "word 199"]
    assert small.dictionary.to_pylist() == ["word 3", "word 199"]
    few = pa.DictionaryArray.from_arrays(pa.array([0], pa.int32()), pa.array(["a", "b"]))
    assert compact(few) is few


def test_pieces_of_either_kind_of_text_join_to_one() -> None:
    plain = pa.table({"name": ["a", "b"]})
    coded = pa.table({"name": pa.array(["b", None]).dictionary_encode(), "x": [1, 2]})
    both = joined([plain, coded])
    assert both.schema.field("name").type == REPEATED
    assert both.to_pydict() == {"name": ["a", "b", "b", None], "x": [None, None, 1, 2]}


def test_lanes_are_numbered_in_the_order_of_their_values_with_null_last(tmp_path: Path) -> None:
    first, second = Spool(tmp_path / "a"), Spool(tmp_path / "b")
    first.append(pa.table({"process": [2, 1, 1], "thread": [5, 9, None]}))
    second.append(pa.table({"process": [1, 2], "thread": [9, -4]}))
    lanes = Lanes([first, second], ("process", "thread"))
    assert lanes.values.tolist() == [[1, 9], [1, NOTHING], [2, -4], [2, 5]]
    assert [codes.tolist() for codes in lanes.codes] == [[3, 0, 1], [0, 2]]


@settings(deadline=None, max_examples=100, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(st.lists(st.tuples(st.integers(0, 3), st.integers(0, 5), st.integers(0, 5)), max_size=30))
def test_rows_are_in_order_as_a_stable_sort_has_them(rows: list[tuple[int, int, int]]) -> None:
    lane, start, end = (np.array([row[i] for row in rows], np.int64) for i in range(3))
    codes = lane.astype(np.int32)
    assert in_order(codes, start, lambda: end).tolist() == sorted(range(len(rows)), key=rows.__getitem__)
    assert in_order(codes, start).tolist() == sorted(range(len(rows)), key=lambda i: rows[i][:2])
