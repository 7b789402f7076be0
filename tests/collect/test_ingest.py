import gzip
import hashlib
import multiprocessing
import os
import random
import shutil
import time
import zipfile
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from tests.collect.small_traces import trace
from tracelode.collect.ingest import read, read_all
from tracelode.collect.inputs import Input, inputs
from tracelode.store import Archive, UnreadableFile
from tracelode.store.errors import OpaqueFile

SAMPLES = Path(__file__).parents[2] / "data" / "samples"
KILLS = 60


def test_reading_a_file_again_changes_nothing(tmp_path: Path) -> None:
    archive = Archive(tmp_path)
    first, new = read(SAMPLES / "train.json.gz", archive)
    again, newer = read(SAMPLES / "train.json.gz", archive)
    assert (new, newer) == (True, False)
    assert first == again


def test_the_same_content_under_other_names_and_unpacked_is_one_trace(tmp_path: Path) -> None:
    archive = Archive(tmp_path / "t")
    (tmp_path / "copy.bin").write_bytes(gzip.decompress((SAMPLES / "train.json.gz").read_bytes()))
    first, _ = read(SAMPLES / "train.json.gz", archive)
    second, new = read(tmp_path / "copy.bin", archive)
    assert second.id == first.id
    assert not new
    assert len(archive.manifests()) == 1


def test_a_file_that_is_damaged_in_the_middle_is_known_by_the_hash_of_all_of_it(tmp_path: Path) -> None:
    graph = (SAMPLES / "chakra.et").read_bytes()
    content = graph + b"\xff" * 12 + graph * 4000  # more than is read ahead of the damage
    (tmp_path / "graph.et").write_bytes(content)
    found, _ = read(tmp_path / "graph.et", Archive(tmp_path / "t"))
    assert found.id == hashlib.sha256(content).hexdigest()
    assert [note.kind for note in found.notes if note.kind == "truncated"] == ["truncated"]


def test_a_refused_file_leaves_nothing_in_the_archive(tmp_path: Path) -> None:
    (tmp_path / "bad.json").write_text('{"traceEvents": "none"}')
    archive = Archive(tmp_path / "t")
    with pytest.raises(UnreadableFile):
        read(tmp_path / "bad.json", archive)
    assert archive.manifests() == []
    assert list((tmp_path / "t").glob(".staging/*")) == []


def test_reading_twice_gives_the_same_bytes(tmp_path: Path) -> None:
    digests = []
    for name in ("one", "two"):
        archive = Archive(tmp_path / name)
        read(SAMPLES / "train.json.gz", archive)
        (manifest,) = archive.manifests()
        digests.append({table: file["sha256"] for table, file in manifest.files.items()})
    assert digests[0] == digests[1]


@pytest.mark.exhaustive
def test_killed_at_any_moment_the_trace_is_whole_or_absent(tmp_path: Path) -> None:
    """`kill -9` at 60 random moments of an ingest, spread over its whole duration, which begins with imports made."""
    folder = tmp_path / "archive"
    context = multiprocessing.get_context("forkserver")
    context.set_forkserver_preload(["tracelode.collect.ingest", "tracelode.collect.readers.kineto"])

    def begun() -> multiprocessing.process.BaseProcess:
        process = context.Process(target=read, args=(SAMPLES / "train.json.gz", Archive(folder)))
        process.start()
        return process

    for _ in range(2):  # the first compiles
        shutil.rmtree(folder, ignore_errors=True)
        begin = time.perf_counter()
        process = begun()
        process.join()
        duration = time.perf_counter() - begin
        assert process.exitcode == 0
    whole = len(list(folder.glob("traces/*/*.parquet")))
    assert whole
    shutil.rmtree(folder)
    dice = random.Random(20261129)
    outcomes = []
    for _ in range(KILLS):
        process = begun()
        time.sleep(dice.uniform(0, duration))
        process.kill()
        process.join()
        archive = Archive(folder)
        there = archive.manifests()
        assert list(archive.fsck()) == []
        assert [len(list(folder.glob(f"traces/{m.id}/*.parquet"))) for m in there] in ([], [whole])
        outcomes.append(len(there))
        shutil.rmtree(folder, ignore_errors=True)
    assert 0 in outcomes  # the kills did land within the work


def test_several_processes_read_what_one_does_and_one_bad_file_stops_none(tmp_path: Path) -> None:
    (tmp_path / "bad.json").write_text("{}")
    paths = [SAMPLES / name for name in ("train.json.gz", "train.sqlite", "two-ranks/rank0.json.gz")]
    paths.insert(1, tmp_path / "bad.json")
    heard: list[int] = []
    inputs = [Input(path, path, "a run") for path in paths]
    outcomes = list(read_all(inputs, tmp_path / "archive", jobs=3, heard=heard.append))
    assert [outcome.input.place for outcome in outcomes] == paths
    assert [outcome.new for outcome in outcomes] == [True, False, True, True]
    assert sum(heard) == sum(path.stat().st_size for path in paths)
    error = outcomes[1].error
    assert isinstance(error, UnreadableFile)
    assert "bad.json" in error.message
    assert error.hint
    assert not outcomes[1].left_out  # named by the user: it must be a trace
    alone = [read(path, Archive(tmp_path / "alone"))[0] for path in paths if path.name != "bad.json"]
    assert [o.trace.rows for o in outcomes if o.trace] == [trace.rows for trace in alone]
    assert {m.run for m in Archive(tmp_path / "archive").manifests()} == {"a run"}


