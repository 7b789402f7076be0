import random
import shutil
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from tracelode.collect.ingest import read, read_all
from tracelode.store import Archive, UnreadableFile

SAMPLES = Path(__file__).parents[2] / "data" / "samples"
KILLS = 60


def test_reading_a_file_again_changes_nothing(tmp_path: Path) -> None:
    archive = Archive(tmp_path)
    first, new = read(SAMPLES / "train.json.gz", archive)
    again, newer = read(SAMPLES / "train.json.gz", archive)
    assert (new, newer) == (True, False)
    assert first == again


def test_the_same_content_under_other_names_and_unpacked_is_one_trace(tmp_path: Path) -> None:
    import gzip

    archive = Archive(tmp_path / "t")
    (tmp_path / "copy.bin").write_bytes(gzip.decompress((SAMPLES / "train.json.gz").read_bytes()))
    first, _ = read(SAMPLES / "train.json.gz", archive)
    second, new = read(tmp_path / "copy.bin", archive)
    assert second.id == first.id
    assert not new
    assert len(archive.manifests()) == 1


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


def test_killed_at_any_moment_the_trace_is_whole_or_absent(tmp_path: Path) -> None:
    """`kill -9` at 60 random moments of an ingest, spread over its whole duration."""
    program = "import sys; from tracelode.collect.ingest import read; from tracelode.store import Archive\n"
    program += "read(sys.argv[1], Archive(sys.argv[2]))"
    folder = tmp_path / "archive"
    command = [sys.executable, "-c", program, str(SAMPLES / "train.json.gz"), str(folder)]
    subprocess.run(command, check=True)
    begin = time.perf_counter()
    shutil.rmtree(folder)
    subprocess.run(command, check=True)
    duration = time.perf_counter() - begin
    whole = len(list(folder.glob("traces/*/*.parquet")))
    shutil.rmtree(folder)
    dice = random.Random(20261129)
    outcomes = []
    for _ in range(KILLS):
        process = subprocess.Popen(command)
        time.sleep(dice.uniform(0.3 * duration, duration))
        process.send_signal(signal.SIGKILL)
        process.wait()
        archive = Archive(folder)
        there = archive.manifests()
        assert list(archive.fsck()) == []
        assert [len(list(folder.glob(f"traces/{m.id}/*.parquet"))) for m in there] in ([], [whole])
        outcomes.append(len(there))
        shutil.rmtree(folder, ignore_errors=True)
    assert 0 in outcomes  # the kills did land within the work


def test_several_processes_read_what_one_does_and_one_bad_file_stops_none(tmp_path: Path) -> None:
    (tmp_path / "bad.json").write_text("{}")
    names = ("train.json.gz", "train.sqlite", "two-ranks/rank0.json.gz")
    files: list[tuple[Path, str | None]] = [(SAMPLES / name, "a run") for name in names]
    files.insert(1, (tmp_path / "bad.json", None))
    outcomes = list(read_all(files, tmp_path / "archive", jobs=3))
    assert [outcome.path for outcome in outcomes] == [path for path, _ in files]
    assert [outcome.new for outcome in outcomes] == [True, False, True, True]
    error = outcomes[1].error
    assert isinstance(error, UnreadableFile)
    assert "bad.json" in error.message
    assert error.hint
    alone = [read(path, Archive(tmp_path / "alone"), run=run)[0] for path, run in files if path.name != "bad.json"]
    assert [o.trace.rows for o in outcomes if o.trace] == [trace.rows for trace in alone]
    assert {m.run for m in Archive(tmp_path / "archive").manifests()} == {"a run"}
