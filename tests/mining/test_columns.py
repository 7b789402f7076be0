from pathlib import Path

import numpy as np
import pyarrow.parquet as pq
import pytest

from tests.building import build
from tracelode.mining.columns import MISSING, chosen, joined, numbers, words
from tracelode.store import ArchiveError


def _file(folder: Path) -> Path:
    kernels = [
        {"start_ns": 10, "end_ns": 15, "name": "b", "grid_x": 4},
        {"start_ns": 20, "end_ns": 30, "name": None, "grid_x": None},
        {"start_ns": 40, "end_ns": 41, "name": "a", "grid_x": 2},
        {"start_ns": 50, "end_ns": 52, "name": "b", "grid_x": 4},
    ]
    return build(folder, kernel=kernels)[0].files["kernel"]


def test_numbers_are_read_with_ends_and_a_mark_where_there_is_none(tmp_path: Path) -> None:
    found = numbers(_file(tmp_path), ("end_ns", "grid_x", "duration_ns", "graph"))
    assert {name: column.tolist() for name, column in found.items()} == {
        "end_ns": [15, 30, 41, 52],
        "grid_x": [4, MISSING, 2, 4],
        "duration_ns": [5, 10, 1, 2],
        "graph": [MISSING] * 4,
    }


def test_text_is_read_as_numbers_of_its_different_words(tmp_path: Path) -> None:
    found = words(_file(tmp_path), "name")
    assert [found.texts[code] for code in found.code] == ["b", None, "a", "b"]
    assert found.are("b").tolist() == [True, False, False, True]
    assert found.are(None).tolist() == [False, True, False, False]
    assert not found.are("c").any()


def test_row_groups_with_dictionaries_of_their_own_have_one_numbering(tmp_path: Path) -> None:
    file = _file(tmp_path)
    pq.write_table(pq.read_table(file), file, row_group_size=1)
    found = words(file, "name")
    assert [found.texts[code] for code in found.code] == ["b", None, "a", "b"]


def test_a_column_that_older_files_lack_is_missing_in_every_row(tmp_path: Path) -> None:
    file = _file(tmp_path)
    pq.write_table(pq.read_table(file).drop_columns(["grid_x", "name"]), file)
    assert numbers(file, ("grid_x",))["grid_x"].tolist() == [MISSING] * 4
    assert words(file, "name").are(None).all()


def test_a_table_without_rows_gives_empty_columns(tmp_path: Path) -> None:
    file = _file(tmp_path)
    pq.write_table(pq.read_table(file).slice(0, 0), file)
    assert numbers(file, ("end_ns",))["end_ns"].tolist() == []
    assert words(file, "name").code.tolist() == []


def test_rows_are_chosen_and_those_of_several_tables_joined() -> None:
    rows = {"a": np.array([1, 2, 3]), "b": np.array([4, 5, 6])}
    first, last = chosen(rows, np.array([True, False, True])), chosen(rows, slice(1, 2))
    found = {name: column.tolist() for name, column in joined([first, last]).items()}
    assert found == {"a": [1, 3, 2], "b": [4, 6, 5]}
    assert joined([rows]) is rows
    for whole in (np.array([True, True, True]), np.arange(3)):
        assert all(column is rows[name] for name, column in chosen(rows, whole).items())
    assert chosen(rows, np.array([0, 2, 1]))["a"].tolist() == [1, 3, 2]
    assert chosen(rows, np.array([0, 1]))["a"].tolist() == [1, 2]


def test_a_damaged_file_is_told_with_what_to_do(tmp_path: Path) -> None:
    file = _file(tmp_path)
    file.write_bytes(file.read_bytes()[:-20])
    with pytest.raises(ArchiveError, match="table kernel: ") as told:
        numbers(file, ("start_ns",))
    assert told.value.hint == "check the archive: tracelode fsck"
