import multiprocessing
import re
import shutil
import threading
from dataclasses import replace
from pathlib import Path

import duckdb
import pytest

from tracelode.store import Archive, ArchiveError, Error, Facts, Membership, Note, Source

from .rows import SOURCE, add, kernel, rows

A, B = "a" * 64, "b" * 64


def test_a_trace_comes_back_as_it_went_in(tmp_path: Path) -> None:
    note = Note("truncated", 1, "ends early", "at byte 9")
    add(Archive(tmp_path / "t"), A, kernel("gemm", 5, 9), notes=(note,))
    trace = Archive(tmp_path / "t").open("aaaa")
    assert trace.id == A
    assert trace.facts == Facts("kineto", producer="test")
    assert trace.notes == (note,)
    assert trace.rows == {"kernel": 1}
    assert trace.kernel.select("name", "start_ns", "end_ns").collect().rows() == [("gemm", 5, 9)]


def test_the_same_content_twice_is_one_trace(tmp_path: Path) -> None:
    archive = Archive(tmp_path)
    add(archive, A, kernel("first", 0, 1))
    add(archive, A, kernel("second", 0, 1))
    assert [m.id for m in archive.manifests()] == [A]
    assert archive.sql("select name from kernel").rows() == [("first",)]


def test_a_newer_reader_replaces_what_an_older_one_read(tmp_path: Path) -> None:
    archive = Archive(tmp_path)
    add(archive, A, kernel("old", 0, 1))
    with archive.stage() as staging:
        staging.write("kernel", rows("kernel", kernel("new", 0, 1)))
        newer = Source(SOURCE.path, 12, 34, "kineto", 2)
        archive.commit(staging, id=A, source=newer, facts=Facts("kineto"), notes=())
    assert archive.sql("select name from kernel").rows() == [("new",)]
    assert list((tmp_path / ".staging").iterdir()) == []


def test_leaving_the_block_without_commit_leaves_nothing(tmp_path: Path) -> None:
    archive = Archive(tmp_path)
    with pytest.raises(RuntimeError), archive.stage() as staging:
        staging.write("kernel", rows("kernel", kernel("gemm", 0, 1)))
        raise RuntimeError
    assert archive.manifests() == []
    assert list((tmp_path / ".staging").iterdir()) == []


def test_an_id_that_fits_none_or_several_traces_is_refused(tmp_path: Path) -> None:
    archive = Archive(tmp_path)
    add(archive, "ab" + "0" * 62, kernel("x", 0, 1))
    add(archive, "ac" + "0" * 62, kernel("x", 0, 1))
    assert archive.open("ab").id.startswith("ab")
    with pytest.raises(Error, match="2 traces"):
        archive.open("a")
    with pytest.raises(Error, match="no trace"):
        archive.open("f")
    with pytest.raises(Error, match="no trace"):
        archive.open("../traces/a*")


def test_a_file_already_read_is_found_by_path_size_and_time(tmp_path: Path) -> None:
    archive = Archive(tmp_path / "t")
    source = Source("/data/run.json", 2, 34, "kineto", 1)
    with archive.stage() as staging:
        staging.write("kernel", rows("kernel", kernel("x", 0, 1)))
        archive.commit(staging, id=A, source=source, facts=Facts("kineto"), notes=())
    found = archive.find(source)
    assert found is not None
    assert found.id == A
    for other in ({"reader_version": 2}, {"bytes": 3}, {"modified_ns": 1}, {"path": "/elsewhere"}):
        assert archive.find(replace(source, **other)) is None


