import gzip
import math
import os
import shutil
import sqlite3
from collections import Counter
from collections.abc import Callable
from contextlib import closing
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from tracelode.collect import sqlite, sqlite_file
from tracelode.collect.files import TraceFile, open_file
from tracelode.collect.sqlite import open_database, schema
from tracelode.store.errors import UnreadableFile

INT, REAL, TEXT, BINARY = pa.int64(), pa.float64(), pa.string(), pa.binary()


@pytest.fixture
def make(tmp_path: Path) -> Callable[..., TraceFile]:
    """Runs statements in a new database and opens the file."""

    def make(*statements: str, name: str = "some.sqlite") -> TraceFile:
        path = tmp_path / name
        with closing(sqlite3.connect(path)) as database:
            for statement in statements:
                database.execute(statement)
            database.commit()
        return open_file(path)

    return make


def _rows(file: TraceFile, table: str, columns: dict[str, pa.DataType]) -> tuple[list[tuple[Any, ...]], Counter[str]]:
    notes: Counter[str] = Counter()

    def note(kind: str, meaning: str, *, count: int = 1, example: str | None = None) -> None:
        assert meaning and example
        notes[kind] += count

    with open_database(file) as database:
        found = [tuple(row.values()) for batch in database.batches(table, columns) for row in batch.to_pylist()]
        database.report(note)
    return found, notes


def test_rows_come_in_stored_order_with_the_columns_asked_for(make: Callable[..., TraceFile]) -> None:
    file = make(
        "create table t (id integer primary key, name text, share real, data blob, more)",
        "insert into t values (7, 'b', 0.5, x'00ff', 1), (3, 'a', 2, null, null), (9, null, null, x'', 2)",
    )
    columns = {"name": TEXT, "absent": INT, "id": INT, "share": REAL, "data": BINARY, "missing": TEXT}
    found, notes = _rows(file, "t", columns)
    assert found == [
        ("a", None, 3, 2.0, None, None),
        ("b", None, 7, 0.5, b"\x00\xff", None),
        (None, None, 9, None, b"", None),
    ]
    assert not notes


def test_the_schema_gives_real_tables_with_what_their_columns_are_declared_as(make: Callable[..., TraceFile]) -> None:
    file = make(
        "create table t (a INTEGER NOT NULL, b VARCHAR(9), c BLOB, d DOUBLE, e, f as (a + 1))",
        "create view v as select * from t",
    )
    assert schema(file) == {"t": {"a": INT, "b": TEXT, "c": BINARY, "d": REAL, "e": INT}}
    with open_database(file) as database:
        assert database.views == {"v"}


@pytest.mark.parametrize("large", [0, 1 << 24])
def test_a_table_goes_by_the_name_that_is_asked_for_whatever_the_case_of_its_own(
    make: Callable[..., TraceFile], monkeypatch: pytest.MonkeyPatch, large: int
) -> None:
    monkeypatch.setattr(sqlite, "LARGE_FILE", large)
    statements = (
        "create table KIND_kERNEL (a integer)",
        "insert into kind_kernel values (7)",
        "create table Other (b)",
    )
    file = make(*statements, "create view STRINGS as select 1", 'create table "KIND_\u212aERNEL" (c)')
    with open_database(file, ("KIND_KERNEL", "Strings", "OTHER", "absent")) as database:
        # The sign for kelvin is a letter of its own to SQLite, which folds those of ASCII alone.
        assert {name: list(columns) for name, columns in database.tables.items()} == {
            "KIND_KERNEL": ["a"],
            "OTHER": ["b"],
            "KIND_\u212aERNEL": ["c"],
        }
        assert database.views == {"Strings"}
        assert (database.damage("KIND_KERNEL"), database.count("KIND_KERNEL")) == (None, 1)
        assert database.rows("KIND_KERNEL", "a", (7,)) == [{"a": 7}]
        assert [batch.to_pylist() for batch in database.batches("KIND_KERNEL", {"a": INT})] == [[{"a": 7}]]
    with open_database(file) as database:
        assert {"KIND_kERNEL", "Other"} < database.tables.keys()