class Killer(str):
    """Ends the process that takes it from its queue."""

    def __reduce__(self) -> tuple[object, tuple[int]]:
        return os._exit, (1,)


def test_an_input_whose_processes_are_killed_is_told_in_words_and_stops_no_other(tmp_path: Path) -> None:
    path = SAMPLES / "train.sqlite"
    inputs = [Input(path, path, Killer()), Input(path, path)]
    killed, other = read_all(inputs, tmp_path / "archive", jobs=2)
    assert killed.error is not None
    assert killed.error.message.startswith(f"{path}: the process that worked on it was killed")
    assert killed.error.hint == "try fewer --jobs"
    assert other.new


def test_of_each_input_all_bytes_are_heard_once_known_or_not(tmp_path: Path) -> None:
    for _ in range(2):
        heard: list[int] = []
        path = SAMPLES / "train.sqlite"
        list(read_all([Input(path, path)], tmp_path / "archive", heard=heard.append))
        assert sum(heard) == path.stat().st_size


def test_what_was_found_and_is_no_trace_is_left_out(tmp_path: Path) -> None:
    (tmp_path / "notes.txt").write_text("some notes")
    (outcome,) = read_all([Input(tmp_path / "notes.txt", tmp_path)], tmp_path / "archive")
    assert outcome.left_out
    assert isinstance(outcome.error, UnreadableFile)


def test_what_was_found_and_is_too_damaged_to_tell_is_an_error(tmp_path: Path) -> None:
    packed, database = (SAMPLES / "train.json.gz").read_bytes(), (SAMPLES / "train.sqlite").read_bytes()
    (tmp_path / "cut-in-its-header.json.gz").write_bytes(packed[:8])
    (tmp_path / "cut-early.json.gz").write_bytes(gzip.compress(packed, 0)[:20])
    (tmp_path / "no-deflate.json.gz").write_bytes(packed[:12] + b"\xff" * 400)
    (tmp_path / "cut.sqlite").write_bytes(database[: len(database) // 2])
    zipped = tmp_path / "members.zip"
    with zipfile.ZipFile(zipped, "w", zipfile.ZIP_DEFLATED) as file:
        file.write(SAMPLES / "train.sqlite", "good.sqlite")
        file.writestr("bad.json", b"{" * 5000)
    content = zipped.read_bytes()
    at = content.index(b"bad.json") + len(b"bad.json")
    zipped.write_bytes(content[:at] + b"\xff" * 8 + content[at + 8 :])
    (tmp_path / "directory.zip").write_bytes(content[:-30])
    pq.write_table(pa.table({"a": [1]}), tmp_path / "other.parquet")
    (tmp_path / "cut.parquet").write_bytes((tmp_path / "other.parquet").read_bytes()[:-20])

    found = list(inputs(tmp_path, None, pytest.fail))
    outcomes = {outcome.input.place.name: outcome for outcome in read_all(found, tmp_path / "archive")}
    assert outcomes.pop("good.sqlite").new
    assert outcomes.pop("other.parquet").left_out
    assert not any(outcome.left_out for outcome in outcomes.values())
    for name, said in {
        "cut-in-its-header.json.gz": "does not decompress: gzip: ends in the middle",
        "cut-early.json.gz": "gzip: ends in the middle; what comes before is not a trace",
        "no-deflate.json.gz": "does not decompress: gzip: Error",
        "cut.sqlite": "cut short: ",
        "bad.json": "Error -3 while decompressing data: invalid block type",
        "directory.zip": "damaged zip archive",
        "cut.parquet": "Parquet without its end",
    }.items():
        error = outcomes.pop(name).error
        assert isinstance(error, OpaqueFile), error
        assert f"{name}: {said}" in error.message
    assert not outcomes


def test_what_is_listed_in_a_folder_and_is_not_there_is_an_error(tmp_path: Path) -> None:
    (tmp_path / "run").mkdir()
    (tmp_path / "run" / "rank0.json").write_bytes(trace())
    (tmp_path / "run" / "rank1.json").symlink_to(tmp_path / "gone")
    found = list(inputs(tmp_path / "run", None, pytest.fail))
    first, second = read_all(found, tmp_path / "archive")
    assert first.new
    assert second.error
    assert (second.left_out, second.error.exit_code) == (False, 2)
    assert second.error.message == f"{tmp_path}/run/rank1.json: no such file"


def test_the_rank_is_the_files_own_before_that_of_its_name(tmp_path: Path) -> None:
    (tmp_path / "rank5.json").write_bytes(trace(rank=3))
    (tmp_path / "rank6.json").write_bytes(trace("other"))
    (tmp_path / "host.json").write_bytes(trace("third"))
    archive = Archive(tmp_path / "t")
    for name in ("rank5.json", "rank6.json", "host.json"):
        read(tmp_path / name, archive, run="r")
    ranks = {Path(one.source.path).name: (one.rank, one.rank_from) for one in archive.memberships()}
    assert ranks == {"rank5.json": (3, "file"), "rank6.json": (6, "name"), "host.json": (None, None)}


def test_a_known_file_named_with_another_run_moves_there(tmp_path: Path) -> None:
    (tmp_path / "rank1.json").write_bytes(trace())
    archive = Archive(tmp_path / "t")
    for run in ("one", None, "two", None):
        read(tmp_path / "rank1.json", archive, run=run)
    assert [(one.run, one.rank) for one in archive.memberships()] == [("two", 1)]
