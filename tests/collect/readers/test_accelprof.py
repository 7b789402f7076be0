import os
import shutil
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.collect.reading import damaged, packed, read
from tracelode.collect.files import open_file, reader_of
from tracelode.collect.ingest import read as ingest
from tracelode.collect.readers import accelprof
from tracelode.store.archive import Archive
from tracelode.store.errors import UnreadableFile

SAMPLES = Path(__file__).parents[3] / "data" / "samples"
LOGS = sorted(path for path in (SAMPLES / "accelprof").rglob("*") if path.suffix in (".log", ".txt"))


@pytest.mark.parametrize("path", LOGS, ids=lambda path: path.name)
def test_every_sample_is_read_without_a_line_left_over(path: Path, tmp_path: Path) -> None:
    told = read(accelprof, path, tmp_path)
    assert told.facts.format == "accelprof"
    assert not {"unread-line", "truncated", "wrong-summary"} & told.notes.keys()
    assert set(told.tables) > {"process"}


def test_a_log_is_one_trace_plain_or_compressed(tmp_path: Path) -> None:
    log = Path(shutil.copy(SAMPLES / "accelprof" / "net_app_analysis.log", tmp_path))
    archive = Archive(tmp_path / "archive")
    trace, new = ingest(log, archive)
    assert new
    assert ingest(packed(log), archive)[0].id == trace.id
    assert trace.sql("select sum(accesses) as n from launch_memory")["n"].to_list() == [9_699_328]


def test_a_folder_of_hotness_is_one_trace(tmp_path: Path) -> None:
    (folder,) = (SAMPLES / "accelprof").glob("hotness_*")
    trace, _ = ingest(folder, Archive(tmp_path / "archive"))
    answer = trace.sql("select launch, sum(accesses) as n from access group by all order by all")
    assert answer.rows() == [(0, 1_310_720), (1, 3_932_160), (2, 524_288), (3, 3_932_160)]
    assert trace.facts.labels["launches"] == "4"


def test_a_folder_of_other_things_is_not_one(tmp_path: Path) -> None:
    (tmp_path / "kernel_0.txt").write_text("12 139775415681024 4 77 1 0\n")
    shutil.copy(SAMPLES / "accelprof" / "net_app_analysis.log", tmp_path)
    assert not accelprof.recognises(open_file(tmp_path))


@pytest.mark.parametrize("path", LOGS, ids=lambda path: path.name)
def test_a_damaged_log_is_read_with_a_note_or_refused(path: Path, tmp_path: Path) -> None:
    hurt = tmp_path / path.name
    for content in damaged(path, 12):
        hurt.write_bytes(content)
        if not accelprof.recognises(open_file(hurt)):
            with pytest.raises(UnreadableFile):
                reader_of(open_file(hurt))
            continue
        told = read(accelprof, hurt, tmp_path)
        assert content.endswith(b"\n") or "truncated" in told.notes


WORDS = [
    "Kernel 0 (refs=",
    "Kernel ID: ",
    "  Access Count: ",
    "Op - ",
    "   Kernel: ",
    ", kernel_id: ",
    "\t",
    "\n",
    "\x00",
]
WORDS += [
    "       MemAlloc (1): ",
    "1:(2, 3), ",
    "9" * 20,
    "9" * 400,
    "18446744073709551615",
    "-1",
    "\x1b[31m",
    "<script>",
]


@settings(max_examples=60, deadline=None)
@given(st.data())
def test_a_hostile_log_brings_no_other_error(tmp_path_factory: pytest.TempPathFactory, data: st.DataObject) -> None:
    folder = tmp_path_factory.mktemp("hostile")
    path = data.draw(st.sampled_from(LOGS))
    text = path.read_text()
    for _ in range(data.draw(st.integers(1, 6))):
        at = data.draw(st.integers(0, len(text)))
        cut = data.draw(st.integers(0, 20))
        text = text[:at] + data.draw(st.sampled_from(WORDS)) + text[at + cut :]
    hurt = folder / path.name
    hurt.write_text(text)
    if text and accelprof.recognises(open_file(hurt)):
        read(accelprof, hurt, folder)


def test_a_reader_asked_for_another_file_refuses_it(tmp_path: Path) -> None:
    path = tmp_path / "notes.log"
    path.write_text("Tensor Stats:\nof the whole run\n")
    file = open_file(path)
    assert not accelprof.recognises(file)
    with pytest.raises(UnreadableFile, match="not a log of AccelProf"), Archive(tmp_path / "a").stage() as staging:
        from tracelode.collect.sink import Sink

        accelprof.read(file, Sink(staging))


def test_no_other_sample_is_taken_for_a_log() -> None:
    others = [p for p in SAMPLES.rglob("*") if p.is_file() and "accelprof" not in p.parts and p.stat().st_size]
    assert others
    assert not [path for path in others if accelprof.recognises(open_file(path))]


@pytest.mark.corpus
def test_no_file_of_the_corpus_is_taken_for_a_log(corpus: Path) -> None:
    claimed: list[Path] = []
    seen = 0
    for folder, _, names in os.walk(corpus):
        for path in (Path(folder) / name for name in names):
            if path.stat().st_size:
                seen += 1
                try:
                    file = open_file(path)
                except UnreadableFile:  # an archive of several files, or data that does not decompress
                    continue
                claimed += [path] if accelprof.recognises(file) else []
    assert seen
    assert not claimed


def test_of_very_many_lines_that_are_none_of_the_tool_the_first_are_kept_and_all_counted(tmp_path: Path) -> None:
    path = tmp_path / "net_app_analysis.log"
    path.write_text((SAMPLES / "accelprof" / "net_app_analysis.log").read_text() + "\n" * 100_003)
    told = read(accelprof, path, tmp_path)
    assert len(told["other"]) == 100_000
    assert told.counts()["unread-line"] == 100_003
    assert told.counts()["unread-line-dropped"] == 3
    assert len(told["launch_memory"]) == 4