def test_a_virtual_table_is_not_a_table(make: Callable[..., TraceFile]) -> None:
    file = make("create virtual table v using fts3(words)", "create table t (a)")
    with open_database(file) as database:
        assert "v" in database.views
        assert "t" in database.tables


def test_what_is_no_database_has_no_schema(tmp_path: Path) -> None:
    (tmp_path / "x").write_text("SQLite format 4")
    assert schema(open_file(tmp_path / "x")) is None


def test_numbers_written_as_text_are_read_and_what_is_no_number_is_null_and_counted(
    make: Callable[..., TraceFile],
) -> None:
    file = make(
        "create table t (a, b)",
        "insert into t values (1, 1.5), ('22', '2.5'), (3.0, 4), ('x', 'y'), (3.5, x'ff'), (null, null), (x'39', 6)",
    )
    found, notes = _rows(file, "t", {"a": INT, "b": REAL})
    assert found == [(1, 1.5), (22, 2.5), (3, 4.0), (None, None), (None, None), (None, None), (9, 6.0)]
    assert notes == {"ill-typed": 4}


def test_a_wrong_type_far_behind_the_first_rows_loses_no_row(make: Callable[..., TraceFile]) -> None:
    many = "with recursive n (i) as (select 1 union all select i + 1 from n where i < 70000)"
    file = make("create table t (a)", f"insert into t {many} select i from n", "insert into t values ('x'), (5)")
    found, notes = _rows(file, "t", {"a": INT})
    assert found == [*((i,) for i in range(1, 70001)), (None,), (5,)]
    assert notes == {"ill-typed": 1}


def test_texts_after_many_nulls_are_texts(make: Callable[..., TraceFile]) -> None:
    many = "with recursive n (i) as (select 1 union all select i + 1 from n where i < 70000)"
    file = make("create table t (a text, b real)", f"insert into t {many} select null, null from n")
    with closing(sqlite3.connect(file.path)) as database:
        database.execute("insert into t values ('late', 0.25)")
        database.commit()
    found, _ = _rows(file, "t", {"a": TEXT, "b": REAL})
    assert found == [*[(None, None)] * 70000, ("late", 0.25)]


def test_text_that_is_not_utf8_is_mended_and_counted(make: Callable[..., TraceFile]) -> None:
    file = make("create table t (a text)", "insert into t values ('fine'), (cast(x'6bff6b' as text))")
    assert _rows(file, "t", {"a": TEXT}) == ([("fine",), ("k\N{REPLACEMENT CHARACTER}k",)], Counter({"bad-text": 1}))
    with open_database(file) as database:
        assert database.rows("t") == [{"a": "fine"}, {"a": "k\N{REPLACEMENT CHARACTER}k"}]


def test_a_database_in_utf16_is_read(make: Callable[..., TraceFile]) -> None:
    file = make("pragma encoding = 'UTF-16le'", "create table t (a text, b)", "insert into t values ('größe', 5)")
    assert _rows(file, "t", {"a": TEXT, "b": INT})[0] == [("größe", 5)]


def test_hostile_names_are_only_names(make: Callable[..., TraceFile]) -> None:
    name, column = "x\"; drop table t; --'", "a'\"b"
    quoted = name.replace('"', '""'), column.replace('"', '""')
    file = make(f'create table "{quoted[0]}" ("{quoted[1]}")', f'insert into "{quoted[0]}" values (4)')
    assert _rows(file, name, {column: INT})[0] == [(4,)]
    with open_database(file) as database:
        assert (database.damage(name), database.count(name)) == (None, 1)
        assert database.rows(name, column, (4, 5)) == [{column: 4}]
        assert database.rows(name, "absent", (4,)) == []


