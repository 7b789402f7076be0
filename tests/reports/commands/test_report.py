import json
import shutil
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner, Result

from tests.rank_samples import write_ranks
from tracelode.reports.cli import tracelode
from tracelode.store import Archive
from tracelode.store.errors import Error, UnreadableFile

SAMPLES = Path(__file__).parents[3] / "data" / "samples"


@pytest.fixture(autouse=True)
def _cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))


def _run(*words: object) -> Result:
    return CliRunner().invoke(tracelode, [str(word) for word in words])


def _told(*words: object, archive: Path) -> dict[str, Any]:
    result = _run("report", "perf", *words, "--archive", archive, "--format", "json")
    if result.exception and not isinstance(result.exception, SystemExit):
        raise result.exception
    return json.loads(result.stdout)


def test_a_folder_and_the_same_run_in_an_archive_give_the_same_report(tmp_path: Path) -> None:
    write_ranks(tmp_path / "training", ranks=2, straggler=1, iterations=5)
    archive = tmp_path / "archive"
    folder = _told(tmp_path / "training", archive=archive)
    assert not archive.exists()
    assert _run("ingest", tmp_path / "training", "--archive", archive).exit_code == 0
    assert _told("training", archive=archive) == folder
    assert _told("trai", archive=archive) == folder
    named = _told(*(tmp_path / "training" / f"rank{rank}.json" for rank in (1, 0)), archive=archive)
    assert named["sections"] == folder["sections"]
    assert folder["title"] == "Performance of training, 2 ranks"
    assert {"label": "ranks", "value": "0–1"} in folder["identity"]
    assert "1 straggler among 2 ranks: rank 1 takes " in folder["verdict"]


def test_every_number_of_the_report_on_ranks_equals_the_sql_beside_it(tmp_path: Path) -> None:
    write_ranks(tmp_path / "run", ranks=2, straggler=1, iterations=5)
    archive = tmp_path / "archive"
    _run("ingest", tmp_path / "run", "--archive", archive)
    told = _told("run", archive=archive)
    blocks = [block for section in told["sections"] for block in section["blocks"]]
    tables = [block for block in blocks if block["type"] == "table"]
    assert len(tables) == 5
    for table in tables:
        assert table["rows"] == json.loads(json.dumps(Archive(archive).sql(table["sql"]).to_dicts())), table["caption"]
    charts = [block for block in blocks if block["type"] == "chart"]
    assert [chart["title"] for chart in charts] == [
        "Iteration times of each rank",
        "Lateness of each rank in each step",
    ]
    assert all(len(Archive(archive).sql(chart["sql"])) for chart in charts)


def test_a_rank_that_cannot_be_read_is_told_of_and_does_not_stop_the_others(tmp_path: Path) -> None:
    (*_, last) = write_ranks(tmp_path / "run", ranks=3, iterations=5)
    whole = last.read_bytes()
    last.write_bytes(whole[: whole.index(b'"traceEvents"') + 20])
    result = _run("report", "perf", tmp_path / "run", "--format", "json")
    assert isinstance(result.exception, UnreadableFile)
    assert result.exception.message == "1 of 3 not read"
    assert f"error: {last}: " in result.stderr
    told = json.loads(result.stdout)
    assert told["health"][0].startswith("not read: rank2.json: ")
    assert told["health"][1] == "missing: Of 3 ranks 2 are there (66.7 %), 1 missing: 2."
    assert told["verdict"].startswith("Of 3 ranks 2 are there")


def test_one_rank_alone_gives_the_usual_report(tmp_path: Path) -> None:
    (tmp_path / "run").mkdir()
    shutil.copy(SAMPLES / "two-ranks" / "rank1.json.gz", tmp_path / "run")
    archive = tmp_path / "none"
    told = _told(tmp_path / "run", archive=archive)
    assert told == _told(tmp_path / "run" / "rank1.json.gz", archive=archive)
    assert "timeline" in [section["key"] for section in told["sections"]]
    assert told["title"] == "Performance of rank1.json.gz"


def test_files_of_the_same_content_are_one_rank(tmp_path: Path) -> None:
    first, _ = write_ranks(tmp_path / "run", ranks=2, iterations=5)
    shutil.copy(first, tmp_path / "run" / "again.json")
    told = _told(tmp_path / "run", archive=tmp_path / "none")
    assert told["health"][0] == (
        "same content: 2 files have the same content and are one trace: again.json, rank0.json"
    )
    assert told["title"].endswith(", 2 ranks")


