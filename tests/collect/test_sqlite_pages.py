import random
import sqlite3
from contextlib import closing
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from tracelode.collect import sqlite_pages
from tracelode.collect.sqlite_pages import find_pages

INT, REAL, TEXT, BINARY = pa.int64(), pa.float64(), pa.string(), pa.binary()
KEYED = "create table t (id integer primary key, number, share real, words text)"
KINDS = {"id": INT, "number": INT, "share": REAL, "words": TEXT}

Row = tuple[Any, ...]


def _make(path: Path, *statements: str, rows: list[Row] | None = None) -> Path:
    path.unlink(missing_ok=True)
    with closing(sqlite3.connect(path)) as database:
        for statement in statements:
            database.execute(statement)
        if rows:
            database.executemany(f"insert into t values ({', '.join('?' * len(rows[0]))})", rows)
        database.commit()
    return path


def _root(path: Path) -> int:
    with closing(sqlite3.connect(path)) as database:
        return database.execute("select rootpage from sqlite_master where name = 't'").fetchone()[0]


def _read(path: Path, root: int, columns: dict[str, pa.DataType], alias: int = -1, least: int = 0) -> list[Row] | None:
    pages = find_pages(path, root)
    if pages is None or not pages.sound(least):
        return None
    found = [tuple(r.values()) for b in pages.batches(range(len(columns)), columns, alias) for r in b.to_pylist()]
    assert len(found) <= pages.count
    return [tuple(v.decode() if isinstance(v, bytes) else v for v in row) for row in found]


def _stored(path: Path) -> list[Row]:
    with closing(sqlite3.connect(f"file:{path}?mode=ro&immutable=1", uri=True)) as database:
        return database.execute("select * from t").fetchall()


NUMBERS = [
    *(0, 1, -1, 127, -128, 128, -32768, 32768, 2**23, -(2**23), 2**31, -(2**31) - 1, 2**47, -(2**47), 2**48),
    *(2**63 - 1, -(2**63)),
]


def test_numbers_of_every_width_reals_texts_and_row_ids_are_read(tmp_path: Path) -> None:
    rows: list[Row] = [(at * 1000, number, at / 4, "x" * at) for at, number in enumerate(NUMBERS)]
    rows += [(10**15, None, None, None), (10**16, 5, 3.0, "")]
    path = _make(tmp_path / "x", KEYED, rows=rows)
    assert _read(path, _root(path), KINDS, 0) == rows


def test_rows_before_a_column_was_added_have_none_there(tmp_path: Path) -> None:
    path = _make(
        tmp_path / "x",
        "create table t (a)",
        "insert into t values (1)",
        "alter table t add column b",
        "insert into t values (2, 3)",
    )
    assert _read(path, _root(path), {"a": INT, "b": INT}) == [(1, None), (2, 3)]
    assert _read(path, _root(path), {"a": INT, "b": INT}, least=1) == [(1, None), (2, 3)]
    assert _read(path, _root(path), {"a": INT, "b": INT}, least=2) is None


@pytest.mark.parametrize("page_bytes", [512, 4096, 65536])
def test_many_rows_over_several_levels_of_pages_are_read_in_order(tmp_path: Path, page_bytes: int) -> None:
    rows: list[Row] = [(i * 3, i * i, i / 2, f"row {i}") for i in range(20_000)]
    path = _make(tmp_path / "x", f"pragma page_size = {page_bytes}", KEYED, rows=rows)
    assert _read(path, _root(path), KINDS, 0) == rows


def test_rows_written_and_deleted_in_any_order_are_read_as_they_are(tmp_path: Path) -> None:
    shuffled = random.Random(3).sample(range(9000), 9000)
    path = _make(tmp_path / "x", KEYED, rows=[(i, i, i / 2, "w" * (i % 50)) for i in shuffled])
    with closing(sqlite3.connect(path)) as database:
        database.execute("delete from t where id % 3 = 0")
        database.execute("insert into t values (3, 33, 0, 'again')")
        database.commit()
    assert _read(path, _root(path), KINDS, 0) == _stored(path)


def test_a_value_of_another_type_ends_the_reading_before_its_row(tmp_path: Path) -> None:
    for wrong in ("text", b"bytes", 2.5):
        path = _make(tmp_path / "x", "create table t (a)", rows=[(1,), (2,), (wrong,), (4,)])
        assert _read(path, _root(path), {"a": INT}) == [(1,), (2,)]
    path = _make(tmp_path / "x", "create table t (a)", rows=[("one",), (2,)])
    assert _read(path, _root(path), {"a": TEXT}) == [("one",)]


def test_tables_that_are_not_plain_are_left_to_sqlite(tmp_path: Path) -> None:
    path = _make(tmp_path / "x", "create table t (a)", rows=[("x" * 5000,)])
    assert _read(path, _root(path), {"a": TEXT}) is None
    path = _make(tmp_path / "x", "create table t (a integer primary key) without rowid", "insert into t values (1)")
    assert _read(path, _root(path), {"a": INT}) is None
    assert find_pages(path, 0) is None
    assert find_pages(path, 77) is None


def test_an_empty_table_has_no_rows(tmp_path: Path) -> None:
    path = _make(tmp_path / "x", "create table t (a)")
    assert _read(path, _root(path), {"a": INT}) == []


def test_pages_of_deleted_rows_hold_none(tmp_path: Path) -> None:
    rows: list[Row] = [(i, i, i / 2, "word" * 20) for i in range(3000)]
    path = _make(tmp_path / "x", KEYED, rows=rows)
    with closing(sqlite3.connect(path)) as database:
        database.execute("delete from t where id between 500 and 2500")
        database.commit()
        assert database.execute("pragma freelist_count").fetchone()[0] > 10
    assert _read(path, _root(path), KINDS, 0) == rows[:500] + rows[2501:]