@pytest.mark.parametrize(
    "statements",
    [
        ("create table t (a text, b)", "insert into t values ('x', 1), (printf('%9000c', 'y'), 2), ('z', 3)"),
        ("create table t (a text primary key, b) without rowid", "insert into t values ('x', 1), ('z', 3)"),
        ("pragma encoding = 'UTF-16be'", "create table t (a text, b)", "insert into t values ('größe', 1)"),
        ("create table t (a)", "insert into t values ('x')", "alter table t add column b default 7"),
        ("create table t (a text, b as (a || 'c'))", "insert into t (a) values ('x')"),
        ("create table t (a text, b integer primary key desc)", "insert into t values ('x', 9), ('y', 2)"),
        ("create table t (a text, b)", "insert into t values (1, 'one'), ('x', 1), (x'ff', 2.5)"),
        (
            "create table t (b integer primary key, a integer, description)",
            "insert into t values (5, 7, 1), (9, -1, 1)",
        ),
    ],
)
def test_what_the_pages_of_a_large_file_do_not_tell_sqlite_tells(
    make: Callable[..., TraceFile], monkeypatch: pytest.MonkeyPatch, statements: tuple[str, ...]
) -> None:
    file, columns = make(*statements), {"a": TEXT, "b": INT}
    expected = _rows(file, "t", columns)
    assert expected[0]
    monkeypatch.setattr(sqlite, "LARGE_FILE", 0)
    assert _rows(file, "t", columns) == expected


@pytest.mark.parametrize(
    "name", ["a b.sqlite", "50%.sqlite", "%41.sqlite", "x?mode=rw.sqlite", "#1.sqlite", "é\udcff.db"]
)
def test_any_path_can_be_opened(make: Callable[..., TraceFile], tmp_path: Path, name: str) -> None:
    made = make("create table t (a)", "insert into t values (1)")
    odd = Path(os.fsdecode(os.fsencode(tmp_path / name)))
    shutil.copy(made.path, odd)
    assert _rows(open_file(odd), "t", {"a": INT})[0] == [(1,)]
    assert {path.name for path in tmp_path.iterdir()} == {"some.sqlite", name}


def test_a_file_that_was_cut_is_refused_with_how_much_is_there(make: Callable[..., TraceFile], tmp_path: Path) -> None:
    file = make("create table t (a)", "insert into t values (zeroblob(9000))")
    cut = tmp_path / "cut.sqlite"
    cut.write_bytes(file.path.read_bytes()[:8192])
    with pytest.raises(UnreadableFile, match=r"cut\.sqlite: cut short: 2 of 4 pages"):
        open_database(open_file(cut))
    with pytest.raises(UnreadableFile, match="cut short"):
        schema(open_file(cut))
    cut.write_bytes(file.path.read_bytes()[:50])
    with pytest.raises(UnreadableFile, match="ends in its header"):
        open_database(open_file(cut))


def test_a_damaged_table_is_told_before_its_rows_are_read(make: Callable[..., TraceFile], tmp_path: Path) -> None:
    numbers = "with recursive n (i) as (select 1 union all select i + 1 from n where i < 3000)"
    file = make("create table good (a)", "create table bad (a)", f"insert into bad {numbers} select i from n")
    content = bytearray(file.path.read_bytes())
    content[4096 * 4 + 3 : 4096 * 4 + 5] = b"\xff\xff"  # the number of cells of a leaf
    broken = tmp_path / "broken.sqlite"
    broken.write_bytes(content)
    with open_database(open_file(broken)) as database:
        assert database.damage("good") is None
        assert database.damage("bad")


def test_a_query_that_never_ends_is_stopped(make: Callable[..., TraceFile], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sqlite_file, "STEPS", 1_000)
    sound = sqlite_file.examine(make("create table t (a)"))
    endless = "with recursive n (i) as (select 1 union all select i + 1 from n) select count(*) from n"
    running = closing(sqlite_file.connect(sound))
    with running as connection, pytest.raises(sqlite3.OperationalError, match="interrupted"):
        connection.execute(endless)


def test_a_connection_can_change_nothing(make: Callable[..., TraceFile]) -> None:
    sound = sqlite_file.examine(make("create table t (a)"))
    with closing(sqlite_file.connect(sound)) as connection, pytest.raises(sqlite3.OperationalError, match="readonly"):
        connection.execute("insert into t values (1)")