def test_ranks_that_nothing_tells_are_those_of_the_order_and_said_to_be(tmp_path: Path) -> None:
    paths = write_ranks(tmp_path / "run", ranks=2, iterations=5)
    for path, name in zip(paths, ("b", "a"), strict=True):
        text = path.read_text().replace('"distributedInfo"', '"otherInfo"')
        path.unlink()
        (path.parent / f"{name}.json").write_text(text)
    told = _told(tmp_path / "run", archive=tmp_path / "none")
    assert "rank by the order of the files' names, told by nothing else: 0–1" in told["health"]
    assert {"label": "world size", "value": "not recorded"} in told["identity"]


def test_a_name_that_means_several_runs_or_nothing_is_refused(tmp_path: Path) -> None:
    archive = tmp_path / "archive"
    for run in ("train-1", "train-2"):
        write_ranks(tmp_path / run, ranks=1, iterations=3 + int(run[-1]))
        _run("ingest", tmp_path / run, "--archive", archive, "--run", run)
    several = _run("report", "perf", "train", "--archive", archive).exception
    assert isinstance(several, Error)
    assert several.message == f"{archive}: 2 runs begin with train"
    assert several.hint == "there are: train-1, train-2"
    for name in ("zzz", "no/such.json"):
        assert isinstance(_run("report", "perf", name, "--archive", archive).exception, Error)
    nowhere = _run("report", "perf", "train", "--archive", tmp_path / "none").exception
    assert isinstance(nowhere, Error)
    assert nowhere.message == f"train: no such file, and no archive at {tmp_path / 'none'}"


def test_the_report_on_ranks_is_a_page_too_and_reads_in_a_terminal(tmp_path: Path) -> None:
    write_ranks(tmp_path / "run", ranks=2, straggler=0, iterations=5)
    page = tmp_path / "report.html"
    assert _run("report", "perf", tmp_path / "run", "-o", page).exit_code == 0
    assert "Lateness of each rank in each step" in page.read_text()
    assert json.loads((tmp_path / "report.json").read_text())["topic"] == "perf"
    text = _run("report", "perf", tmp_path / "run").stdout
    assert "1 straggler among 2 ranks: rank 0 takes" in " ".join(text.split())
    assert max(map(len, text.splitlines())) <= 80


def test_a_report_kept_for_one_terminal_is_not_shown_in_a_narrower_one(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for width in (100, 60, 100):
        monkeypatch.setenv("COLUMNS", str(width))
        lines = _run("report", "perf", SAMPLES / "two-ranks" / "rank1.json.gz").stdout.splitlines()
        assert width - 25 < max(map(len, lines)) <= width


def test_a_report_without_charts_says_so_and_writes_none(tmp_path: Path) -> None:
    folder = tmp_path / "figures"
    result = _run("report", "perf", SAMPLES / "execution-trace.json", "--figures", folder, "-o", tmp_path / "a.md")
    assert result.stderr.startswith(
        f"no charts: there is nothing to draw in this report, and nothing was written to {folder}\n"
    )
    assert not folder.exists()


def test_a_format_of_checks_of_a_report_without_them_says_what_to_take(tmp_path: Path) -> None:
    written = tmp_path / "out.xml"
    result = _run("report", "perf", SAMPLES / "train.json.gz", "--archive", tmp_path / "archive", "-o", written)
    assert isinstance(result.exception, Error)
    assert result.exception.exit_code == 2
    assert result.exception.message == "the format junit holds checks, and the report perf has none"
    assert "take html, md, json, csv or terminal" in result.exception.hint
    assert not written.exists()


def test_a_report_names_the_file_that_was_asked_for_also_where_the_archive_knows_its_content(tmp_path: Path) -> None:
    sample = SAMPLES / "train.json.gz"
    for name in ("before.json.gz", "after.json.gz", "before.json.gz"):
        path = tmp_path / name
        if not path.exists():
            path.write_bytes(sample.read_bytes())
        result = _run("report", "perf", path, "--format", "md")
        assert result.exit_code == 0, result.stderr
        assert name in result.stdout.splitlines()[0]