def test_fsck_names_every_altered_and_missing_file(tmp_path: Path) -> None:
    archive = Archive(tmp_path)
    trace = add(archive, A, kernel("x", 0, 1))
    archive.put_derived(trace, "patterns", 1, {"pattern": rows("pattern")})
    assert list(archive.fsck()) == []
    path = tmp_path / "traces" / A / "kernel.parquet"
    content = path.read_bytes()
    for position in (0, len(content) // 2, len(content) - 1):
        path.write_bytes(content[:position] + bytes([content[position] ^ 1]) + content[position + 1 :])
        assert [(d.file, d.fault) for d in archive.fsck()] == [
            (f"traces/{A}/kernel.parquet", "does not have the sha256 of its manifest")
        ]
    path.write_bytes(content)
    (tmp_path / "derived" / "patterns@1" / A / "pattern.parquet").unlink()
    assert [(d.file, d.fault) for d in archive.fsck()] == [(f"derived/patterns@1/{A}/pattern.parquet", "is missing")]


def test_what_another_process_has_put_there_meanwhile_stays_where_it_is(tmp_path: Path) -> None:
    archive = Archive(tmp_path)
    trace = add(archive, A, kernel("x", 0, 1))
    pattern = {
        "pattern": 0,
        "sequence": 0,
        "process": 1,
        "length": 2,
        "time_ns": 4,
        "idle_ns": 0,
        "symbols": ["a", "b"],
    }
    for count, over in ((3, False), (5, False), (7, True)):
        trace = archive.put_derived(
            trace, "patterns", 1, {"pattern": rows("pattern", {**pattern, "count": count})}, over=over
        )
        place = (tmp_path / "derived" / "patterns@1" / A).stat().st_ino
        if count == 3:
            first = place
        assert (place == first) == (count < 7)
    assert trace.sql("select count from pattern").rows() == [(7,)]
    events = (tmp_path / "traces" / A).stat().st_ino
    add(archive, A, kernel("x", 0, 1))
    assert (tmp_path / "traces" / A).stat().st_ino == events
    assert list(tmp_path.glob(".staging/*")) == []


def test_mined_tables_stand_beside_events_and_a_newer_version_decides(tmp_path: Path) -> None:
    archive = Archive(tmp_path)
    trace = add(archive, A, kernel("x", 0, 1))
    pattern = {"pattern": 0, "sequence": 0, "process": 1, "length": 2, "count": 3, "time_ns": 4, "idle_ns": 0}
    for version, count in ((9, 3), (10, 5)):
        mined = rows("pattern", {**pattern, "count": count, "symbols": ["a", "b"]})
        trace = archive.put_derived(trace, "patterns", version, {"pattern": mined})
    assert trace.has("pattern")
    assert archive.has_derived(trace, "patterns", 10)
    assert not archive.has_derived(trace, "patterns", 11)
    assert trace.sql("select count, symbols from pattern").rows() == [(5, ["a", "b"])]


def test_an_archive_of_a_newer_format_is_refused(tmp_path: Path) -> None:
    (tmp_path / "archive.toml").write_text("format = 99\n")
    with pytest.raises(ArchiveError, match="format 99"):
        Archive(tmp_path)


def test_a_file_in_place_of_the_archive_is_refused(tmp_path: Path) -> None:
    (tmp_path / "x").write_text("")
    with pytest.raises(ArchiveError, match="not a folder"):
        Archive(tmp_path / "x")


def test_a_table_whose_file_is_gone_is_told_with_the_archive_to_check(tmp_path: Path) -> None:
    trace = add(Archive(tmp_path), A, kernel("x", 0, 1))
    (tmp_path / "traces" / A / "kernel.parquet").unlink()
    with pytest.raises(ArchiveError, match="file is missing") as told:
        trace.arrow("kernel")
    assert told.value.hint == f"check the archive: tracelode fsck --archive {tmp_path}"


def test_a_damaged_manifest_is_an_archive_problem(tmp_path: Path) -> None:
    archive = Archive(tmp_path)
    add(archive, A, kernel("x", 0, 1))
    (tmp_path / "traces" / A / "manifest.json").write_text("{")
    with pytest.raises(ArchiveError, match="unreadable manifest") as told:
        archive.manifests()
    assert told.value.hint == f"check the archive: tracelode fsck --archive {tmp_path}"
    assert [d.file for d in archive.fsck()] == [f"traces/{A}/manifest.json"]


def test_a_disk_that_cannot_be_written_is_an_archive_problem(tmp_path: Path) -> None:
    (tmp_path / "t").mkdir()
    (tmp_path / "t" / "traces").write_text("in the way")
    with pytest.raises(ArchiveError, match="traces"):
        add(Archive(tmp_path / "t"), A, kernel("x", 0, 1))


def test_the_catalogue_answers_like_the_archive_and_says_what_columns_mean(tmp_path: Path) -> None:
    archive = Archive(tmp_path)
    add(archive, A, kernel("ncclDevKernel_AllReduce", 5, 9))
    add(archive, B, kernel("gemm", 0, 1))
    with duckdb.connect(str(archive.catalogue()), read_only=True) as catalogue:
        query = "select trace_id, name, duration_ns, category from kernel order by trace_id"
        assert catalogue.execute(query).fetchall() == [
            (A, "ncclDevKernel_AllReduce", 4, "communication"),
            (B, "gemm", 1, "gemm"),
        ]
        uncommented = "select count(*) from duckdb_columns() where not internal and comment is null"
        assert catalogue.execute(uncommented).fetchone() == (0,)


def test_writers_at_once_give_one_whole_copy_and_readers_see_no_half(tmp_path: Path) -> None:
    done = threading.Event()
    polls, halves = [0], list[str]()

    def poll() -> None:
        while not done.is_set():
            archive = Archive(tmp_path)
            halves.extend(f"{damage.file} {damage.fault}" for damage in archive.fsck())
            halves.extend(m.id for m in archive.manifests() if archive.open(m.id).kernel.collect().height != 1)
            polls[0] += 1

    reader = threading.Thread(target=poll)
    reader.start()
    context = multiprocessing.get_context("spawn")
    writers = [context.Process(target=_write_often, args=(str(tmp_path), n)) for n in range(4)]
    for writer in writers:
        writer.start()
    for writer in writers:
        writer.join()
    done.set()
    reader.join()
    assert [writer.exitcode for writer in writers] == [0, 0, 0, 0]
    assert len(Archive(tmp_path).manifests()) == 5  # four traces of their own and one they all wrote
    assert list(Archive(tmp_path).fsck()) == []
    assert list((tmp_path / ".staging").iterdir()) == []
    assert halves == []
    assert polls[0] >= 10


def _write_often(path: str, number: int) -> None:
    for _ in range(20):
        add(Archive(path), A, kernel("shared", 0, 1))
        add(Archive(path), f"{number}" * 64, kernel("own", 0, 1))


def _commit(archive: Archive, source: Source, id: str = A, run: str | None = None) -> None:
    with archive.stage() as staging:
        staging.write("kernel", rows("kernel", kernel("x", 0, 1)))
        archive.commit(staging, id=id, source=source, facts=Facts("kineto"), notes=(), run=run)


def test_another_file_with_the_same_content_is_known_the_next_time_too(tmp_path: Path) -> None:
    archive = Archive(tmp_path)
    sources = [replace(SOURCE, path=path) for path in ("/data/one", "/data/two")]
    for source in sources:
        _commit(archive, source)
    for source in sources:
        found = archive.find(source)
        assert found is not None
        assert found.id == A
    assert archive.holds(A)
    assert not archive.holds(B)
    assert [one.source.path for one in archive.memberships()] == ["/data/one", "/data/two"]


def test_a_source_whose_trace_is_gone_is_not_known(tmp_path: Path) -> None:
    archive = Archive(tmp_path)
    _commit(archive, SOURCE)
    shutil.rmtree(tmp_path / "traces" / A)
    assert archive.find(SOURCE) is None
    assert archive.memberships() == []


def test_the_rank_in_a_run_is_remembered_apart_from_the_trace(tmp_path: Path) -> None:
    archive = Archive(tmp_path)
    _commit(archive, SOURCE, run="run7")
    before = (tmp_path / "traces" / A / "manifest.json").read_bytes()
    archive.remember(Membership(A, SOURCE, None, 3, "name"))
    assert archive.memberships() == [Membership(A, SOURCE, "run7", 3, "name")]
    archive.remember(Membership(A, SOURCE, "run8", 4, "file"))
    assert archive.memberships() == [Membership(A, SOURCE, "run8", 4, "file")]
    assert (tmp_path / "traces" / A / "manifest.json").read_bytes() == before
    assert list(archive.fsck()) == []


def test_ranks_and_runs_are_joined_to_events_in_sql_and_in_the_catalogue(tmp_path: Path) -> None:
    archive = Archive(tmp_path)
    for id, rank, lasts in ((A, 0, 4), (B, 1, 6)):
        trace = add(archive, id, kernel("x", 5, 5 + lasts))
        source = Source(f"/run/rank{rank}.json", 10, 20, "kineto", 1)
        archive.remember(Membership(trace.id, source, "/run", rank, "name"))
    query = """select path, run, rank, rank_from, format, duration_ns
        from kernel join source using (trace_id) where run is not null order by path"""
    rows = [("/run/rank0.json", "/run", 0, "name", "kineto", 4), ("/run/rank1.json", "/run", 1, "name", "kineto", 6)]
    assert archive.sql(query).rows() == rows
    with duckdb.connect(str(archive.catalogue()), read_only=True) as connection:
        assert connection.sql(query).fetchall() == rows
    page = Path(__file__).parents[2] / "docs" / "sql.md"
    by_rank = next(query for query in re.findall(r"```sql\n(.*?)```", page.read_text(), re.DOTALL) if "source" in query)
    assert archive.sql(by_rank).rows() == [("/run", 0, 4), ("/run", 1, 6)]
    with pytest.raises(Error, match="source"):
        archive.open(A).sql("select * from source")  # a trace knows nothing of the archive's files


def test_of_a_file_read_in_two_states_the_later_one_counts(tmp_path: Path) -> None:
    archive = Archive(tmp_path)
    _commit(archive, SOURCE, B, run="run")
    later = replace(SOURCE, modified_ns=SOURCE.modified_ns + 1)
    _commit(archive, later, A, run="run")
    assert archive.memberships() == [Membership(A, later, "run")]


def test_what_is_no_record_of_a_source_is_passed_over(tmp_path: Path) -> None:
    archive = Archive(tmp_path)
    _commit(archive, SOURCE)
    (record,) = (tmp_path / "sources").iterdir()
    for text in (A, "", "[]", "{}", '{"source": {}}'):
        record.write_text(text)
        assert archive.find(SOURCE) is None
        assert archive.memberships() == []


def test_texts_are_kept_under_their_version_and_replace_those_of_others(tmp_path: Path) -> None:
    archive, id = Archive(tmp_path / "archive"), "a" * 64
    assert archive.kept(id, "report", "1") is None
    archive.keep(id, "report", "1", {"page": "größer\r\n<\udc80>", "numbers": "{}\n"})
    assert archive.kept(id, "report", "1") == {"page": "größer\r\n<?>", "numbers": "{}\n"}
    assert archive.kept(id, "other", "1") is archive.kept("b" * 64, "report", "1") is None
    archive.keep(id, "report", "2", {"page": "new"})
    assert archive.kept(id, "report", "1") is None
    assert archive.kept(id, "report", "2") == {"page": "new"}
    assert list(archive.fsck()) == []


def test_a_kept_text_that_was_altered_is_not_given_out(tmp_path: Path) -> None:
    archive, id = Archive(tmp_path / "archive"), "a" * 64
    archive.keep(id, "report", "1", {"page": "true"})
    (path,) = (tmp_path / "archive" / "derived").glob("*/*/page")
    path.write_text("not so")
    assert archive.kept(id, "report", "1") is None
    assert [(damage.file, damage.fault) for damage in archive.fsck()] == [
        (f"derived/report@1/{id}/page", "does not have the sha256 of its manifest")
    ]