def test_of_an_endless_table_of_names_the_beginning_is_read(
    make: Callable[..., TraceFile], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(sqlite, "SMALL_ROWS", 2)
    notes: list[tuple[str, str]] = []
    with open_database(make("create table t (a)", "insert into t values (1), (2), (3)")) as database:
        assert database.rows("t") == [{"a": 1}, {"a": 2}]
        database.report(lambda kind, meaning, count, example: notes.append((kind, example)))
    assert notes == [("long-table", "t")]


def test_a_hot_journal_is_refused_and_a_finished_one_is_not(make: Callable[..., TraceFile]) -> None:
    file = make("create table t (a)", "insert into t values (1)")
    journal = file.path.with_name("some.sqlite-journal")
    journal.write_bytes(bytes.fromhex("d9d505f920a163d7") + bytes(504))
    with pytest.raises(UnreadableFile, match=r"a write was interrupted: some\.sqlite-journal"):
        open_database(file)
    journal.write_bytes(bytes(512))
    assert _rows(file, "t", {"a": INT})[0] == [(1,)]


def test_rows_in_a_write_ahead_log_are_read_and_told(tmp_path: Path) -> None:
    path = tmp_path / "live.sqlite"
    with closing(sqlite3.connect(path)) as writer:
        writer.execute("pragma journal_mode = wal")
        writer.execute("create table t (a)")
        writer.execute("insert into t values (1)")
        writer.commit()
        assert _rows(open_file(path), "t", {"a": INT}) == ([(1,)], Counter({"write-ahead-log": 1}))


def test_reading_leaves_nothing_beside_the_file(make: Callable[..., TraceFile], tmp_path: Path) -> None:
    file = make("pragma journal_mode = wal", "create table t (a)", "insert into t values (1)")
    before = file.path.read_bytes()
    assert _rows(file, "t", {"a": INT})[0] == [(1,)]
    assert [path.name for path in tmp_path.iterdir()] == ["some.sqlite"]
    assert file.path.read_bytes() == before


def test_a_compressed_database_is_read_from_a_copy_that_goes_with_it(
    make: Callable[..., TraceFile], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    plain = make("create table t (a)", "insert into t values (1)")
    packed = tmp_path / "some.sqlite.gz"
    packed.write_bytes(gzip.compress(plain.path.read_bytes()))
    (tmp_path / "scratch").mkdir()
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path / "scratch"))
    file = open_file(packed)
    assert schema(file) == {"t": {"a": INT}}
    assert _rows(file, "t", {"a": INT})[0] == [(1,)]
    assert file.sha256 == plain.digest()
    assert len(list((tmp_path / "scratch").iterdir())) == 1
    del file
    assert not list((tmp_path / "scratch").iterdir())


VALUES = st.one_of(
    st.none(),
    st.integers(-(2**63), 2**63 - 1),
    st.floats(allow_nan=False, allow_infinity=False),
    st.text(st.characters(exclude_categories=["Cs"], exclude_characters="\0"), max_size=5),
    st.binary(max_size=5),
)


def _expected(value: Any, kind: pa.DataType) -> Any:
    """What the value is in the type asked for, said as plainly as it goes."""
    if value is None:
        return None
    value = value.encode() if isinstance(value, str) else value
    try:
        if kind == INT:
            number = int(value) if not isinstance(value, float) or value.is_integer() else None
            return number if number is not None and -(2**63) <= number < 2**63 else None
        return float(value) if math.isfinite(float(value)) else None
    except ValueError:
        return None


@settings(max_examples=60, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(rows=st.lists(st.tuples(VALUES, VALUES), max_size=12), pages=st.booleans())
def test_values_of_any_type_are_read_as_they_are_or_are_null(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, rows: list[tuple[Any, Any]], pages: bool
) -> None:
    monkeypatch.setattr(sqlite, "LARGE_FILE", 0 if pages else 1 << 60)
    path = tmp_path / "values.sqlite"
    path.unlink(missing_ok=True)
    with closing(sqlite3.connect(path)) as database:
        database.execute("create table t (a, b)")
        database.executemany("insert into t values (?, ?)", rows)
        database.commit()
        stored = database.execute("select a, b from t").fetchall()
    found, notes = _rows(open_file(path), "t", {"a": INT, "b": REAL})
    assert found == [(_expected(a, INT), _expected(b, REAL)) for a, b in stored]
    lost = sum(
        v is not None and e is None for row, f in zip(stored, found, strict=True) for v, e in zip(row, f, strict=True)
    )
    assert notes["ill-typed"] == lost