def test_more_text_than_there_is_room_for_ends_the_reading(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sqlite_pages, "TEXT_BYTES", 100)
    monkeypatch.setattr(sqlite_pages, "BLOCK_BYTES", 65_536)
    path = _make(tmp_path / "x", "create table t (a)", rows=[("x" * 60,), ("y" * 60,)])
    assert _read(path, _root(path), {"a": TEXT}) == [("x" * 60,)]


TYPED = (
    st.one_of(st.none(), st.sampled_from([0, 1]), st.integers(-(2**63), 2**63 - 1)),
    st.one_of(st.none(), st.integers(-1000, 1000), st.floats(allow_nan=False)),
    st.one_of(st.none(), st.text(st.characters(exclude_categories=["Cs"], exclude_characters="\0"), max_size=90)),
    st.one_of(st.none(), st.binary(max_size=90)),
)


@settings(max_examples=80, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(data=st.data())
def test_any_plain_table_is_read_as_sqlite_reads_it(tmp_path: Path, data: st.DataObject) -> None:
    keys = data.draw(st.lists(st.integers(-(2**63), 2**63 - 1), unique=True, max_size=40))
    some = data.draw(st.lists(st.tuples(*TYPED), min_size=1, max_size=8))
    page_bytes = data.draw(st.sampled_from([512, 1024, 65_536]))
    path = _make(
        tmp_path / "x",
        f"pragma page_size = {page_bytes}",
        "create table t (number integer, id integer primary key, share real, words text, data blob)",
        rows=[(row[0], key, *row[1:]) for key, row in zip(keys, some * 40, strict=False)],
    )
    with closing(sqlite3.connect(path)) as database:
        for key in data.draw(st.lists(st.sampled_from(keys), max_size=9)) if keys else []:
            database.execute("delete from t where id = ?", (key,))
        database.commit()
    columns = {"number": INT, "id": INT, "share": REAL, "words": TEXT, "data": BINARY}
    pages = find_pages(path, _root(path))
    assert pages is not None
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(sqlite_pages, "BLOCK_BYTES", max(page_bytes, 1024))
        patch.setattr(sqlite_pages, "BATCH_ROWS", data.draw(st.integers(1, 30)))
        if not pages.sound():
            assert page_bytes == 512  # too small for the longest rows: they overflow
            return
        batches = list(pages.batches(range(5), columns, 1))
    found = [tuple(row.values()) for batch in batches for row in batch.to_pylist()]
    stored = [(*row[:3], None if row[3] is None else row[3].encode(), row[4]) for row in _stored(path)]
    assert found == stored
    assert pages.count == len(stored)


def test_a_page_that_says_it_has_no_rows_is_not_sound_but_an_empty_table_is(tmp_path: Path) -> None:
    rows: list[Row] = [(i, i, i / 2, f"row {i}") for i in range(60)]
    path = _make(tmp_path / "x", "pragma page_size = 512", KEYED, rows=rows)
    root, content = _root(path), bytearray(path.read_bytes())
    last = len(content) - 512
    assert content[last] == 13  # a leaf of a table
    content[last + 3 : last + 5] = b"\0\0"
    path.write_bytes(content)
    pages = find_pages(path, root)
    assert pages is not None
    assert not pages.sound()
    above = (root - 1) * 512
    assert content[above] == 5  # the page above the leaves
    content[above + 3 : above + 5] = b"\0\0"
    path.write_bytes(content)
    assert find_pages(path, root) is None
    empty = find_pages(_make(tmp_path / "empty", "pragma page_size = 512", KEYED, rows=[]), root)
    assert empty is not None
    assert empty.sound()


def test_what_is_stored_in_the_place_of_a_row_id_is_not_read(tmp_path: Path) -> None:
    path = _make(tmp_path / "x", KEYED, rows=[(3, 5, 0.5, "words")])
    content = path.read_bytes()
    record = bytes([5, 0, 1, 7, 23, 5])
    assert content.count(record) == 1
    for kind in (8, 9, 12, 13):  # 0, 1, an empty blob, an empty text
        path.write_bytes(content.replace(record, bytes([5, kind, 1, 7, 23, 5])))
        assert _read(path, _root(path), KINDS, 0) == _stored(path) == [(3, 5, 0.5, "words")]


@settings(max_examples=150, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(data=st.data())
def test_a_damaged_file_is_left_to_sqlite_or_read_as_sqlite_reads_it(tmp_path: Path, data: st.DataObject) -> None:
    rows: list[Row] = [(i * 7, i * 1000, i / 2, f"row {i}") for i in range(60)]
    path = _make(tmp_path / "x", "pragma page_size = 512", KEYED, rows=rows)
    root, content = _root(path), bytearray(path.read_bytes())
    for _ in range(data.draw(st.integers(1, 3))):
        content[data.draw(st.integers(512, len(content) - 1))] = data.draw(st.integers(0, 255))
    path.write_bytes(content)
    with closing(sqlite3.connect(f"file:{path}?mode=ro&immutable=1", uri=True)) as database:
        database.text_factory = bytes
        try:
            said = database.execute("select * from t").fetchall()
        except sqlite3.Error:
            said = None
    pages = find_pages(path, root)
    if pages is None or not pages.sound():
        return
    kinds = {"id": INT, "number": INT, "share": REAL, "words": BINARY}
    found = [tuple(r.values()) for b in pages.batches(range(4), kinds, 0) for r in b.to_pylist()]
    assert said is not None
    assert found == said[: len(found)]
    if len(found) < len(said):  # a value of another type came next
        assert not all(
            isinstance(v, t)
            for v, t in zip(said[len(found)], (int, int | None, float | None, bytes | None), strict=True)
        )
